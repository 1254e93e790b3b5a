//! `fairway release new` compared with `oc adm release new`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use fairway_registry::Digest;
use fairway_release::payload::{DIRECTORIES, Files};
use fairway_release::{ReleaseMetadata, image_references, metadata};
use fairway_testkit::environment;
use flate2::read::GzDecoder;
use serde_json::Value;
use tar::Archive;

/// A release that `oc adm release new` made from real operators.
struct Example {
    /// Prefix of its file names.
    name: &'static str,
    kubernetes: &'static str,
    /// The number of files in `release-manifests`.
    files: usize,
    /// Images of its operators that its list of images lacks.
    unlisted: &'static [&'static str],
}

/// Prefix of the operator's optional manifests, such as its alerts.
const OWN: &str = "0000_90_cluster-version-operator_";

fn unpack(payloads: &Path, archive: &str, to: &Path) -> Result<()> {
    let archive = payloads.join(archive);
    let file = File::open(&archive).with_context(|| format!("no {}", archive.display()))?;
    Archive::new(GzDecoder::new(file)).unpack(to)?;
    Ok(())
}

/// The files of a release below a directory, without the manifests of the operator itself.
fn literal_files(directory: &Path) -> Result<Files> {
    let [_own, literal] = DIRECTORIES;
    let mut files = Files::new();
    for entry in fs::read_dir(directory.join(literal))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(OWN) {
            files.insert(format!("{literal}/{name}"), fs::read(entry.path())?);
        }
    }
    Ok(files)
}

fn fairway(arguments: &[&str], directory: &Path) -> Result<()> {
    let mut command = Command::new(environment::fairway_program()?);
    command.arg("release").args(arguments).current_dir(directory);
    let output = command.env_remove("SOURCE_DATE_EPOCH").output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "release {} failed: {stderr}", arguments[0]);
    Ok(())
}

/// Builds the release of an example. Returns its files.
fn build(example: &Example, payloads: &Path, directory: &Path) -> Result<Files> {
    let Example { name, kubernetes, unlisted, .. } = example;
    unpack(payloads, &format!("{name}-operators.tar.gz"), directory)?;
    let version = format!("--version={name}.0");
    let images = format!("--images-from={}/{name}-images.txt", payloads.display());
    let kubernetes = format!("--component-version=kubernetes={kubernetes}");
    // The digest of an example's image is that of its name.
    let unlisted: Vec<String> =
        unlisted.iter().map(|name| format!("--image={name}={}", image(name))).collect();
    let mut arguments = vec![
        "new",
        &version,
        &images,
        &kubernetes,
        "--operators=operators",
        "--created=2026-08-22T00:00:00Z",
        "--metadata=description=",
        "--metadata=url=https://example/5.0.0",
        "--program=/bin/true",
        "--to=layout",
    ];
    arguments.extend(unlisted.iter().map(String::as_str));
    fairway(&arguments, directory)?;
    fairway(&["extract", "layout", "--to=built"], directory)?;
    literal_files(&directory.join("built"))
}

fn image(name: &str) -> String {
    format!("registry.example/ocp/{name}@{}", Digest::of(name.as_bytes()))
}

/// Images and annotations of `image-references` by name.
fn tags(files: &mut Files) -> Result<BTreeMap<String, (Value, Value)>> {
    let bytes = files.remove(image_references::PATH).context("no image-references")?;
    let stream: Value = serde_json::from_slice(&bytes)?;
    let tags = stream["spec"]["tags"].as_array().context("no tags")?;
    let content = |tag: &Value| {
        let annotations =
            tag.get("annotations").filter(|it| **it != Value::Object([].into_iter().collect()));
        let annotations = annotations.cloned().unwrap_or_default();
        Some((tag["name"].as_str()?.to_owned(), (tag["from"].clone(), annotations)))
    };
    let name = ("metadata.name".to_owned(), (stream["metadata"]["name"].clone(), Value::Null));
    let created = stream["metadata"]["creationTimestamp"].clone();
    let created = ("metadata.creationTimestamp".to_owned(), (created, Value::Null));
    tags.iter()
        .map(content)
        .chain([Some(name), Some(created)])
        .collect::<Option<_>>()
        .context("no name")
}

fn release_metadata(files: &mut Files) -> Result<ReleaseMetadata> {
    let bytes = files.remove(metadata::PATH).context("no release-metadata")?;
    Ok(ReleaseMetadata::read(metadata::PATH, &bytes)?)
}

fn compare(example: &Example) -> Result<()> {
    let Some(payloads) = environment::payloads() else { return Ok(()) };
    let directory = tempfile::tempdir()?;
    let mut built = build(example, &payloads, directory.path())?;
    unpack(&payloads, &format!("{}-payload.tar.gz", example.name), directory.path())?;
    let mut expected = literal_files(&directory.path().join("payload"))?;

    assert_eq!(release_metadata(&mut built)?, release_metadata(&mut expected)?);
    let (mut tags_built, tags_expected) = (tags(&mut built)?, tags(&mut expected)?);
    for name in example.unlisted {
        assert!(tags_built.remove(*name).is_some(), "{name}");
    }
    assert_eq!(tags_built, tags_expected);

    let missing: Vec<&String> = expected.keys().filter(|it| !built.contains_key(*it)).collect();
    let surplus: Vec<&String> = built.keys().filter(|it| !expected.contains_key(*it)).collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "missing: {missing:#?}\nsurplus: {surplus:#?}"
    );
    let differing: Vec<&String> = built.keys().filter(|it| built[*it] != expected[*it]).collect();
    assert!(differing.is_empty(), "other bytes: {differing:#?}");
    assert_eq!(built.len(), example.files);
    Ok(())
}

#[test]
fn new_with_operators_of_5_0_writes_the_files_of_the_payload() -> Result<()> {
    compare(&Example { name: "5.0", kubernetes: "1.35.2", files: 913, unlisted: &[] })
}

#[test]
fn new_with_operators_of_4_20_writes_the_files_of_the_payload() -> Result<()> {
    let unlisted = &["cluster-kube-cluster-api-operator"];
    compare(&Example { name: "4.20", kubernetes: "1.30.0", files: 777, unlisted })
}

#[test]
fn new_with_operators_of_4_16_writes_the_files_of_the_payload() -> Result<()> {
    let unlisted = &[
        "alibaba-cloud-controller-manager",
        "alibaba-machine-controllers",
        "cluster-kube-cluster-api-operator",
        "csi-driver-shared-resource",
        "csi-driver-shared-resource-operator",
        "csi-driver-shared-resource-webhook",
        "csi-snapshot-validation-webhook",
        "k8s-prometheus-adapter",
        "libvirt-machine-controllers",
        "olm-rukpak",
        "sdn",
    ];
    compare(&Example { name: "4.16", kubernetes: "1.30.0", files: 687, unlisted })
}
