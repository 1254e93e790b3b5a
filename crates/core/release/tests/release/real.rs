//! Payloads of real releases: `FAIRWAY_PAYLOADS` names a directory with archives.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use fairway_fixtures::environment;
use fairway_release::inclusion::{DEFAULT_PROFILE, ManifestFilter};
use fairway_release::payload::{Files, PayloadWarning};
use flate2::read::GzDecoder;

use crate::support::load;

fn files(archive: PathBuf) -> Files {
    let mut files = Files::new();
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(archive).unwrap()));
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let Some(path) = path.strip_prefix("payload/").map(str::to_owned) else { continue };
        if entry.header().entry_type().is_file() {
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            files.insert(path, content);
        }
    }
    files
}

#[test]
fn load_of_real_payloads_finds_every_manifest() {
    let Some(directory) = environment::payloads() else { return };
    for (version, all, included) in [("5.0", 1295, 1241), ("4.20", 1091, 1040), ("4.16", 992, 943)]
    {
        let files = files(directory.join(format!("{version}-payload.tar.gz")));
        let release = load(&files).unwrap_or_else(|error| panic!("{version}: {error}"));
        let filter = ManifestFilter {
            profile: Some(DEFAULT_PROFILE.to_owned()),
            ..ManifestFilter::default()
        };
        let selected = filter.select(&release.manifests).included.len();
        assert_eq!((release.manifests.len(), selected), (all, included), "{version}");
        for warning in &release.warnings {
            println!("{version}: {warning}");
        }
        assert!(release.warnings.iter().all(PayloadWarning::is_informational), "{version}");
        let duplicates =
            release.warnings.iter().filter(|warning| warning.to_string().contains("duplicate key"));
        assert!(duplicates.count() >= 2, "{version}");
    }
}
