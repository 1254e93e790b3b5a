//! `fairway graph diff`: changes between two versions of graph-data or two graphs.

use std::fmt;
use std::path::Path;

use fairway_graph::analysis::{GraphChanges, GraphDataChanges};
use fairway_graph::{Graph, Scope};
use schemars::JsonSchema;
use serde::Serialize;

use super::{input, view};
use crate::args::graph::DiffArgs;
use crate::errors::{CannotTell, WithHint};
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

impl TypedReport for Difference {
    const KIND: &'static str = "GraphDifference";
}

pub(crate) fn run(args: &DiffArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let difference = match (args.old.is_dir(), args.new.is_dir()) {
        (true, true) => directories(args, printer)?,
        (false, false) => files(args, printer)?,
        _ => return Err(different_inputs(args).into()),
    };
    output::report(printer.stdout(), args.output.output, &difference)?;
    let has_changed = args.exit_code && !difference.is_empty();
    Ok(if has_changed { ExitStatus::Refused } else { ExitStatus::Success })
}

fn different_inputs(args: &DiffArgs) -> WithHint {
    let DiffArgs { old, new, .. } = args;
    WithHint::new(
        format!("cannot compare {} with {}", old.display(), new.display()),
        "specify two graph-data directories, or two files with graphs",
    )
}

fn directories(args: &DiffArgs, printer: &Printer) -> anyhow::Result<Difference> {
    let (old, new) =
        (input::graph_data(&args.old, printer)?, input::graph_data(&args.new, printer)?);
    let graph = match input::declared(&args.releases, &args.registries, printer)? {
        None => None,
        Some(declared) => {
            let before = input::finish(declared.clone(), &old, printer);
            Some(compare(args, &before, &input::finish(declared, &new, printer))?)
        }
    };
    Ok(Difference { graph_data: Some(GraphDataChanges::between(&old, &new)), graph })
}

fn files(args: &DiffArgs, printer: &Printer) -> anyhow::Result<Difference> {
    let read = |path: &Path| input::wire_graph(path, printer);
    let graph = compare(args, &read(&args.old)?, &read(&args.new)?)?;
    Ok(Difference { graph_data: None, graph: Some(graph) })
}

/// Compares the selected parts of two graphs. One of the graphs may lack that part.
fn compare(args: &DiffArgs, old: &Graph, new: &Graph) -> Result<GraphChanges, CannotTell> {
    let chosen = args.arch.as_deref();
    let architecture = view::usual(new, chosen).or_else(|_| view::usual(old, chosen))?;
    let scope = Scope { architecture, channel: args.channel.as_deref() };
    view::check_scope(new, scope).or_else(|_| view::check_scope(old, scope))?;
    Ok(GraphChanges::between(&old.within(scope), &new.within(scope)))
}

/// Changes of graph-data and of the update graph.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Difference {
    /// Changes of graph-data, if two directories with graph-data are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    graph_data: Option<GraphDataChanges>,
    /// Changes of the update graph, if releases or graphs are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<GraphChanges>,
}

impl Difference {
    fn is_empty(&self) -> bool {
        let Self { graph_data, graph } = self;
        graph_data.as_ref().is_none_or(GraphDataChanges::is_empty)
            && graph.as_ref().is_none_or(GraphChanges::is_empty)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { graph_data: Some(data), graph: Some(graph) } => {
                write!(f, "changes in graph-data:\n{data}\n\nchanges in the graph:\n{graph}")
            }
            Self { graph_data: Some(data), graph: None } => data.fmt(f),
            Self { graph_data: None, graph: Some(graph) } => graph.fmt(f),
            Self { graph_data: None, graph: None } => Ok(()),
        }
    }
}
