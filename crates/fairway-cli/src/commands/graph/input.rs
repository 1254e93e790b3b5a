//! Reading what a graph is made of.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context;
use fairway_graph::build::build;
use fairway_graph::data::Severity;
use fairway_graph::{Files, Graph, GraphData, Problem, directory, releases, wire};

use crate::args::graph::{InputArgs, SourceArgs};
use crate::errors::WithHint;
use crate::printer::Printer;

/// What stands for standard input.
const STDIN: &str = "-";

/// Builds the graph that clusters get.
pub(super) fn graph(args: &InputArgs, printer: &Printer) -> anyhow::Result<Graph> {
    let source = source(&args.source, printer)?;
    match &args.graph_data {
        None if args.source.from_graph.is_some() => Ok(source),
        None => Ok(finish(source, &GraphData::default(), printer)),
        Some(dir) => Ok(finish(source, &graph_data(dir, printer)?, printer)),
    }
}

/// Builds the graph of what releases declare and graph-data says.
pub(super) fn finish(declared: Graph, data: &GraphData, printer: &Printer) -> Graph {
    let (graph, problems) = build(declared, data);
    warn(&problems, printer);
    graph
}

/// The graph before graph-data is looked at.
pub(super) fn source(args: &SourceArgs, printer: &Printer) -> anyhow::Result<Graph> {
    match (&args.releases, &args.from_graph) {
        (_, Some(path)) => wire_graph(path, printer),
        (Some(path), None) => declared(path, printer),
        (None, None) => Ok(Graph::default()),
    }
}

/// What releases declare by themselves.
pub(super) fn declared(path: &Path, printer: &Printer) -> anyhow::Result<Graph> {
    let hint = || WithHint {
        message: "cannot read the releases".to_owned(),
        hint: "they are a JSON list: [{\"image\": …, \"arch\": …, \"release-metadata\": {…}}, …]"
            .to_owned(),
    };
    let bytes = bytes(path, releases::MAX_BYTES).with_context(hint)?;
    let (releases, unreadable) = releases::read(&name(path), &bytes).with_context(hint)?;
    let (graph, problems) = releases::declare(releases);
    warn(unreadable.iter().chain(&problems), printer);
    Ok(graph)
}

/// A graph as an update service answers it.
pub(super) fn wire_graph(path: &Path, printer: &Printer) -> anyhow::Result<Graph> {
    let hint = || WithHint {
        message: "cannot read the graph".to_owned(),
        hint: "it is JSON, as an update service answers it: {\"nodes\": […], \"edges\": […], …}"
            .to_owned(),
    };
    let bytes = bytes(path, wire::MAX_BYTES).with_context(hint)?;
    let (graph, problems) = wire::read(&name(path), &bytes).with_context(hint)?;
    warn(&problems, printer);
    Ok(graph)
}

/// What the maintainers of graph-data say. What is wrong in it is only hinted at: `lint` is the
/// command that shows it.
pub(super) fn graph_data(dir: &Path, printer: &Printer) -> anyhow::Result<GraphData> {
    let files = files(dir)?;
    let data = GraphData::read(&files).with_context(|| WithHint {
        message: format!("the graph-data in {} cannot be used", dir.display()),
        hint: format!("`fairway graph lint {}` shows what is wrong in it", dir.display()),
    })?;
    let grave = data.findings.iter().filter(|found| found.problem.severity() >= Severity::Error);
    printer.warnings(&grave.map(ToString::to_string).collect::<Vec<_>>());
    Ok(data)
}

/// The files of graph-data.
pub(super) fn files(dir: &Path) -> anyhow::Result<Files> {
    directory::read(dir).with_context(|| WithHint {
        message: format!("cannot read the graph-data in {}", dir.display()),
        hint: "name a directory that has `version`, `channels` and `blocked-edges`".to_owned(),
    })
}

/// The content of a file, or of standard input.
fn bytes(path: &Path, limit: usize) -> anyhow::Result<Vec<u8>> {
    let reader: Box<dyn Read> = if path == Path::new(STDIN) {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).with_context(|| format!("cannot open {}", path.display()))?)
    };
    let mut bytes = Vec::new();
    let read = reader.take(limit as u64 + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {}", name(path)))?;
    anyhow::ensure!(bytes.len() <= limit, "{} has more than {limit} bytes", name(path));
    Ok(bytes)
}

fn name(path: &Path) -> String {
    if path == Path::new(STDIN) { "standard input".to_owned() } else { path.display().to_string() }
}

fn warn<'a>(problems: impl IntoIterator<Item = &'a Problem>, printer: &Printer) {
    printer.warnings(&problems.into_iter().map(ToString::to_string).collect::<Vec<_>>());
}
