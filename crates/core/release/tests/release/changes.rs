//! Differences between two releases.

use fairway_release::Release;
use fairway_release::changes::Changes;

use crate::support::{config_map, files, load};

fn release(version: &str, images: &str, manifests: &[(&str, &str)]) -> Release {
    let mut files = files(manifests);
    let metadata = format!(r#"{{"kind": "cincinnati-metadata-v0", "version": "{version}"}}"#);
    let references = format!(
        "{{apiVersion: image.openshift.io/v1, kind: ImageStream, metadata: {{name: {version}}}, spec: {{tags: [{images}]}}}}"
    );
    files.insert("release-manifests/release-metadata".to_owned(), metadata.into_bytes());
    files.insert("release-manifests/image-references".to_owned(), references.into_bytes());
    load(&files).unwrap()
}

fn image(name: &str, tag: &str) -> String {
    format!("{{name: {name}, from: {{kind: DockerImage, name: 'registry.example/{name}:{tag}'}}}}")
}

fn example() -> (Release, Release) {
    let data = |name: &str, data: &str| format!("{}data: {{key: {data}}}\n", config_map(name));
    let long = format!("'{}ü'", "x".repeat(200));
    let from = release(
        "5.0.0",
        &[image("network", "1"), image("storage", "1"), image("ingress", "1")].join(","),
        &[
            ("release-manifests/0000_10_a_0.yaml", &data("changed", "old")),
            ("release-manifests/0000_10_a_1.yaml", &data("removed", "x")),
            ("release-manifests/0000_10_a_2.yaml", &data("same", "x")),
            ("release-manifests/0000_10_a_3-Default.yaml", &data("variant", "default")),
            ("release-manifests/0000_10_a_3-OKD.yaml", &data("variant", "okd")),
        ],
    );
    let to = release(
        "5.1.0",
        &[image("network", "2"), image("storage", "1"), image("console", "2")].join(","),
        &[
            ("release-manifests/0000_10_a_0.yaml", &data("changed", &long)),
            ("release-manifests/0000_20_b_1.yaml", &data("added", "x")),
            ("release-manifests/0000_30_c_2.yaml", &data("same", "x")),
            ("release-manifests/0000_10_a_3-Default.yaml", &data("variant", "default")),
            ("release-manifests/0000_10_a_3-OKD.yaml", &data("variant", "other")),
        ],
    );
    (from, to)
}

#[test]
fn between_lists_images_and_manifests() {
    let (from, to) = example();
    insta::assert_snapshot!(Changes::between(&from, &to), @r#"
    5.0.0 → 5.1.0: images: 3, manifests: 5
    + image console: registry.example/console:2
    - image ingress: registry.example/ingress:1
    ~ image network: registry.example/network:1 → registry.example/network:2
    + configmap "platform/added"
    ~ configmap "platform/changed"
        data.key: "old" → "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
    - configmap "platform/removed"
    ~ configmap "platform/same"
        in 0000_10_a_2.yaml → 0000_30_c_2.yaml
    ~ configmap "platform/variant"
        data.key: "okd" → "other"
    "#);
}

#[test]
fn between_is_symmetric() {
    let (from, to) = example();
    let (there, back) = (Changes::between(&from, &to), Changes::between(&to, &from));
    assert_eq!((&there.from, &there.to), (&back.to, &back.from));
    let names = |changes: &Changes| -> Vec<String> {
        changes.manifests.iter().map(|change| change.id.name.clone()).collect()
    };
    assert_eq!(names(&there), names(&back));
    for (there, back) in there.manifests.iter().zip(&back.manifests) {
        assert_eq!((&there.file.old, &there.file.new), (&back.file.new, &back.file.old));
    }
}

#[test]
fn between_same_release_is_empty() {
    let (release, _) = example();
    insta::assert_snapshot!(Changes::between(&release, &release), @"5.0.0 → 5.0.0: images: 0, manifests: 0");
}
