//! Reading from a real registry and from one that misbehaves.

mod contents;
mod hostile;
mod images;
mod payload;
mod payload_hostile;
mod probe;
mod proxy;
mod real;
mod resume;
mod scan;
mod server;
mod signatures;
mod transport;

use fairway_registry::pull::{PullOptions, Repository};
use fairway_registry::releases::{ScanCache, ScanError, ScanResult, ScanSettings, Source, scan};
use server::Server;

/// A client for a repository.
fn source(name: &str, options: &PullOptions) -> Source {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Source::Registry(Box::new(Repository::open(name, options).unwrap()))
}

async fn scan_once(source: &Source) -> Result<ScanResult, ScanError> {
    let (mut cache, settings) = (ScanCache::default(), ScanSettings::default());
    let scanning = scan(source, &mut cache, &settings);
    assert_send(&scanning);
    scanning.await
}

fn assert_send(_: &impl Send) {}

/// The problems of a scan, one line per tag.
fn problems(scan: &ScanResult) -> String {
    let problems = scan.report.problems.iter();
    let lines = problems.map(|problem| format!("{}: {}", problem.tag, problem.reason));
    lines.collect::<Vec<_>>().join("\n")
}

/// Replaces addresses and digests, which differ between runs and compressors.
fn redacted(text: &str, server: &Server) -> String {
    let mut parts = text.split("sha256:");
    let mut redacted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        redacted.push_str("DIGEST");
        redacted.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()));
    }
    redacted.replace(&server.address().to_string(), "HOST")
}

fn versions(scan: &ScanResult) -> Vec<String> {
    let releases = scan.releases.iter();
    let mut versions: Vec<String> = releases
        .map(|release| format!("{} {}", release.release_metadata.version, release.arch))
        .collect();
    versions.sort();
    versions
}
