//! Reading releases from registries: a real one, and one that does what it should not.

mod hostile;
mod images;
mod proxy;
mod real;
mod server;
mod small;

use fairway_registry::pull::{Options, Repository};
use fairway_registry::releases::{Known, Scan, ScanError, Settings, Source, scan};

/// A repository as a scan sees it; it waits no longer than a test does.
fn source(name: &str, options: &Options) -> Source {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Source::Registry(Repository::open(name, options).unwrap())
}

async fn scan_once(source: &Source) -> Result<Scan, ScanError> {
    scan(source, &mut Known::default(), &Settings::default()).await
}

/// What stands in a report about each tag.
fn told(scan: &Scan) -> String {
    let problems = scan.report.problems.iter();
    problems.map(|problem| format!("{}: {}", problem.tag, problem.reason)).collect::<Vec<_>>().join("\n")
}

fn found(scan: &Scan) -> Vec<String> {
    let releases = scan.releases.iter();
    let mut found: Vec<String> = releases
        .map(|release| format!("{} {}", release.release_metadata.version, release.arch))
        .collect();
    found.sort();
    found
}
