//! Shared helpers.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fairway_api::Version;
use fairway_fixtures::environment;
use fairway_graph::build::build;
use fairway_graph::{Edge, Files, Graph, GraphData, ReleaseImage, releases};
use fairway_release::ReleaseMetadata;

/// Directory with Cincinnati's test vectors, if available.
pub(crate) fn cincinnati_vectors() -> Option<PathBuf> {
    environment::conformance("cincinnati")
}

/// OpenShift's graph-data and its graph, if `FAIRWAY_DATA` is set. Otherwise tests return early.
pub(crate) fn openshift_graph() -> Option<&'static (GraphData, Graph)> {
    static PLATFORM: OnceLock<(GraphData, Graph)> = OnceLock::new();
    // Outside of the lock, so that every test without data is reported as skipped.
    let directory = environment::data()?;
    Some(PLATFORM.get_or_init(|| {
        let data = graph_data(&directory.join("graph-data-2026-08"));
        let (graph, problems) = build(declared(&directory.join("releases-2026-08.json")), &data);
        assert_eq!(problems, []);
        (data, graph)
    }))
}

pub(crate) fn graph_data(directory: &Path) -> GraphData {
    GraphData::read(&directory_files(directory)).unwrap()
}

/// Reads the files of a directory.
pub(crate) fn directory_files(directory: &Path) -> Files {
    let mut files = Files::default();
    for (path, bytes) in fairway_fixtures::graph_data::files(directory) {
        files.insert(path, bytes).unwrap();
    }
    files
}

pub(crate) fn declared(file: &Path) -> Graph {
    let (releases, problems) =
        releases::read("releases.json", &std::fs::read(file).unwrap()).unwrap();
    assert_eq!(problems, []);
    let (declared, problems) = releases::declare(releases);
    assert_eq!(problems, []);
    declared
}

/// Files from paths and texts.
pub(crate) fn files<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Files {
    let mut files = Files::default();
    for (path, text) in texts {
        files.insert(path, text.as_bytes().to_vec()).unwrap();
    }
    files
}

/// Graph-data with these files, a schema version and a channel.
pub(crate) fn data<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> GraphData {
    let needed = [("version", "1.1.0\n"), ("channels/c.yaml", "name: stable-4.7\nversions: []\n")];
    GraphData::read(&files(needed.into_iter().chain(texts))).unwrap()
}

/// A release of one architecture with its previous versions.
pub(crate) fn release(version: &str, architecture: &str, previous: &[&str]) -> ReleaseImage {
    let parse = |text: &&str| Version::parse(text).unwrap();
    let mut metadata = ReleaseMetadata::new(Version::parse(version).unwrap());
    metadata.previous = previous.iter().map(parse).collect();
    let image = format!("registry.example/release@sha256:{version}-{architecture}");
    ReleaseImage { image, arch: architecture.to_owned(), release_metadata: metadata }
}

/// The graph that valid releases declare.
pub(crate) fn declare(releases: Vec<ReleaseImage>) -> Graph {
    let (graph, problems) = releases::declare(releases);
    assert_eq!(problems, []);
    graph
}

/// The edges of a graph, one in each line, with the names of their risks.
pub(crate) fn edges(graph: &Graph) -> String {
    let line = |edge: &Edge| {
        let ends = format!("{} {}", graph.node(edge.from).version, graph.node(edge.to).version);
        let risks: Vec<&str> = graph.risks(*edge).map(|risk| risk.name.as_str()).collect();
        if risks.is_empty() { ends } else { format!("{ends} {}", risks.join(",")) }
    };
    graph.edges().iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Items, one in each line.
pub(crate) fn lines<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
