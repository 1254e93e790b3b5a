//! Why the update graph of a file does not lead to a version.

use std::path::Path;

use fairway_api::Version;
use fairway_graph::Scope;
use fairway_insight::plan::{Chart, Gates, Goal, GraphSource, Lanes, NotOffered, Outlook, Plan};
use fairway_risk::Outcomes;

use super::Seen;
use crate::commands::graph::{input, view};
use crate::printer::Printer;

/// What the graph says; nothing where it offers the update.
pub(super) fn not_offered(
    path: &Path,
    version: &Version,
    seen: &Seen,
    printer: &Printer,
) -> anyhow::Result<Option<NotOffered>> {
    let whole = input::wire_graph(path, printer)?;
    let architecture = view::usual(&whole, None)?;
    let graph = whole.within(Scope { architecture, channel: None });
    let graph_source = GraphSource::File { file: path.display().to_string() };
    let chart = Chart { graph: &graph, graph_source: &graph_source, maintained: None };
    let outlook = Outlook {
        cluster_version: &seen.version,
        components: &seen.components,
        unlisted: None,
        gates: &Gates::default(),
        outcomes: &Outcomes::new(),
        now: seen.now,
    };
    let goal = Goal::Version(version.clone());
    let lanes = Lanes::new(outlook.channel(), &[], &goal);
    let plan = Plan::of(&outlook, chart, &lanes, &goal);
    Ok(plan.ok().and_then(|plan| plan.not_offered))
}
