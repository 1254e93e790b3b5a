//! Images of the releases.

use std::collections::BTreeMap;
use std::path::Path;

use fairway_example::images::{GRAPH_DATA, LAYOUT, RELEASES_FILE, SIGNATURES};
use fairway_example::{Platform, payload};
use fairway_registry::Digest;
use fairway_registry::base::LayerCompression;
use fairway_registry::layout::Layout;
use fairway_registry::signature::Keyring;

use fairway_release::inclusion::DEFAULT_PROFILE;
use fairway_release::{Release, Verification};

/// Kubernetes version of the target cluster.
const KUBERNETES: &str = "1.33.0";

/// A platform with a small binary.
pub(crate) fn platform() -> Platform {
    let (program, operator_manifests) = (Path::new("/bin/true"), BTreeMap::new());
    Platform::make(
        program,
        "registry.example/platform",
        LayerCompression::Plain,
        &operator_manifests,
        Some(KUBERNETES),
    )
    .unwrap()
}

#[test]
fn build_is_reproducible() {
    let references = |platform: Platform| {
        let releases = platform.releases.into_iter();
        releases.map(|made| made.reference).collect::<Vec<_>>()
    };
    let mut made = references(platform());
    assert_eq!(made, references(platform()));
    made.dedup();
    assert_eq!(made.len(), 6, "releases differ");
    assert!(made[0].starts_with("registry.example/platform/release@sha256:"), "{}", made[0]);
}

#[test]
fn write_creates_all_files_with_shared_binary_layer() {
    let directory = tempfile::tempdir().unwrap();
    let platform = platform();
    platform.write(directory.path()).unwrap();
    let layout = Layout::open(directory.path().join(LAYOUT)).unwrap();
    for made in &platform.releases {
        let by_digest = layout.find(&made.reference).unwrap().unwrap();
        let name = format!("registry.example/platform/release:{}", made.release.version);
        assert_eq!(layout.find(&name).unwrap().unwrap().digest, by_digest.digest);
        assert_eq!(by_digest.config.entrypoint, ["/usr/bin/fairway"]);
    }
    let blobs = directory.path().join(LAYOUT).join("blobs/sha256").read_dir().unwrap().count();
    assert_eq!(blobs, 2 + 6 * (3 + 3), "the program's two layers, and what is each release's own");
    assert!(directory.path().join(GRAPH_DATA).join("channels/stable-5.1.yaml").exists());
    assert!(directory.path().join(RELEASES_FILE).exists());
}

#[test]
fn releases_trust_signatures_of_all_releases() {
    let directory = tempfile::tempdir().unwrap();
    let platform = platform();
    platform.write(directory.path()).unwrap();
    for made in &platform.releases {
        let (_, digest) = made.reference.split_once('@').unwrap();
        let digest = Digest::parse(digest).unwrap();
        let files = payload::files(
            &made.release,
            &made.operators_reference,
            &BTreeMap::new(),
            Some(KUBERNETES),
        );
        let release = Release::load(&files.unwrap(), "release", DEFAULT_PROFILE).unwrap();
        let trusted = Verification::from_manifests(&release.manifests).unwrap().unwrap();
        let keyring = Keyring::parse(&trusted.keyrings["verifier-public-key-platform"]).unwrap();
        let signature = directory.path().join(SIGNATURES);
        let signature = signature.join(format!("sha256={}", digest.hex())).join("signature-1");
        let now = "2026-12-01T00:00:00Z".parse().unwrap();
        let claim = keyring.verify(&std::fs::read(signature).unwrap(), &digest, now).unwrap();
        let name = format!("registry.example/platform/release:{}", made.release.version);
        assert_eq!(claim.reference, name);
    }
}
