//! `fairway release info`, `extract` and `diff`.

use std::fs;

use super::{INCLUDED, ReleaseFiles, deployment};

const DETAILS: [&str; 6] = [
    "--previous=5.0.1,5.0.0",
    "--next=5.1.1",
    "--channels=stable-5.1,fast-5.1",
    "--url=https://errata.example/5.1.0",
    "--metadata=team=platform",
    "--created=2026-01-31T12:00:00Z",
];

/// Adds manifests that `info` lists.
fn add_details(files: &ReleaseFiles) {
    let trust = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: release-verification\n  namespace: openshift-config-managed\n  \
         annotations:\n    {INCLUDED}\n    release.openshift.io/verification-config-map: \"\"\n\
         data:\n  verifier-public-key-team: KEY\n  store-main: https://signatures.example\n"
    );
    files.write("network/0000_50_network_02_trust.yaml", &trust);
    let check = format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: check\n  namespace: network\n  \
         annotations:\n    {INCLUDED}\n    openshift.io/preflight-check: \"true\"\n"
    );
    files.write("network/0000_50_network_03_check.yaml", &check);
    let forgotten =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: forgotten, namespace: storage}\n";
    files.write("storage/0000_50_storage_02.yaml", forgotten);
}

#[test]
fn info_describes_a_release() {
    let files = ReleaseFiles::new();
    add_details(&files);
    let image = files.release("5.1.0", &DETAILS);
    let shown = files.run(&["info", &image]);
    insta::assert_snapshot!(shown, @r#"
    exit code: 0
    ----- stdout -----
    release 5.1.0
    image: oci:releases@DIGEST
    created: 2026-01-31T12:00:00Z
    url: https://errata.example/5.1.0
    channels: fast-5.1, stable-5.1
    updates from: 5.0.0, 5.0.1
    updates to: 5.1.1
    manifests: 26, of which 24 for self-managed-high-availability, preflight checks: 1
    keyrings: verifier-public-key-team
    signature stores: https://signatures.example
    images: 2
      network  registry.example/network@sha256:1111111111111111111111111111111111111111111111111111111111111111
      storage  registry.example/storage@sha256:2222222222222222222222222222222222222222222222222222222222222222
    warning: 0000_50_storage_02.yaml:1: configmap "storage/forgotten" is not included in any cluster: no annotation include.release.openshift.io/… is "true"
    "#);
    for name in ["releases", "oci:releases", "oci:releases:5.1.0"] {
        assert_eq!(files.run(&["info", name]), shown, "{name}");
    }
    let document = files.json(&["info", &image]);
    assert_eq!(document["kind"], "ReleaseInfo");
    assert_eq!(document["release"]["metadata"]["team"], "platform");
    let yaml = files.run(&["info", &image, "-o", "yaml"]);
    assert!(yaml.contains("apiVersion: fairway.dev/v1alpha1\nkind: ReleaseInfo\n"), "{yaml}");
}

#[test]
fn extract_writes_files_with_the_same_info() {
    let files = ReleaseFiles::new();
    let image = files.release("5.1.0", &DETAILS);
    insta::assert_snapshot!(files.run(&["extract", &image, "--to=files"]), @"
    exit code: 0
    ----- stderr -----
    wrote 11 files to files
    ");
    let without_image = |text: String| {
        let lines = text.lines().filter(|line| !line.starts_with("image: "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let of_files = without_image(files.run(&["info", "files"]));
    assert_eq!(of_files, without_image(files.run(&["info", &image])));

    let metadata = "files/release-manifests/release-metadata";
    fs::write(files.path().join(metadata), "mine").unwrap();
    insta::assert_snapshot!(files.run(&["extract", &image, "--to=files"]), @"
    exit code: 1
    ----- stderr -----
    error: cannot write files/manifests/0000_00_cluster-version-operator_00_namespaces.yaml
      caused by: file exists
    hint: specify a new or empty directory, or overwrite files with --force
    ");
    assert_eq!(fs::read_to_string(files.path().join(metadata)).unwrap(), "mine");
    let forced = ["extract", &image, "--to=files", "--force", "--quiet"];
    assert_eq!(files.run(&forced), "exit code: 0\n");
    let file = "--file=/release-manifests/release-metadata";
    insta::assert_snapshot!(files.run(&["extract", &image, file, "--to=one", "-o=json"]), @r#"
    exit code: 0
    ----- stdout -----
    {
      "apiVersion": "fairway.dev/v1alpha1",
      "kind": "ReleaseFiles",
      "directory": "one",
      "files": [
        {
          "path": "release-manifests/release-metadata",
          "bytes": 298
        }
      ]
    }
    "#);
    let yaml = files.run(&["extract", &image, file, "-o=yaml"]);
    assert!(
        yaml.contains("\n  content: |\n    {\n      \"kind\": \"cincinnati-metadata-v0\""),
        "{yaml}"
    );
    let printed = files.run(&["extract", &image, file]);
    insta::assert_snapshot!(printed, @r#"
    exit code: 0
    ----- stdout -----
    {
      "kind": "cincinnati-metadata-v0",
      "version": "5.1.0",
      "previous": [
        "5.0.0",
        "5.0.1"
      ],
      "next": [
        "5.1.1"
      ],
      "metadata": {
        "io.openshift.upgrades.graph.release.channels": "stable-5.1,fast-5.1",
        "team": "platform",
        "url": "https://errata.example/5.1.0"
      }
    }
    "#);
}

#[test]
fn unknown_releases_and_files_are_refused() {
    let files = ReleaseFiles::new();
    let image = files.release("5.1.0", &[]);
    files.run(&["extract", &image, "--to=files"]);
    let broken = "files/release-manifests/0000_50_network_01_deployment.yaml";
    files.write(broken, "kind: Deployment\n---\na: [\n");
    let shown = [
        files.run(&["info", "files"]),
        files.run(&["info", "missing"]),
        files.run(&["info", "oci:releases:5.2.0"]),
        files.run(&["info", "network"]),
        files.run(&["extract", &image]),
        files.run(&["extract", &image, "--file=../../etc/passwd"]),
        files.run(&["diff", &image, "files"]),
    ];
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn diff_prints_changes() {
    let files = ReleaseFiles::new();
    add_details(&files);
    let from = files.release("5.0.0", &[]);
    fs::remove_file(files.path().join("network/0000_50_network_03_check.yaml")).unwrap();
    let second = deployment("second").replace("example/second:", "example/network:");
    files.write("network/0000_50_network_04.yaml", &second);
    let text = deployment("storage").replace("replicas: 1", "replicas: 2");
    files.write("storage/0000_50_storage_01_deployment.yaml", &text);
    let more = "--image=more=registry.example/more@sha256:3333333333333333333333333333333333333333333333333333333333333333";
    let to = files.release("5.1.0", &[more]);
    insta::assert_snapshot!(files.run(&["diff", &from, &to, "--exit-code"]), @r#"
    exit code: 3
    ----- stdout -----
    5.0.0 → 5.1.0: images: 1, manifests: 4
    + image more: registry.example/more@sha256:3333333333333333333333333333333333333333333333333333333333333333
    ~ deployment "network/network"
        spec.template.spec.containers[name=network].env[name=RELEASE].value: "5.0.0" → "5.1.0"
    + deployment "second/second"
    ~ deployment "storage/storage"
        spec.replicas: 1 → 2
        spec.template.spec.containers[name=storage].env[name=RELEASE].value: "5.0.0" → "5.1.0"
    - job "network/check"
    "#);
    insta::assert_snapshot!(files.run(&["diff", &from, &from, "--exit-code"]), @"
    exit code: 0
    ----- stdout -----
    5.0.0 → 5.0.0: images: 0, manifests: 0
    ");
    let document = files.json(&["diff", &from, &to]);
    assert_eq!(document["kind"], "ReleaseDifference");
    assert_eq!((&document["from"], &document["to"]), (&"5.0.0".into(), &"5.1.0".into()));
    assert_eq!(document["images"][0]["name"], "more");
}
