//! `fairway release new`.

use std::fs;

use serde_json::Value;

use super::{NETWORK, PROGRAM, ReleaseFiles, STORAGE, deployment};

#[test]
fn new_is_reproducible() {
    let files = ReleaseFiles::new();
    let first = files.release("5.1.0", &[]);
    let printed = files.run(&[
        "new",
        "--version=5.1.0",
        PROGRAM,
        NETWORK,
        STORAGE,
        "--manifests=network",
        "--manifests=storage",
        "--to=again:latest",
    ]);
    insta::assert_snapshot!(printed, @"
    exit code: 0
    ----- stdout -----
    oci:again@DIGEST
    ----- stderr -----
    warning: no ConfigMap configures signature verification: without --force, clusters with this release refuse all other releases
    warning: the release has no alerts, because no manifest contains the CRDs PrometheusRule and ServiceMonitor; to add alerts anyway, use --monitoring
    release 5.1.0: manifests: 23, images: 2
    ");
    let digest = |layout: &str| {
        let info = files.json(&["info", layout]);
        info["image"].as_str().unwrap().rsplit_once('@').unwrap().1.to_owned()
    };
    assert_eq!(digest("again"), digest("releases"));
    let dated = files.release("5.1.0", &["--created=2026-01-31T12:00:00Z"]);
    assert_ne!(dated, first);
    assert_eq!(files.release("5.1.0", &["--created=1769860800"]), dated);
    let mut command = files.fairway(&[
        "new",
        "--version=5.1.0",
        PROGRAM,
        NETWORK,
        STORAGE,
        "--manifests=network",
        "--manifests=storage",
        "--to=releases",
        "-q",
    ]);
    let output = command.env("SOURCE_DATE_EPOCH", "1769860800").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), dated);
}

#[test]
fn new_replaces_image_and_version_placeholders() {
    let files = ReleaseFiles::new();
    files.release("5.1.0", &[]);
    let file = "--file=release-manifests/0000_50_network_01_deployment.yaml";
    let text = files.run(&["extract", "releases", file]);
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.contains("containers")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    containers:
    - name: network
      image: registry.example/network@sha256:1111111111111111111111111111111111111111111111111111111111111111
      env: [{name: RELEASE, value: 5.1.0}]
    ");
}

