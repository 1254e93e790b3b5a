//! Reading from registries: a real one, and one that does what it should not.

mod contents;
mod hostile;
mod images;
mod payload;
mod payload_hostile;
mod probe;
mod proxy;
mod real;
mod resume;
mod server;
mod signatures;
mod small;
mod tls;
mod way_out;

use fairway_registry::pull::{Options, Repository};
use fairway_registry::releases::{Known, Scan, ScanError, Settings, Source, scan};
use server::Server;

/// A repository as a scan sees it; it waits no longer than a test does.
fn source(name: &str, options: &Options) -> Source {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Source::Registry(Box::new(Repository::open(name, options).unwrap()))
}

async fn scan_once(source: &Source) -> Result<Scan, ScanError> {
    let (mut known, settings) = (Known::default(), Settings::default());
    let scanning = scan(source, &mut known, &settings);
    may_be_spawned(&scanning);
    scanning.await
}

fn may_be_spawned(_: &impl Send) {}

/// What stands in a report about each tag.
fn told(scan: &Scan) -> String {
    let problems = scan.report.problems.iter();
    let told = problems.map(|problem| format!("{}: {}", problem.tag, problem.reason));
    told.collect::<Vec<_>>().join("\n")
}

/// The same without what is different in every run or with every compressor.
fn anonymous(text: &str, server: &Server) -> String {
    let mut parts = text.split("sha256:");
    let mut anonymous = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        anonymous.push_str("DIGEST");
        anonymous.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()));
    }
    anonymous.replace(&server.address().to_string(), "HOST")
}

fn found(scan: &Scan) -> Vec<String> {
    let releases = scan.releases.iter();
    let mut found: Vec<String> = releases
        .map(|release| format!("{} {}", release.release_metadata.version, release.arch))
        .collect();
    found.sort();
    found
}
