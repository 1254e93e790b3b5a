//! Input of graphs: releases, graph-data and graphs.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context;
use fairway_graph::build::build;
use fairway_graph::data::Severity;
use fairway_graph::{Files, Graph, GraphData, GraphProblem, ReleaseImage, cincinnati, releases};
use fairway_update_service::Source;
use fairway_update_service::source::{Repository, SourceContent};

use crate::args::graph::InputArgs;
use crate::args::registry::{RegistryArgs, ReleasesArgs};
use crate::commands::registry;
use crate::errors::{HintExt as _, WithHint};
use crate::printer::Printer;

/// The path of standard input.
const STDIN: &str = "-";

/// Builds the graph of an update service.
pub(super) fn graph(args: &InputArgs, printer: &Printer) -> anyhow::Result<Graph> {
    // Files first: a scan of a registry takes long.
    let data = data(args, printer)?;
    let source = source(args, printer)?;
    match data {
        None if args.from_graph.is_some() => Ok(source),
        data => Ok(finish(source, &data.unwrap_or_default(), printer)),
    }
}

/// Builds the graph of releases and graph-data.
pub(in crate::commands) fn finish(declared: Graph, data: &GraphData, printer: &Printer) -> Graph {
    let (graph, problems) = build(declared, data);
    warn(&problems, printer);
    graph
}

/// The graph without graph-data.
pub(super) fn source(args: &InputArgs, printer: &Printer) -> anyhow::Result<Graph> {
    match &args.from_graph {
        Some(path) => wire_graph(path, printer),
        None => Ok(declared(&args.releases, &args.registries, printer)?.unwrap_or_default()),
    }
}

/// Reads graph-data, if the arguments specify it.
pub(super) fn data(args: &InputArgs, printer: &Printer) -> anyhow::Result<Option<GraphData>> {
    if let Some(mut image) = registry::graph_data(&args.image, &args.registries)? {
        let name = image.name();
        let SourceContent { content, .. } = read_once(&mut image).with_hint(
            format!("cannot read {name}"),
            "check the image name, the credentials in --pull-secret, and with a keyring the \
             signatures",
        )?;
        return decode(&content, &name, "DIR", printer).map(Some);
    }
    args.graph_data.as_deref().map(|dir| graph_data(dir, printer)).transpose()
}

/// Reads the graph that releases declare, if the arguments specify releases.
pub(super) fn declared(
    args: &ReleasesArgs,
    registries: &RegistryArgs,
    printer: &Printer,
) -> anyhow::Result<Option<Graph>> {
    if let Some(path) = &args.releases {
        return declared_by(path, printer).map(Some);
    }
    let (releases, unreadable) = if let Some(repository) = registry::releases(args, registries)? {
        scan_releases(repository, printer)?
    } else {
        return Ok(None);
    };
    Ok(Some(declare(releases, &unreadable, printer)))
}

/// The graph that the releases of a file declare.
pub(in crate::commands) fn declared_by(path: &Path, printer: &Printer) -> anyhow::Result<Graph> {
    let (releases, unreadable) = read_releases(path)?;
    Ok(declare(releases, &unreadable, printer))
}

fn declare(releases: Vec<ReleaseImage>, unreadable: &[GraphProblem], printer: &Printer) -> Graph {
    let (graph, problems) = releases::declare(releases);
    warn(unreadable.iter().chain(&problems), printer);
    graph
}

/// Reads a releases file.
fn read_releases(path: &Path) -> anyhow::Result<(Vec<ReleaseImage>, Vec<GraphProblem>)> {
    let hint = || {
        WithHint::new(
            "cannot read releases",
            "use a JSON list: [{\"image\": …, \"arch\": …, \"release-metadata\": {…}}, …]",
        )
    };
    let bytes = bytes(path, releases::MAX_BYTES).with_context(hint)?;
    releases::read(&name(path), &bytes).with_context(hint)
}

/// Scans images for releases.
fn scan_releases(
    repository: Repository,
    printer: &Printer,
) -> anyhow::Result<(Vec<ReleaseImage>, Vec<GraphProblem>)> {
    let mut repository = repository.with_progress(registry::scan_progress(printer.clone()));
    let name = repository.name();
    let SourceContent { content, problems } = read_once(&mut repository).with_hint(
        format!("cannot read {name}"),
        "check the image name and the credentials in --pull-secret",
    )?;
    printer.note(format_args!("{name}: {} found, {} skipped", content.len(), problems.len()));
    Ok((content, problems))
}

/// Reads a source once.
fn read_once<T>(source: &mut impl Source<T>) -> anyhow::Result<SourceContent<T>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let found = runtime.block_on(source.refresh()).map_err(anyhow::Error::from_boxed)?;
    found.context("no content")
}

/// Reads a graph in the format of an update service.
pub(in crate::commands) fn wire_graph(path: &Path, printer: &Printer) -> anyhow::Result<Graph> {
    let hint = || {
        WithHint::new(
            "cannot read graph",
            "use the JSON format of an update service: {\"nodes\": […], \"edges\": […], …}",
        )
    };
    let bytes = bytes(path, cincinnati::MAX_BYTES).with_context(hint)?;
    let (graph, problems) = cincinnati::read(&name(path), &bytes).with_context(hint)?;
    warn(&problems, printer);
    Ok(graph)
}

/// Reads a graph-data directory.
pub(in crate::commands) fn graph_data(dir: &Path, printer: &Printer) -> anyhow::Result<GraphData> {
    let place = dir.display().to_string();
    decode(&files(dir)?, &format!("graph-data in {place}"), &place, printer)
}

/// Decodes graph-data. Errors are reported by `lint`, so this only warns about them.
fn decode(
    files: &Files,
    name: &str,
    location: &str,
    printer: &Printer,
) -> anyhow::Result<GraphData> {
    let data = GraphData::read(files).with_hint(
        format!("cannot use {name}"),
        format!("run `fairway graph lint {location}` to list its errors"),
    )?;
    let grave = data.findings.iter().filter(|found| found.problem.severity() >= Severity::Error);
    printer.warnings(&grave.map(ToString::to_string).collect::<Vec<_>>());
    Ok(data)
}

/// The files of graph-data.
pub(super) fn files(dir: &Path) -> anyhow::Result<Files> {
    fairway_graph_files::read(dir).with_hint(
        format!("cannot read graph-data in {}", dir.display()),
        "specify a directory with `version`, `channels` and `blocked-edges`",
    )
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

fn warn<'a>(problems: impl IntoIterator<Item = &'a GraphProblem>, printer: &Printer) {
    printer.warnings(&problems.into_iter().map(ToString::to_string).collect::<Vec<_>>());
}