#[test]
fn new_with_invalid_manifests_reports_all_and_writes_nothing() {
    let files = ReleaseFiles::new();
    files.write("broken/0000_50_broken_01.yaml", "apiVersion: v1\nkind: ConfigMap\n");
    files.write("broken/0000_50_broken_02.yaml", "a: [\n");
    files.write("broken/0000_50_network_01_deployment.yaml", &deployment("other"));
    let printed = files.run(&[
        "new",
        "--version=5.1.0",
        "--previous=5.1.0",
        "--url=errata",
        PROGRAM,
        NETWORK,
        "--image=other=registry.example/other:latest",
        "--manifests=network",
        "--manifests=storage",
        "--manifests=broken",
        "--to=releases",
    ]);
    insta::assert_snapshot!(printed, @r#"
    exit code: 1
    ----- stderr -----
    warning: network/0000_50_network_01_deployment.yaml: renamed to 0000_50_network_01_deployment_2.yaml, because broken/0000_50_network_01_deployment.yaml has the same name
    error: cannot create release 5.1.0
      caused by: 6 errors:
    * image other: "registry.example/other:latest" is not pinned by digest (NAME@sha256:…)
    * release 5.1.0 lists itself as a previous version
    * storage/0000_50_storage_01_deployment.yaml:16:1: quay.io/example/storage:dev refers to image "storage", which is not in the release
    * metadata of the release: invalid url: expected an http or https URL, found "errata"
    * broken/0000_50_broken_01.yaml:1:1: field metadata.name: expected a non-empty string
    * broken/0000_50_broken_02.yaml:1:4: '[' is not closed
    hint: add images with --image storage=IMAGE
    "#);
    assert!(!files.path().join("releases").exists());
}

#[test]
fn new_with_invalid_arguments_is_refused() {
    let files = ReleaseFiles::new();
    files.write("empty/README.md", "nothing");
    files.write("diary/today", "dear");
    files.write("hollow/empty/README.md", "nothing");
    files.write("list.txt", "a=b\n");
    files.write("twice.txt", "# images\na=b\n\na=c # again\n");
    files.write("odd.txt", "a=b\nb=\n");
    let new = |more: &[&str]| files.run(&[&["new", "--version=5.1.0", PROGRAM], more].concat());
    let printed = [
        new(&[]),
        new(&["--to=releases", "--to-image=registry.example/releases"]),
        new(&["--to=releases", "--image=network"]),
        new(&["--to=releases", NETWORK, NETWORK]),
        new(&["--to=releases", "--url=https://a.example", "--metadata=url=https://b.example"]),
        new(&["--to=releases", "--created=soon"]),
        new(&["--to=releases", "--manifests=hollow"]),
        new(&["--to=releases", "--manifests=missing"]),
        new(&["--to=releases", "--manifests=network=missing"]),
        new(&["--to=releases", "--operators=missing"]),
        new(&["--to=releases", "--operators=network"]),
        new(&["--to=releases", "--images-from=missing"]),
        new(&["--to=releases", "--images-from=empty/README.md"]),
        new(&["--to=releases", "--images-from=twice.txt"]),
        new(&["--to=releases", "--images-from=odd.txt"]),
        new(&["--to=releases", "--images-from=list.txt", "--images-from=list.txt"]),
        new(&["--to=releases", "--component-version=kubernetes"]),
        new(&["--to=releases", "--component-version=kubernetes=latest"]),
        new(&["--to=releases", "--component-version=Kubernetes=1.34.2"]),
        new(&["--to=releases", "--component-version=a=1.0.0", "--component-version=a=1.0.0"]),
        new(&["--to=diary"]),
        new(&["--to-image=registry.example/releases@sha256:12"]),
        new(&["--to-image=registry.example/RELEASES"]),
        new(&["--to-image=127.0.0.1:1/releases"]),
        files.run(&["new", "--version=5.1.0", "--from=oci:missing", "--to=releases"]),
        files.run(&["new", "--version=5.1.0", "--program=missing", "--to=releases"]),
        files.run(&["new", "--version=5.1", "--to=releases"]),
    ];
    insta::assert_snapshot!(printed.join("\n"));
}

#[test]
fn new_prints_warnings_and_adds_alerts() {
    let files = ReleaseFiles::new();
    files.write(
        "monitoring/0000_50_monitoring_01.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: forgotten\n  namespace: monitoring\n",
    );
    let new = ["new", "--version=5.1.0", PROGRAM, "--to=releases", "--manifests=monitoring"];
    insta::assert_snapshot!(files.run(&new), @r#"
    exit code: 0
    ----- stdout -----
    oci:releases@DIGEST
    ----- stderr -----
    warning: 0000_50_monitoring_01.yaml:1: configmap "monitoring/forgotten" is not included in any cluster: no annotation include.release.openshift.io/… is "true"
    warning: no ConfigMap configures signature verification: without --force, clusters with this release refuse all other releases
    warning: the release has no alerts, because no manifest contains the CRDs PrometheusRule and ServiceMonitor; to add alerts anyway, use --monitoring
    release 5.1.0: manifests: 22, images: 0
    "#);
    let manifests = |arguments: &[&str]| files.json(arguments)["manifestCount"].as_u64().unwrap();
    let without = manifests(&new);
    let always = manifests(&[&new[..], &["--monitoring"]].concat());
    assert!(without < always, "{without} and {always}");
    for name in ["prometheusrules", "servicemonitors"] {
        let text = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: {name}.monitoring.coreos.com\n"
        );
        files.write(&format!("monitoring/0000_50_monitoring_02_{name}.yaml"), &text);
    }
    assert_eq!(manifests(&new), always + 2);
    let text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  \
                name: securitycontextconstraints.security.openshift.io\n";
    files.write("monitoring/0000_03_constraints.yaml", text);
    let with_constraints = always + 2 + 3;
    assert_eq!(manifests(&new), with_constraints, "the CRD, and the manifests that need it");
}

#[test]
fn new_with_base_image_adds_layers() {
    let files = ReleaseFiles::new();
    files.release("5.0.0", &[]);
    let new = |version: &str| {
        let version = format!("--version={version}");
        let arguments = ["new", &version, "--from=oci:releases:5.0.0", "--to=releases", NETWORK];
        files.json(&[&arguments[..], &["--manifests=network"]].concat())
    };
    let made = new("5.0.1");
    assert_eq!(new("5.0.1"), made);
    let info = files.json(&["info", made["image"].as_str().unwrap()]);
    assert_eq!(info["release"]["version"], "5.0.1");
    let images: Vec<&String> = info["images"].as_object().unwrap().keys().collect();
    assert_eq!(images, ["network"], "nothing of the other release shows through");
    let text = files.run(&["extract", "oci:releases:5.0.1", "--to=files"]);
    assert!(text.starts_with("exit code: 0"), "{text}");
    assert!(
        !files.path().join("files/release-manifests/0000_50_storage_01_deployment.yaml").exists()
    );

    let digest = made["digest"].as_str().unwrap().trim_start_matches("sha256:");
    let blob = |digest: &str| -> Value {
        let path = files.path().join("releases/blobs/sha256").join(digest);
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    };
    let config = blob(digest)["config"]["digest"].as_str().unwrap().to_owned();
    let config = blob(config.trim_start_matches("sha256:"));
    assert_eq!(config["config"]["Labels"]["io.openshift.release"], "5.0.1");
    assert_eq!(config["config"]["Entrypoint"][0], "/usr/bin/fairway");
}
