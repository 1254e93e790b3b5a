//! Releases in a real registry.

use fairway_fixtures::environment::REGISTRY;
use serde_json::Value;

use super::{NETWORK, PROGRAM, ReleaseFiles, STORAGE};

#[test]
#[ignore = "needs a cluster: cargo xtask test"]
fn pushed_release_is_the_built_one() {
    let registry = std::env::var(REGISTRY).unwrap();
    let repository = format!("{registry}/releases-{}", std::process::id());
    let files = ReleaseFiles::new();
    let new = |version: &str, destination: &str| {
        let version = format!("--version={version}");
        let usual = ["new", &version, PROGRAM, NETWORK, STORAGE, destination];
        files.json(&[&usual, &["--manifests=network", "--manifests=storage"][..]].concat())
    };
    let pushed = new("5.1.0", &format!("--to-image={repository}"));
    let written = new("5.1.0", "--to=releases");
    assert_eq!(pushed["digest"], written["digest"]);
    let image = pushed["image"].as_str().unwrap();
    assert_eq!(image, format!("{repository}@{}", pushed["digest"].as_str().unwrap()));

    let by_tag = format!("{repository}:5.1.0");
    let info = files.json(&["info", &by_tag]);
    assert_eq!(info["image"], pushed["image"]);
    let same = files.run(&["diff", &by_tag, "oci:releases:5.1.0", "--exit-code"]);
    assert!(same.starts_with("exit code: 0"), "{same}");
    let extracted = files.run(&["extract", image, "--to=files"]);
    assert!(extracted.starts_with("exit code: 0"), "{extracted}");

    let from = format!("--from={by_tag}");
    let next = format!("--to-image={repository}:next");
    let built = files.json(&["new", "--version=5.1.1", &from, &next]);
    let info = files.json(&["info", &format!("{repository}:next")]);
    assert_eq!(info["image"], built["image"]);
    assert_eq!(info["release"]["version"], "5.1.1");

    let registry = format!("--registry={repository}");
    let output = crate::fairway().args(["graph", "build", &registry]).output().unwrap();
    let graph: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(graph["nodes"].as_array().unwrap().len(), 2, "both are found as releases");
}
