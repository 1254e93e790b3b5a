//! A release of the size of a platform's: `FAIRWAY_BENCH_PAYLOAD` names a directory that has some.

use std::path::{Path, PathBuf};
use std::time::Instant;

use fairway_release::inclusion::{DEFAULT_PROFILE, Filter};
use fairway_release::payload::Files;
use fairway_release::task_graph::Mode;
use fairway_release::{TaskGraph, version_hash};

use crate::support::load;

/// One of the releases in a directory, each of which has a directory of its own.
fn any(root: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.join("release-manifests").is_dir()).unwrap()
}

fn read(root: &Path) -> Files {
    let mut files = Files::new();
    for directory in ["manifests", "release-manifests"] {
        for entry in std::fs::read_dir(root.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            files.insert(format!("{directory}/{name}"), std::fs::read(&path).unwrap());
        }
    }
    files
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "it says how long it took, and decides nothing by it"
)]
fn a_release_of_a_platform_is_loaded_and_put_in_order() {
    let Some(root) = std::env::var_os("FAIRWAY_BENCH_PAYLOAD") else {
        println!("left out: FAIRWAY_BENCH_PAYLOAD is not set");
        return;
    };
    let files = read(&any(Path::new(&root)));
    let start = Instant::now();
    let release = load(&files).unwrap();
    let loaded = start.elapsed();
    let filter = Filter {
        feature_set: Some(String::new()),
        major_version: Some(release.metadata.version.major()),
        profile: Some(DEFAULT_PROFILE.to_owned()),
        ..Filter::default()
    };
    let included = filter.select(&release.manifests).included;
    let hash = version_hash(included.iter().copied());
    let start = Instant::now();
    let graph = TaskGraph::new(included.iter().copied(), Mode::Updating);
    let ordered = start.elapsed();

    assert_eq!(release.warnings, []);
    assert_eq!(included.len(), release.manifests.len());
    let tasks: usize = graph.nodes().iter().map(|node| node.tasks.len()).sum();
    assert_eq!(tasks, included.len());
    println!(
        "{tasks} manifests, version hash {hash}: loaded in {loaded:?}, in order in {ordered:?}"
    );
    println!("{graph}");
}
