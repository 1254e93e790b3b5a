//! What several of these tests need.

use std::path::{Path, PathBuf};

use fairway_graph::build::build;
use fairway_graph::{Files, Graph, GraphData, Problem, directory, releases};
use fairway_testkit::testbed::environment;

/// A directory like the one with the releases and the graph-data of a whole platform.
pub(crate) const DATA: &str = "FAIRWAY_DATA";

/// The vectors of the existing update service, where there are any.
pub(crate) fn vectors() -> Option<PathBuf> {
    named_directory(environment::CONFORMANCE).map(|directory| directory.join("cincinnati"))
}

/// The releases and the graph-data of a whole platform, where there are any.
pub(crate) fn platform() -> Option<PathBuf> {
    named_directory(DATA)
}

fn named_directory(variable: &str) -> Option<PathBuf> {
    let directory = std::env::var_os(variable).map(PathBuf::from);
    if directory.is_none() {
        eprintln!("left out: {variable} names no directory");
    }
    directory
}

pub(crate) fn graph_data(directory: &Path) -> GraphData {
    GraphData::read(&directory::read(directory).unwrap()).unwrap()
}

pub(crate) fn declared(file: &Path) -> Graph {
    let (releases, problems) = releases::read("releases.json", &std::fs::read(file).unwrap()).unwrap();
    assert_eq!(problems, []);
    let (declared, problems) = releases::declare(releases);
    assert_eq!(problems, []);
    declared
}

/// Files from their paths and texts.
pub(crate) fn files<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Files {
    let mut files = Files::default();
    for (path, text) in texts {
        files.insert(path, text.as_bytes().to_vec()).unwrap();
    }
    files
}

pub(crate) fn built(declared: Graph, data: &GraphData) -> (Graph, Vec<Problem>) {
    build(declared, data)
}
