//! `fairway graph path`: upgrade paths between two versions, with their risks.

use std::collections::BTreeMap;
use std::fmt;

use fairway_api::Version;
use fairway_api::cluster_version::MatchingRuleType;
use fairway_graph::analysis::{UpgradeHop, UpgradePathError, UpgradePaths, paths};
use fairway_graph::{Graph, Risk};
use schemars::JsonSchema;
use serde::Serialize;

use super::view::View;
use crate::args::graph::EdgeArgs;
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

impl TypedReport for GraphPaths<'_> {
    const KIND: &'static str = "GraphPaths";
}

pub(crate) fn run(args: &EdgeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let view = View::read(&args.view, printer)?;
    let (from, to) = (&args.from, &args.to);
    let paths = match paths(&view.graph, from, to) {
        Ok(paths) => Some(paths),
        Err(UpgradePathError::None { .. }) => None,
        Err(error) => return Err(view.explain(&error).into()),
    };
    let status = if paths.is_some() { ExitStatus::Success } else { ExitStatus::Refused };
    let risks = paths.as_ref().map_or_else(Vec::new, |paths| risks(&view.graph, paths));
    let ways = GraphPaths { from, to, paths, risks };
    output::report(printer.stdout(), args.output.output, &ways)?;
    Ok(status)
}

/// Upgrade paths between two versions, and their risks.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GraphPaths<'a> {
    /// First version.
    from: &'a Version,
    /// Last version.
    to: &'a Version,
    #[serde(flatten)]
    paths: Option<UpgradePaths>,
    /// Risks of the paths, by name.
    risks: Vec<&'a Risk>,
}

/// The risks of paths by name. In valid graph-data, a name has one risk.
fn risks<'a>(graph: &'a Graph, paths: &UpgradePaths) -> Vec<&'a Risk> {
    let node = |text: &str| graph.find(&Version::parse(text).ok()?).next();
    let edge = |step: &UpgradeHop| graph.edge(node(&step.from)?, node(&step.to)?);
    let steps = paths.fewest_hops.hops.iter().chain(&paths.least_risk.hops);
    let mut by_name: BTreeMap<&str, &Risk> = BTreeMap::new();
    for risk in steps.filter_map(edge).flat_map(|edge| graph.risks(edge)) {
        by_name.insert(&risk.name, risk);
    }
    by_name.into_values().collect()
}

impl fmt::Display for GraphPaths<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, paths, risks } = self;
        let Some(paths) = paths else {
            return write!(f, "no upgrade path from {from} to {to}");
        };
        write!(f, "{paths}")?;
        for risk in risks {
            write!(f, "\n\n{}, {}\n  {}", risk.name, affected_clusters(risk), risk.message.trim())?;
            write!(f, "\n  {}", risk.url)?;
        }
        Ok(())
    }
}

/// Describes the clusters to which a risk applies.
fn affected_clusters(risk: &Risk) -> &'static str {
    match risk.matching_rules.first().map(|rule| &rule.type_) {
        Some(MatchingRuleType::Always) => "applies to all clusters",
        Some(MatchingRuleType::PromQl) => "depends on its PromQL query",
        _ => "depends on its rules",
    }
}
