//! Selection of manifests for a cluster.

use std::collections::BTreeSet;

use fairway_api::cluster_version::ComponentOverride;
use fairway_release::inclusion::{Capabilities, Exclusion, ManifestFilter, implicitly_enabled};
use fairway_release::{Manifest, version_hash};
use proptest::prelude::*;

use crate::support::{INCLUDED, files, load};

fn words(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn manifest_of(api_version: &str, kind: &str, annotations: &[(&str, &str)]) -> Manifest {
    let annotations: Vec<String> =
        annotations.iter().map(|(key, value)| format!("{key:?}: {value:?}")).collect();
    let text = format!(
        "{{apiVersion: {api_version}, kind: {kind}, metadata: {{namespace: platform, name: a, annotations: {{{}}}}}}}",
        annotations.join(", ")
    );
    load(&files(&[("release-manifests/a.yaml", &text)])).unwrap().manifests.remove(0)
}

fn manifest(annotations: &[(&str, &str)]) -> Manifest {
    manifest_of("v1", "ConfigMap", annotations)
}

fn messages(filter: &ManifestFilter, manifest: &Manifest) -> String {
    match filter.check(manifest) {
        Ok(()) => "included".to_owned(),
        Err(exclusion) => exclusion.to_string(),
    }
}

/// The results for manifests with the annotation `key` and these values.
fn for_values(filter: &ManifestFilter, key: &str, values: &[&str]) -> String {
    let messages = values.iter().map(|value| {
        format!("{value}: {}", messages(filter, &manifest(&[("some", "other"), (key, value)])))
    });
    messages.collect::<Vec<_>>().join("\n")
}

#[test]
fn check_without_annotations_excludes() {
    assert_eq!(ManifestFilter::default().check(&manifest(&[])), Err(Exclusion::NoAnnotations));
    assert_eq!(ManifestFilter::default().check(&manifest(&[("some", "other")])), Ok(()));
}

#[test]
fn check_with_exclude_annotation_excludes() {
    let filter = ManifestFilter { exclude: Some("hosted".to_owned()), ..ManifestFilter::default() };
    insta::assert_snapshot!(
        for_values(&filter, "exclude.release.openshift.io/hosted", &["true", "false", "True"]), @r#"
    true: exclude.release.openshift.io/hosted is "true"
    false: included
    True: included
    "#);
    assert_eq!(filter.check(&manifest(&[("exclude.release.openshift.io/other", "true")])), Ok(()));
}

#[test]
fn check_with_feature_sets_requires_one() {
    let key = "release.openshift.io/feature-set";
    let values = [
        "Default",
        "TechPreviewNoUpgrade",
        "DevPreviewNoUpgrade,TechPreviewNoUpgrade",
        "Default,Imaginary",
        "Default, TechPreviewNoUpgrade",
        "",
    ];
    for unset in ["", "Default"] {
        let filter =
            ManifestFilter { feature_set: Some(unset.to_owned()), ..ManifestFilter::default() };
        insta::allow_duplicates! {
            insta::assert_snapshot!(for_values(&filter, key, &values), @r#"
            Default: included
            TechPreviewNoUpgrade: it is for feature set TechPreviewNoUpgrade, not Default
            DevPreviewNoUpgrade,TechPreviewNoUpgrade: it is for feature set DevPreviewNoUpgrade or TechPreviewNoUpgrade, not Default
            Default,Imaginary: "Imaginary" is not a feature set
            Default, TechPreviewNoUpgrade: " TechPreviewNoUpgrade" is not a feature set
            : "" is not a feature set
            "#);
        }
    }
    let preview = Some("TechPreviewNoUpgrade".to_owned());
    let filter = ManifestFilter { feature_set: preview, ..ManifestFilter::default() };
    insta::assert_snapshot!(for_values(&filter, key, &values), @r#"
    Default: it is for feature set Default, not TechPreviewNoUpgrade
    TechPreviewNoUpgrade: included
    DevPreviewNoUpgrade,TechPreviewNoUpgrade: included
    Default,Imaginary: "Imaginary" is not a feature set
    Default, TechPreviewNoUpgrade: " TechPreviewNoUpgrade" is not a feature set
    : "" is not a feature set
    "#);
}

#[test]
fn check_with_feature_gates_requires_all() {
    let filter =
        ManifestFilter { feature_gates: Some(words(&["A", "B"])), ..ManifestFilter::default() };
    insta::assert_snapshot!(
        for_values(&filter, "release.openshift.io/feature-gate", &["A", "A,B", " A , -C ,", "A,C", "-B", "-C,-A", ""]), @"
    A: included
    A,B: included
     A , -C ,: included
    A,C: feature gate C is not enabled
    -B: feature gate B is enabled
    -C,-A: feature gate A is enabled
    : included
    ");
    let both = [
        ("release.openshift.io/feature-set", "Default"),
        ("release.openshift.io/feature-gate", "A"),
    ];
    insta::assert_snapshot!(messages(&filter, &manifest(&both)), @"it has both release.openshift.io/feature-set and release.openshift.io/feature-gate; only one is allowed");
}

#[test]
fn check_with_major_versions_supports_crds_and_feature_gates() {
    let filter = ManifestFilter { major_version: Some(5), ..ManifestFilter::default() };
    let key = "release.openshift.io/major-version";
    let line = |api_version, kind, value| {
        let manifest = manifest_of(api_version, kind, &[(key, value)]);
        format!("{kind} {value}: {}", messages(&filter, &manifest))
    };
    let mut lines: Vec<String> =
        ["5", "4,5", "4", "-4", "-5", "-4, -6", "4,-6", "5,-5", "", "five", "--5", "5,"]
            .map(|value| line("apiextensions.k8s.io/v1", "CustomResourceDefinition", value))
            .into();
    lines.push(line("config.openshift.io/v1", "FeatureGate", "5"));
    lines.push(line("v1", "ConfigMap", "5"));
    lines.push(line("other.example/v1", "FeatureGate", "5"));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    CustomResourceDefinition 5: included
    CustomResourceDefinition 4,5: included
    CustomResourceDefinition 4: it is for major versions 4, not 5
    CustomResourceDefinition -4: included
    CustomResourceDefinition -5: it is for major versions -5, not 5
    CustomResourceDefinition -4, -6: included
    CustomResourceDefinition 4,-6: it is for major versions 4,-6, not 5
    CustomResourceDefinition 5,-5: release.openshift.io/major-version contains both 5 and -5
    CustomResourceDefinition : release.openshift.io/major-version is ""; expected a list such as 4,5 or -4
    CustomResourceDefinition five: release.openshift.io/major-version is "five"; expected a list such as 4,5 or -4
    CustomResourceDefinition --5: release.openshift.io/major-version is "--5"; expected a list such as 4,5 or -4
    CustomResourceDefinition 5,: release.openshift.io/major-version is "5,"; expected a list such as 4,5 or -4
    FeatureGate 5: included
    ConfigMap 5: release.openshift.io/major-version does not apply to kind ConfigMap
    FeatureGate 5: release.openshift.io/major-version does not apply to kind FeatureGate
    "#);
}

#[test]
fn check_with_profile_requires_true() {
    let profile = Some("self-managed-high-availability".to_owned());
    let filter = ManifestFilter { profile, ..ManifestFilter::default() };
    insta::assert_snapshot!(for_values(&filter, INCLUDED, &["true", "false", "True", ""]), @r#"
    true: included
    false: include.release.openshift.io/self-managed-high-availability is "false"; only "true" is valid
    True: include.release.openshift.io/self-managed-high-availability is "True"; only "true" is valid
    : include.release.openshift.io/self-managed-high-availability is ""; only "true" is valid
    "#);
    insta::assert_snapshot!(messages(&filter, &manifest(&[("some", "other")])), @"include.release.openshift.io/self-managed-high-availability is not set");
}

#[test]
fn check_with_capabilities_requires_all() {
    let key = "capability.openshift.io/name";
    let values = ["Console", "Console+Storage", "Storage+Other", "New", "New+Storage", ""];
    let capabilities = Capabilities {
        known: Some(words(&["Console", "Storage", "Other"])),
        enabled: words(&["Console"]),
    };
    let filter =
        ManifestFilter { capabilities: Some(capabilities.clone()), ..ManifestFilter::default() };
    insta::assert_snapshot!(for_values(&filter, key, &values), @"
    Console: included
    Console+Storage: capabilities not enabled: Storage
    Storage+Other: capabilities not enabled: Storage, Other
    New: unknown capabilities: New
    New+Storage: unknown capabilities: New
    : included
    ");
    let lenient = Capabilities { known: None, ..capabilities };
    let filter = ManifestFilter { capabilities: Some(lenient), ..ManifestFilter::default() };
    insta::assert_snapshot!(for_values(&filter, key, &values), @"
    Console: included
    Console+Storage: capabilities not enabled: Storage
    Storage+Other: capabilities not enabled: Storage, Other
    New: capabilities not enabled: New
    New+Storage: capabilities not enabled: New, Storage
    : included
    ");
}

#[test]
fn check_with_overrides_matches_one_object() {
    let entry = |group: &str, namespace: &str, unmanaged| ComponentOverride {
        kind: "ConfigMap".to_owned(),
        group: group.to_owned(),
        namespace: namespace.to_owned(),
        name: "a".to_owned(),
        unmanaged,
        ..ComponentOverride::default()
    };
    let mut manifest = manifest(&[("some", "other")]);
    for (overrides, namespaced, everywhere) in [
        (vec![entry("", "platform", true)], "unmanaged", "unmanaged"),
        (vec![entry("", "platform", false)], "included", "included"),
        (vec![entry("", "other", true)], "included", "unmanaged"),
        (vec![entry("apps", "platform", true)], "included", "included"),
        (vec![entry("", "platform", false), entry("", "platform", true)], "included", "included"),
    ] {
        let filter = ManifestFilter { overrides: overrides.clone(), ..ManifestFilter::default() };
        for (namespace, expected) in [("platform", namespaced), ("", everywhere)] {
            namespace.clone_into(&mut manifest.id.namespace);
            assert!(
                messages(&filter, &manifest).ends_with(expected),
                "{namespace:?} {overrides:?}"
            );
        }
    }
}

#[test]
fn check_returns_first_failing_rule() {
    let filter = ManifestFilter {
        exclude: Some("hosted".to_owned()),
        feature_set: Some(String::new()),
        feature_gates: Some(words(&[])),
        major_version: Some(5),
        profile: Some("small".to_owned()),
        capabilities: Some(Capabilities::default()),
        overrides: Vec::new(),
    };
    let mut annotations = vec![
        ("capability.openshift.io/name", "Console"),
        ("include.release.openshift.io/small", "no"),
        ("release.openshift.io/major-version", "5"),
        ("release.openshift.io/feature-gate", "A"),
        ("release.openshift.io/feature-set", "OKD"),
        ("exclude.release.openshift.io/hosted", "true"),
    ];
    let mut lines = Vec::new();
    while !annotations.is_empty() {
        lines.push(messages(&filter, &manifest(&annotations)));
        annotations.pop();
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    exclude.release.openshift.io/hosted is "true"
    it has both release.openshift.io/feature-set and release.openshift.io/feature-gate; only one is allowed
    feature gate A is not enabled
    release.openshift.io/major-version does not apply to kind ConfigMap
    include.release.openshift.io/small is "no"; only "true" is valid
    include.release.openshift.io/small is not set
    "#);
}

#[test]
fn select_keeps_order() {
    let document = |name: &str, annotation: &str| {
        format!(
            "{{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}, annotations: {{{annotation}}}}}}}\n"
        )
    };
    let text = [
        document("a", "some: other"),
        document("b", "openshift.io/preflight-check: 'true'"),
        document("c", ""),
        document("d", "openshift.io/preflight-check: 'false'"),
    ]
    .join("---\n");
    let release = load(&files(&[("release-manifests/a.yaml", &text)])).unwrap();
    let selection = ManifestFilter::default().select(&release.manifests);
    let names = |manifests: &[&Manifest]| -> Vec<String> {
        manifests.iter().map(|manifest| manifest.id.name.clone()).collect()
    };
    assert_eq!(names(&selection.included), ["a", "d"]);
    assert_eq!(names(&selection.preflight_checks), ["b"]);
    assert_eq!(selection.excluded, [(&release.manifests[2], Exclusion::NoAnnotations)]);
}

#[test]
fn exclusion_serializes_to_json() {
    let reason = Exclusion::DisabledCapabilities { names: vec!["Console".to_owned()] };
    insta::assert_snapshot!(serde_json::to_string(&reason).unwrap(), @r#"{"reason":"disabledCapabilities","names":["Console"]}"#);
}

#[test]
fn implicitly_enabled_keeps_existing_objects_managed() {
    let with = |capability: &str| manifest(&[("capability.openshift.io/name", capability)]);
    for (current, target, enabled, implicit) in [
        ("", "", &[][..], &[][..]),
        ("", "Console", &[], &["Console"]),
        ("", "Console+Storage", &["Storage"], &["Console"]),
        ("Storage", "Storage+Console", &["Storage"], &["Console"]),
        ("Storage", "Storage+Console", &[], &[]),
        ("Storage", "Console", &["Storage", "Console"], &[]),
    ] {
        let found = implicitly_enabled(&[with(current)], &[with(target)], &words(enabled));
        assert_eq!(found, words(implicit), "{current} {target} {enabled:?}");
    }
    let mut other = with("Console");
    other.id.name = "b".to_owned();
    assert_eq!(implicitly_enabled(&[with("")], &[other], &words(&[])), words(&[]));
}

#[test]
fn version_hash_matches_go_operator() {
    let yaml = |name: &str, annotation: &str| {
        format!(
            "kind: Test\napiVersion: v1\nmetadata:\n  name: {name}\n  annotations:\n    {annotation}: \"true\"\n"
        )
    };
    let json = format!(
        "{{\n  \"kind\": \"Test\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {{\n    \"name\": \"file-json\",\n    \"annotations\": {{\n      \"{INCLUDED}\": \"true\"\n    }}\n  }}\n}}\n"
    );
    let release = load(&files(&[
        ("release-manifests/0000_10_a_file.json", &json),
        ("release-manifests/0000_10_a_file.yaml", &yaml("file-yaml", INCLUDED)),
        ("release-manifests/0000_10_a_file.yml", &yaml("file-yml", INCLUDED)),
        (
            "release-manifests/0000_20_a_exclude.yml",
            &yaml("file-20", "exclude.release.openshift.io/exclude-test"),
        ),
    ]))
    .unwrap();
    let profile = Some("self-managed-high-availability".to_owned());
    let filter = ManifestFilter {
        exclude: Some("exclude-test".to_owned()),
        profile,
        ..ManifestFilter::default()
    };
    assert_eq!(version_hash(filter.select(&release.manifests).included), "DL-FFQ2Uem8=");
}

proptest! {
    #[test]
    fn select_with_arbitrary_annotations_covers_every_manifest(
        values in proptest::collection::vec("[-+, A5ü]*|Default|true", 6),
    ) {
        let keys = [
            "release.openshift.io/feature-set",
            "release.openshift.io/feature-gate",
            "release.openshift.io/major-version",
            "capability.openshift.io/name",
            INCLUDED,
            Manifest::PREFLIGHT_CHECK,
        ];
        let base = manifest_of("apiextensions.k8s.io/v1", "CustomResourceDefinition", &[]);
        let filter = ManifestFilter {
            feature_set: Some(String::new()),
            feature_gates: Some(words(&["A"])),
            major_version: Some(5),
            profile: Some("self-managed-high-availability".to_owned()),
            capabilities: Some(Capabilities { known: None, enabled: words(&["A"]) }),
            ..ManifestFilter::default()
        };
        let manifests: Vec<Manifest> = (0..64_usize)
            .map(|present| {
                let pairs = keys.iter().zip(&values).enumerate();
                let annotations = pairs
                    .filter(|(bit, _)| present >> bit & 1 == 1)
                    .map(|(_, (key, value))| ((*key).to_owned(), value.clone()));
                let mut manifest = base.clone();
                manifest.annotations = annotations.collect();
                manifest
            })
            .collect();
        let selection = filter.select(&manifests);
        let found = selection.included.len() + selection.preflight_checks.len() + selection.excluded.len();
        prop_assert_eq!(found, manifests.len());
    }
}
