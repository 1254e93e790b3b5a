//! Building a release.

use std::collections::BTreeMap;
use std::slice::from_ref;

use fairway_release::builder::{Operator, PLACEHOLDERS};
use fairway_release::changes::Changes;
use fairway_release::{BuiltRelease, ReleaseBuilder, ReleaseMetadata};
use jiff::Timestamp;

use crate::support::{INCLUDED, config_map};

fn digest(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

fn images(named: &[(&str, &str)]) -> BTreeMap<String, String> {
    named.iter().map(|(name, image)| ((*name).to_owned(), (*image).to_owned())).collect()
}

fn draft(more: &[(&str, &str)]) -> ReleaseBuilder {
    let mut metadata = ReleaseMetadata::new("5.1.0".parse().unwrap());
    metadata.previous = ["5.0.1", "5.0.0", "5.0.1"].map(|text| text.parse().unwrap()).into();
    let mut images = images(&[("network", &format!("r.example/network@{}", digest('1')))]);
    images.extend(more.iter().map(|(name, image)| ((*name).to_owned(), (*image).to_owned())));
    ReleaseBuilder::new(metadata, images, None)
}

fn operator(directory: &str, files: &[(&str, &str)]) -> Operator {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    Operator {
        image: directory.rsplit('/').next().unwrap_or_default().to_owned(),
        directory: directory.to_owned(),
        files: files.collect(),
    }
}

const REFERENCES: &str = "
apiVersion: image.openshift.io/v1
kind: ImageStream
spec:
  tags:
  - {name: network, from: {kind: DockerImage, name: 'quay.io/example/network:dev'}}
  - {name: tools, from: {kind: DockerImage, name: quay.io/example/network}}
";

/// A Deployment with one container, and lines for its pod.
fn deployment(image: &str, pod: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: network\n  namespace: network\n  annotations:\n    {INCLUDED}: \"true\"\nspec:\n  template:\n    spec:\n      containers:\n      - image: {image}\n{pod}"
    )
}

fn text<'a>(drafted: &'a BuiltRelease, file: &str) -> &'a str {
    std::str::from_utf8(&drafted.files[&format!("release-manifests/{file}")]).unwrap()
}

