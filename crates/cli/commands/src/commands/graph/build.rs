//! `fairway graph build`: the graph of an update service, as JSON.

use std::io::Write;

use fairway_graph::cincinnati::GraphSerializer;
use fairway_graph::{Graph, Scope};

use super::{input, view};
use crate::args::graph::{BuildArgs, GraphFormat};
use crate::exit::ExitStatus;
use crate::printer::Printer;

pub(crate) fn run(args: &BuildArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let graph = input::graph(&args.view.input, printer)?;
    let scope = Scope {
        architecture: args.view.input.arch.as_deref(),
        channel: args.view.channel.as_deref(),
    };
    // An update service serves an empty graph in this case, so the output is the same.
    if let Err(unknown) = view::check_scope(&graph, scope) {
        printer.warnings(&[format!("{unknown}; {}", unknown.hint)]);
    }
    match args.output {
        GraphFormat::Json => json(&graph.within(scope), printer)?,
    }
    Ok(ExitStatus::Success)
}

/// Writes a graph in the format of an update service.
pub(super) fn json(graph: &Graph, printer: &Printer) -> anyhow::Result<()> {
    let mut stdout = printer.stdout();
    stdout.write_all(&GraphSerializer::whole(graph).json())?;
    writeln!(stdout)?;
    Ok(())
}
