//! Making a release.

use std::collections::BTreeMap;

use fairway_release::changes::Changes;
use fairway_release::{Draft, ReleaseMetadata};
use jiff::Timestamp;

use crate::support::{INCLUDED, config_map};

fn digest(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

fn images(named: &[(&str, &str)]) -> BTreeMap<String, String> {
    named.iter().map(|(name, image)| ((*name).to_owned(), (*image).to_owned())).collect()
}

fn draft(more: &[(&str, &str)]) -> Draft {
    let mut metadata = ReleaseMetadata::new("5.1.0".parse().unwrap());
    metadata.previous = ["5.0.1", "5.0.0", "5.0.1"].map(|text| text.parse().unwrap()).into();
    let mut images = images(&[("network", &format!("r.example/network@{}", digest('1')))]);
    images.extend(more.iter().map(|(name, image)| ((*name).to_owned(), (*image).to_owned())));
    Draft::new(metadata, images, None)
}

fn operator(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
}

const REFERENCES: &str = "
apiVersion: image.openshift.io/v1
kind: ImageStream
spec:
  tags:
  - {name: network, from: {kind: DockerImage, name: 'quay.io/example/network:dev'}}
  - {name: tools, from: {kind: DockerImage, name: quay.io/example/network}}
";

fn deployment(content: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: network\n  namespace: network\n  annotations:\n    {INCLUDED}: \"true\"\nspec:\n{content}"
    )
}

#[test]
fn what_stands_for_an_image_or_the_version_is_replaced() {
    let tools = format!("r.example/tools@{}", digest('2'));
    let mut draft = draft(&[("tools", &tools)]);
    let text = deployment(
        "  image: quay.io/example/network:dev\n  \
           args: [\"--tools=quay.io/example/network\", '--version=0.0.1-snapshot']\n  \
           other: quay.io/example/network:devel # quay.io/example/networks, 10.0.0.1-snapshot\n",
    );
    draft.add_operator(
        "network",
        &operator(&[
            ("0000_50_network_01.yaml", &text),
            ("image-references", REFERENCES),
            ("README.md", "{"),
        ]),
    );
    let (files, release) = draft.finish().unwrap();
    insta::assert_snapshot!(String::from_utf8_lossy(&files["release-manifests/0000_50_network_01.yaml"]), @r#"
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: network
      namespace: network
      annotations:
        include.release.openshift.io/self-managed-high-availability: "true"
    spec:
      image: r.example/network@sha256:1111111111111111111111111111111111111111111111111111111111111111
      args: ["--tools=r.example/tools@sha256:2222222222222222222222222222222222222222222222222222222222222222", '--version=5.1.0']
      other: quay.io/example/network:devel # quay.io/example/networks, 10.0.0.1-snapshot
    "#);
    assert_eq!(release.manifests.len(), 1);
    assert_eq!(
        files.keys().collect::<Vec<_>>(),
        [
            "release-manifests/0000_50_network_01.yaml",
            "release-manifests/image-references",
            "release-manifests/release-metadata"
        ]
    );
    let previous: Vec<String> = release.metadata.previous.iter().map(ToString::to_string).collect();
    assert_eq!(previous, ["5.0.0", "5.0.1"]);
}

#[test]
fn the_time_is_in_it_only_where_it_is_given() {
    let created: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let made = |created| {
        let metadata = ReleaseMetadata::new("5.1.0".parse().unwrap());
        Draft::new(metadata, BTreeMap::new(), created).finish().unwrap()
    };
    assert_eq!(made(None), made(None));
    assert_eq!(made(None).1.image_references.created, None);
    assert_eq!(made(Some(created)).1.image_references.created, Some(created));
    let changes = Changes::between(&made(None).1, &made(Some(created)).1);
    assert!(changes.images.is_empty() && changes.manifests.is_empty());
}

#[test]
fn everything_that_is_wrong_is_said_of_the_files_of_people() {
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
    let mut draft = Draft::new(metadata, named, None);
    let text =
        deployment("  image: quay.io/example/network\n  version: 0.0.1-snapshot-kubernetes\n");
    draft.add_operator(
        "network",
        &operator(&[("0000_50_network_01.yaml", &text), ("image-references", REFERENCES)]),
    );
    draft.add_operator(
        "deploy/storage",
        &operator(&[
            ("0000_50_network_01.yaml", &config_map("again")),
            ("0000_50_storage_01.yaml", "kind: A\n"),
            ("0000_50_storage_02.yaml", "a: [\n"),
            ("image-references", "kind: ImageStream"),
        ]),
    );
    insta::assert_snapshot!(draft.finish().unwrap_err(), @r#"
    11 things are wrong:
    * image network: "r.example/network:latest" does not end with a digest such as @sha256:…
    * image storage: "r.example/ storage@sha256:1111111111111111111111111111111111111111111111111111111111111111" does not end with a digest such as @sha256:…
    * 5.1.0 cannot be updated to itself
    * network/0000_50_network_01.yaml:9:1: quay.io/example/network stands for the image "tools", which is not there
    * network/0000_50_network_01.yaml:10:1: 0.0.1-snapshot-kubernetes stands for a version that nobody has named; only 0.0.1-snapshot does
    * deploy/storage/image-references:1:1: missing field `apiVersion`
    * deploy/storage/0000_50_network_01.yaml: network/0000_50_network_01.yaml has the same name, and a release has room for one of them
    * the release's metadata: url cannot be used: "errata" was found where an http or https address is wanted
    * the release's metadata: release.openshift.io/architecture cannot be used: "amd64" was found where multi is wanted
    * deploy/storage/0000_50_storage_01.yaml:1:1: field apiVersion: expected a string that is not empty
    * deploy/storage/0000_50_storage_02.yaml:1:4: '[' is not closed
    "#);
}

#[test]
fn one_thing_that_is_wrong_is_one_sentence() {
    let mut draft = draft(&[]);
    draft.add("release-manifests/a.yaml", "a.yaml", b"kind: A".to_vec());
    insta::assert_snapshot!(draft.finish().unwrap_err(), @"a.yaml:1:1: field apiVersion: expected a string that is not empty");
}

#[test]
fn what_loading_would_leave_out_is_refused() {
    let mut draft = draft(&[]);
    draft.add("manifests/0000_00_own_01.yaml", "own/01.yaml", b"a: {{.Future}}".to_vec());
    insta::assert_snapshot!(draft.finish().unwrap_err(), @"own/01.yaml:1: left out: {{.Future}} is not understood here");
}