fn warnings(drafted: &BuiltRelease) -> String {
    drafted.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn add_operator_replaces_images_and_versions() {
    let tools = format!("r.example/tools@{}", digest('2'));
    let mut draft = draft(&[("tools", &tools)]);
    draft.set_version("kubernetes", "1.34.2");
    let manifest = deployment(
        "quay.io/example/network:dev",
        "        args: [\"--tools=quay.io/example/network\", '--version=0.0.1-snapshot']\n        \
                 env: [{name: KUBERNETES, value: 0.0.1-snapshot-kubernetes_openshift}]\n      \
               initContainers:\n      - image: quay.io/example/network:devel # quay.io/example/networks\n",
    );
    let network = operator(
        "network",
        &[
            ("0000_50_network_01.yaml", &manifest),
            (PLACEHOLDERS, REFERENCES),
            ("run.sh", "echo 0.0.1-snapshot-etcd"),
        ],
    );
    draft.declare("tools", images(&[("etcd", "3.6.0"), ("kubernetes", "1.33.0")]));
    draft.add_operator(&network);
    let drafted = draft.finish().unwrap();
    insta::assert_snapshot!(text(&drafted, "0000_50_network_01.yaml"), @r#"
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: network
      namespace: network
      annotations:
        include.release.openshift.io/self-managed-high-availability: "true"
    spec:
      template:
        spec:
          containers:
          - image: r.example/network@sha256:1111111111111111111111111111111111111111111111111111111111111111
            args: ["--tools=r.example/tools@sha256:2222222222222222222222222222222222222222222222222222222222222222", '--version=5.1.0']
            env: [{name: KUBERNETES, value: 1.34.2_openshift}]
          initContainers:
          - image: r.example/tools@sha256:2222222222222222222222222222222222222222222222222222222222222222 # quay.io/example/networks
    "#);
    assert_eq!(text(&drafted, "0000_50_network_run.sh"), "echo 3.6.0");
    assert_eq!(warnings(&drafted), "");
    assert_eq!(drafted.release.manifests.len(), 1);
    assert_eq!(
        drafted.files.keys().collect::<Vec<_>>(),
        [
            "release-manifests/0000_50_network_01.yaml",
            "release-manifests/0000_50_network_run.sh",
            "release-manifests/image-references",
            "release-manifests/release-metadata"
        ]
    );
    let references = &drafted.release.image_references;
    assert_eq!(references.component("kubernetes"), Some("1.34.2"));
    assert_eq!(references.component("etcd"), Some("3.6.0"));
    let previous: Vec<String> =
        drafted.release.metadata.previous.iter().map(ToString::to_string).collect();
    assert_eq!(previous, ["5.0.0", "5.0.1"]);
}

#[test]
fn finish_writes_component_versions_to_the_image_that_operators_share() {
    let pinned = |name: &str| format!("r.example/{name}@{}", digest('2'));
    let other = "apiVersion: image.openshift.io/v1\nkind: ImageStream\nspec:\n  tags:\n  \
                 - {name: api, from: {kind: DockerImage, name: quay.io/example/api}}\n  \
                 - {name: tools, from: {kind: DockerImage, name: quay.io/example/tools}}\n";
    let uses = |name, references| {
        let files = [("run.sh", "0.0.1-snapshot-kubernetes"), (PLACEHOLDERS, references)];
        operator(name, &files)
    };
    let annotated = |operators: &[Operator], declared: &[(&str, &str)]| {
        let mut draft = draft(&[("tools", &pinned("tools")), ("api", &pinned("api"))]);
        draft.set_version("kubernetes", "1.34.2");
        for (image, component) in declared {
            draft.declare(image, images(&[(component, "1.0.0")]));
        }
        for operator in operators {
            draft.add_operator(operator);
        }
        let references = draft.finish().unwrap().release.image_references;
        assert_eq!(references.component("kubernetes"), Some("1.34.2"));
        references
            .versions
            .into_iter()
            .map(|(image, versions)| format!("{image} {versions:?}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (network, api) = (uses("network", REFERENCES), uses("api", other));
    let kubernetes = r#"tools {"kubernetes": "1.34.2"}"#;
    assert_eq!(annotated(&[network.clone(), api.clone()], &[]), kubernetes);
    assert_eq!(annotated(&[api, network.clone()], &[]), kubernetes);
    assert_eq!(annotated(from_ref(&network), &[]), kubernetes);
    let declared = [("api", "kubernetes"), ("api", "etcd")];
    let expected = r#"api {"etcd": "1.0.0", "kubernetes": "1.34.2"}"#;
    assert_eq!(annotated(from_ref(&network), &declared), expected);
    assert_eq!(annotated(&[], &[]), "", "a default of the release");
}

#[test]
fn add_operator_prefers_the_versions_of_its_own_images() {
    let mut draft = draft(&[("tools", &format!("r.example/tools@{}", digest('2')))]);
    draft.declare("network", images(&[("kubernetes", "1.34.2")]));
    draft.declare("other", images(&[("kubernetes", "1.30.0"), ("etcd", "3.6.0")]));
    let files = [("run.sh", "0.0.1-snapshot-kubernetes 0.0.1-snapshot-etcd")];
    draft.add_operator(&operator("network", &[&files[..], &[(PLACEHOLDERS, REFERENCES)]].concat()));
    let drafted = draft.finish().unwrap();
    assert_eq!(text(&drafted, "0000_50_network_run.sh"), "1.34.2 3.6.0");
}

#[test]
fn add_operator_with_build_metadata_replaces_versions_without_it() {
    let metadata = ReleaseMetadata::new("5.1.0-rc.1+build.7".parse().unwrap());
    let mut draft = ReleaseBuilder::new(metadata, BTreeMap::new(), None);
    draft.add_operator(&operator("network", &[("run.sh", "0.0.1-snapshot")]));
    let drafted = draft.finish().unwrap();
    assert_eq!(text(&drafted, "0000_50_network_run.sh"), "5.1.0-rc.1");
    assert_eq!(drafted.release.metadata.version.to_string(), "5.1.0-rc.1+build.7");
}

#[test]
fn add_operator_numbers_files_of_the_same_name() {
    let mut draft = draft(&[]);
    let same = "0000_10_config_01.crd.yaml";
    draft.add_operator(&operator("a", &[("0000_10_config_01.crd_3.yaml", &config_map("x"))]));
    for name in ["a", "b", "c", "d"] {
        let other = config_map(&format!("{name}-role"));
        draft.add_operator(&operator(name, &[(same, &config_map(name)), ("02_role.yaml", &other)]));
    }
    let drafted = draft.finish().unwrap();
    let manifests: Vec<String> = drafted
        .release
        .manifests
        .iter()
        .map(|manifest| format!("{} {}", manifest.file, manifest.id.name))
        .collect();
    insta::assert_snapshot!(manifests.join("\n"), @"
    0000_10_config_01.crd.yaml a
    0000_10_config_01.crd_2.yaml b
    0000_10_config_01.crd_3.yaml x
    0000_10_config_01.crd_4.yaml c
    0000_10_config_01.crd_5.yaml d
    0000_50_a_02_role.yaml a-role
    0000_50_b_02_role.yaml b-role
    0000_50_c_02_role.yaml c-role
    0000_50_d_02_role.yaml d-role
    ");
    insta::assert_snapshot!(warnings(&drafted), @"
    b/0000_10_config_01.crd.yaml: renamed to 0000_10_config_01.crd_2.yaml, because a/0000_10_config_01.crd.yaml has the same name
    c/0000_10_config_01.crd.yaml: renamed to 0000_10_config_01.crd_4.yaml, because a/0000_10_config_01.crd.yaml has the same name
    d/0000_10_config_01.crd.yaml: renamed to 0000_10_config_01.crd_5.yaml, because a/0000_10_config_01.crd.yaml has the same name
    ");
}

#[test]
fn add_operator_without_manifests_adds_nothing() {
    let mut draft = draft(&[]);
    draft.add_operator(&operator("bootstrap", &[(PLACEHOLDERS, REFERENCES)]));
    let drafted = draft.finish().unwrap();
    assert_eq!(drafted.release.manifests, []);
    insta::assert_snapshot!(warnings(&drafted), @r#"bootstrap/image-references: image "tools" is not in the release; no manifest uses it"#);
}

#[test]
fn finish_without_a_time_omits_it() {
    let created: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let made = |created| {
        let metadata = ReleaseMetadata::new("5.1.0".parse().unwrap());
        ReleaseBuilder::new(metadata, BTreeMap::new(), created).finish().unwrap()
    };
    assert_eq!(made(None), made(None));
    assert_eq!(made(None).release.image_references.created, None);
    assert_eq!(made(Some(created)).release.image_references.created, Some(created));
    let changes = Changes::between(&made(None).release, &made(Some(created)).release);
    assert!(changes.images.is_empty() && changes.manifests.is_empty());
}

/// An operator whose manifest resolves nothing.
fn unresolved() -> Operator {
    let manifest = deployment(
        "quay.io/example/network",
        "        version: 0.0.1-snapshot-kubernetes\n        \
                 args: [--network=quay.io/example/network:dev, v0.0.1-snapshot]\n      \
               initContainers: [{image: docker.io/library/busybox}]\n",
    );
    let files = [
        ("0000_50_network_01.yaml", manifest.as_str()),
        (PLACEHOLDERS, REFERENCES),
        ("run.sh", "0.0.1-snapshot-cri-o"),
    ];
    operator("network", &files)
}

#[test]
fn finish_with_unresolved_placeholders_returns_errors() {
    let mut draft = draft(&[]);
    draft.add_operator(&unresolved());
    assert_eq!(draft.problems().len(), 4);
    insta::assert_snapshot!(draft.finish().unwrap_err(), @r#"
    6 errors:
    * network/0000_50_network_01.yaml:12:1: quay.io/example/network refers to image "tools", which is not in the release
    * network/0000_50_network_01.yaml:13:1: 0.0.1-snapshot-kubernetes: unknown version of component "kubernetes"
    * network/0000_50_network_01.yaml:14:1: placeholder quay.io/example/network:dev is part of a longer word
    * network/0000_50_network_01.yaml:14:1: placeholder 0.0.1-snapshot is part of a longer word
    * network/0000_50_network_01.yaml:1:1: deployment "network/network": field spec.template.spec.initContainers[0].image: image "docker.io/library/busybox" is not pinned by digest
    * network/0000_50_network_01.yaml:1:1: deployment "network/network": field spec.template.spec.containers[0].image: image "quay.io/example/network" is not pinned by digest
    "#);
}

#[test]
fn finish_with_allowed_placeholders_returns_warnings() {
    let mut draft = draft(&[]).allow_unresolved(true);
    draft.add_operator(&unresolved());
    let drafted = draft.finish().unwrap();
    assert_eq!(
        text(&drafted, "0000_50_network_01.yaml").as_bytes(),
        unresolved().files["0000_50_network_01.yaml"]
    );
    assert_eq!(drafted.warnings.len(), 6);
    assert!(warnings(&drafted).contains("unknown version of component"));
}

#[test]
fn finish_returns_all_errors_with_the_names_of_input_files() {
    let mut metadata = ReleaseMetadata::new("5.1.0".parse().unwrap());
    metadata.next = vec![metadata.version.clone()];
    metadata.metadata = images(&[
        ("url", "errata"),
        ("release.openshift.io/architecture", "amd64"),
        ("other", "anything"),
    ]);
    let named = images(&[
        ("network", "r.example/network:latest"),
        ("storage", &format!("r.example/ storage@{}", digest('1'))),
    ]);
    let mut draft = ReleaseBuilder::new(metadata, named, None);
    draft.add(
        "release-manifests/0000_50_network_01.yaml",
        "first.yaml",
        config_map("first").into(),
    );
    draft.add(
        "release-manifests/0000_50_network_01.yaml",
        "second.yaml",
        config_map("second").into(),
    );
    draft.add_operator(&operator(
        "deploy/storage",
        &[
            ("0000_50_storage_01.yaml", "kind: A\n"),
            ("02.yaml", "a: [\n"),
            (PLACEHOLDERS, "kind: ImageStream"),
        ],
    ));
    insta::assert_snapshot!(draft.finish().unwrap_err(), @r#"
    9 errors:
    * image network: "r.example/network:latest" is not pinned by digest (NAME@sha256:…)
    * image storage: "r.example/ storage@sha256:1111111111111111111111111111111111111111111111111111111111111111" is not pinned by digest (NAME@sha256:…)
    * release 5.1.0 lists itself as a next version
    * second.yaml: same path in the release as first.yaml
    * deploy/storage/image-references: field apiVersion: expected "image.openshift.io/v1", found ""
    * metadata of the release: invalid url: expected an http or https URL, found "errata"
    * metadata of the release: invalid release.openshift.io/architecture: expected multi, found "amd64"
    * deploy/storage/0000_50_storage_01.yaml:1:1: field apiVersion: expected a non-empty string
    * deploy/storage/02.yaml:1:4: '[' is not closed
    "#);
}

#[test]
fn finish_with_one_error_returns_one_line() {
    let mut draft = draft(&[]);
    draft.add("release-manifests/a.yaml", "a.yaml", b"kind: A".to_vec());
    insta::assert_snapshot!(draft.finish().unwrap_err(), @"a.yaml:1:1: field apiVersion: expected a non-empty string");
}

#[test]
fn finish_with_a_file_that_clusters_ignore_returns_an_error() {
    let mut draft = draft(&[]);
    draft.add("manifests/0000_00_own_01.yaml", "own/01.yaml", b"a: {{.Future}}".to_vec());
    insta::assert_snapshot!(draft.finish().unwrap_err(), @"own/01.yaml:1: excluded: unsupported template action {{.Future}}");
}
