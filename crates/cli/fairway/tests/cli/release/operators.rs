//! `fairway release new` with operators that were written for `oc adm release new`.

use std::collections::BTreeMap;

use fairway_registry::{Image, ImageConfig, LayerBuilder, layout};
use serde_json::Value;

use super::{NETWORK, PROGRAM, ReleaseFiles, STORAGE, deployment};

const STREAM: &str = "\
apiVersion: image.openshift.io/v1
kind: ImageStream
metadata: {annotations: {capability.openshift.io/name: Network}}
spec:
  tags:
  - {name: network, from: {kind: DockerImage, Name: quay.io/example/network}}
";

/// Two operators with files of the same names, of which one has a component version, and two directories
/// without manifests.
fn operator_files() -> ReleaseFiles {
    let files = ReleaseFiles::new();
    let versioned = deployment("network").replace(
        "value: 0.0.1-snapshot}",
        "value: 0.0.1-snapshot_openshift}, {name: KUBERNETES, value: 0.0.1-snapshot-kubernetes}",
    );
    files.write("operators/network/07_deployment.yaml", &versioned);
    files.write("operators/network/run.sh", "echo 0.0.1-snapshot\n");
    files.write("operators/network/image-references", STREAM);
    files.write("operators/storage/07_deployment.yaml", &deployment("storage"));
    let references = STREAM.replace("network", "storage");
    files.write("operators/storage/image-references", &references);
    files.write("operators/bootstrap/image-references", &references);
    files.write("operators/cluster-version-operator/00.yaml", "a: {{.ReleaseImage}}");
    files
}

fn new(files: &ReleaseFiles, more: &[&str]) -> String {
    let usual = ["new", "--version=5.1.0", PROGRAM, "--operators=operators", "--to=releases"];
    files.run(&[&usual, more].concat())
}

#[test]
fn new_with_operators_names_files_by_image() {
    let files = operator_files();
    let version = "--component-version=kubernetes=1.34.2";
    insta::assert_snapshot!(new(&files, &[NETWORK, STORAGE, version]), @r#"
    exit code: 0
    ----- stdout -----
    oci:releases@DIGEST
    ----- stderr -----
    skipping operators/cluster-version-operator: Fairway's own manifests replace those of cluster-version-operator
    warning: no ConfigMap configures signature verification: without --force, clusters with this release refuse all other releases
    warning: the release has no alerts, because no manifest contains the CRDs PrometheusRule and ServiceMonitor; to add alerts anyway, use --monitoring
    warning: operators/bootstrap/image-references:6: key "Name" is read as "name"
    warning: operators/network/image-references:6: key "Name" is read as "name"
    warning: operators/storage/image-references:6: key "Name" is read as "name"
    release 5.1.0: manifests: 23, images: 2
    "#);
    let file = "--file=release-manifests/0000_50_network_07_deployment.yaml";
    let text = files.run(&["extract", "releases", file]);
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.contains("containers")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    containers:
    - name: network
      image: registry.example/network@sha256:1111111111111111111111111111111111111111111111111111111111111111
      env: [{name: RELEASE, value: 5.1.0_openshift}, {name: KUBERNETES, value: 1.34.2}]
    ");
}

#[test]
fn new_with_other_order_of_operators_gives_the_same_digest() {
    let files = ReleaseFiles::new();
    for name in ["a", "b", "c"] {
        let map =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: a}}\n");
        files.write(&format!("{name}/0000_10_same.yaml"), &map);
    }
    let digest = |order: [&str; 3]| {
        let manifests = order.map(|name| format!("--manifests={name}"));
        let usual = ["new", "--version=5.1.0", PROGRAM, "--to=releases"];
        let manifests = manifests.each_ref().map(String::as_str);
        files.json(&[&usual[..], &manifests].concat())["digest"].clone()
    };
    assert_eq!(digest(["c", "a", "b"]), digest(["a", "b", "c"]));
}

#[test]
fn new_with_hidden_and_empty_directories_skips_them() {
    let files = operator_files();
    files.write("operators/.git/config", "[core]\n");
    files.write("operators/docs/pages/index.md", "# Pages\n");
    files.write("operators/scripts/run.sh", "echo 0.0.1-snapshot\n");
    let version = "--component-version=kubernetes=1.34.2";
    insta::assert_snapshot!(new(&files, &[NETWORK, STORAGE, version]), @r#"
    exit code: 0
    ----- stdout -----
    oci:releases@DIGEST
    ----- stderr -----
    skipping operators/.git: hidden directory
    skipping operators/cluster-version-operator: Fairway's own manifests replace those of cluster-version-operator
    skipping operators/docs: no files
    warning: no ConfigMap configures signature verification: without --force, clusters with this release refuse all other releases
    warning: the release has no alerts, because no manifest contains the CRDs PrometheusRule and ServiceMonitor; to add alerts anyway, use --monitoring
    warning: operators/bootstrap/image-references:6: key "Name" is read as "name"
    warning: operators/network/image-references:6: key "Name" is read as "name"
    warning: operators/storage/image-references:6: key "Name" is read as "name"
    release 5.1.0: manifests: 23, images: 2
    "#);
    let file = "--file=release-manifests/0000_50_scripts_run.sh";
    assert!(files.run(&["extract", "releases", file]).contains("echo 5.1.0"));
}

#[test]
fn new_with_unreachable_registry_warns_if_placeholders_may_stay() {
    let files = operator_files();
    let network = "--image=network=127.0.0.1:1/network@sha256:1111111111111111111111111111111111111111111111111111111111111111";
    let made = new(&files, &[network, STORAGE, "--allow-unresolved"]);
    assert!(made.starts_with("exit code: 0"), "{made}");
    let warning = "warning: cannot read the component versions of image 127.0.0.1:1/network@";
    assert!(made.contains(warning), "{made}");
    assert!(made.contains("Connection refused"), "{made}");
}

#[test]
fn new_document_has_the_warnings() {
    let files = operator_files();
    let version = "--component-version=kubernetes=1.34.2";
    let usual = ["new", "--version=5.1.0", PROGRAM, "--operators=operators", "--to=releases"];
    let made = files.json(&[&usual[..], &[NETWORK, STORAGE, version]].concat());
    let warnings: Vec<&str> =
        made["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    insta::assert_snapshot!(warnings.join("\n"), @r#"
    no ConfigMap configures signature verification: without --force, clusters with this release refuse all other releases
    the release has no alerts, because no manifest contains the CRDs PrometheusRule and ServiceMonitor; to add alerts anyway, use --monitoring
    operators/bootstrap/image-references:6: key "Name" is read as "name"
    operators/network/image-references:6: key "Name" is read as "name"
    operators/storage/image-references:6: key "Name" is read as "name"
    "#);
}

#[test]
fn lint_of_operator_reports_oddities_and_exits_with_3_if_strict() {
    let files = operator_files();
    let twice = deployment("network")
        .replace("  namespace: network\n", "  namespace: a\n  namespace: network\n");
    files.write("operators/network/07_deployment.yaml", &twice);
    insta::assert_snapshot!(files.run(&["lint", "operators/network"]), @r#"
    exit code: 0
    ----- stdout -----
    warning: image-references:6: key "Name" is read as "name"
    warning: 07_deployment.yaml:6: duplicate key "namespace" overrides line 5
    errors: 0, warnings: 2
    "#);
    let strict = files.run(&["lint", "operators/network", "--strict"]);
    assert!(strict.starts_with("exit code: 3"), "{strict}");
    files.write("operators/network/08.yaml", "a: [\n");
    let broken = files.run(&["lint", "operators/network"]);
    assert!(broken.starts_with("exit code: 3"), "{broken}");
    assert!(broken.contains("error: 08.yaml:1:4: '[' is not closed"), "{broken}");
}

#[test]
fn new_with_manifests_takes_the_image_from_the_directory() {
    for (directory, argument) in [
        ("storage-operator", "--manifests=storage-operator"),
        ("storage-operator/manifests", "--manifests=storage-operator/manifests"),
        ("elsewhere", "--manifests=storage-operator=elsewhere"),
    ] {
        let files = ReleaseFiles::new();
        files.write(&format!("{directory}/01.yaml"), &deployment("storage"));
        let references = STREAM.replace("network", "storage");
        files.write(&format!("{directory}/image-references"), &references);
        let usual = ["new", "--version=5.1.0", PROGRAM, STORAGE, "--to=releases", argument];
        files.json(&usual);
        let file = "--file=release-manifests/0000_50_storage-operator_01.yaml";
        let text = files.run(&["extract", "releases", file]);
        assert!(text.starts_with("exit code: 0"), "{directory}: {text}");
    }
}

#[test]
fn new_with_images_from_files_reads_lists_and_image_streams() {
    let files = operator_files();
    let list = [NETWORK, STORAGE].map(|option| option.trim_start_matches("--image="));
    files.write("images.txt", &format!("# images\n{}\n\n{} # last\n", list[0], list[1]));
    let version = "--component-version=kubernetes=1.34.2";
    let digest = |more: &[&str]| {
        let usual = ["new", "--version=5.1.0", PROGRAM, "--operators=operators", "--to=releases"];
        files.json(&[&usual, more].concat())["digest"].clone()
    };
    let made = digest(&["--images-from=images.txt", version]);
    assert_eq!(digest(&[NETWORK, STORAGE, version]), made);
    // The image stream of a release includes the component version.
    files.run(&["extract", "releases", "--to=files"]);
    let stream = "--images-from=files/release-manifests/image-references";
    assert_eq!(digest(&[stream]), made);
    let other = NETWORK.replace('1', "3");
    assert_ne!(digest(&[stream, &other]), made);
}

#[test]
fn new_with_unresolved_placeholders_fails_and_names_the_options() {
    let files = operator_files();
    files.write("operators/other/01.yaml", &deployment("other"));
    let network = "--image=network=127.0.0.1:1/network@sha256:1111111111111111111111111111111111111111111111111111111111111111";
    insta::assert_snapshot!(new(&files, &[network, STORAGE]), @"
    exit code: 1
    ----- stderr -----
    skipping operators/cluster-version-operator: Fairway's own manifests replace those of cluster-version-operator
    reading component versions of 127.0.0.1:1/network@sha256:1111111111111111111111111111111111111111111111111111111111111111
    error: cannot read the component versions of image 127.0.0.1:1/network@sha256:1111111111111111111111111111111111111111111111111111111111111111
      caused by: http://127.0.0.1:1/v2/network/manifests/sha256:1111111111111111111111111111111111111111111111111111111111111111: Connection refused (os error 111)
    hint: set versions with --component-version kubernetes=VERSION
    ");
    insta::assert_snapshot!(new(&files, &[STORAGE]), @r#"
    exit code: 1
    ----- stderr -----
    skipping operators/cluster-version-operator: Fairway's own manifests replace those of cluster-version-operator
    warning: operators/bootstrap/image-references:6: key "Name" is read as "name"
    warning: operators/network/image-references:6: key "Name" is read as "name"
    warning: operators/storage/image-references:6: key "Name" is read as "name"
    error: cannot create release 5.1.0
      caused by: 4 errors:
    * operators/network/07_deployment.yaml:16:1: quay.io/example/network:dev refers to image "network", which is not in the release
    * operators/network/07_deployment.yaml:17:1: 0.0.1-snapshot-kubernetes: unknown version of component "kubernetes"
    * operators/network/07_deployment.yaml:1:1: deployment "network/network": field spec.template.spec.containers[0].image: image "quay.io/example/network:dev" is not pinned by digest
    * operators/other/01.yaml:1:1: deployment "other/other": field spec.template.spec.containers[0].image: image "quay.io/example/other:dev" is not pinned by digest
    hint: add images with --image network=IMAGE; set versions with --component-version kubernetes=VERSION; create the release anyway with --allow-unresolved
    "#);
    insta::assert_snapshot!(new(&files, &[STORAGE, "--allow-unresolved"]), @r#"
    exit code: 0
    ----- stdout -----
    oci:releases@DIGEST
    ----- stderr -----
    skipping operators/cluster-version-operator: Fairway's own manifests replace those of cluster-version-operator
    warning: operators/network/07_deployment.yaml:16:1: quay.io/example/network:dev refers to image "network", which is not in the release
    warning: operators/network/07_deployment.yaml:17:1: 0.0.1-snapshot-kubernetes: unknown version of component "kubernetes"
    warning: operators/network/07_deployment.yaml:1:1: deployment "network/network": field spec.template.spec.containers[0].image: image "quay.io/example/network:dev" is not pinned by digest
    warning: operators/other/01.yaml:1:1: deployment "other/other": field spec.template.spec.containers[0].image: image "quay.io/example/other:dev" is not pinned by digest
    warning: no ConfigMap configures signature verification: without --force, clusters with this release refuse all other releases
    4 more warnings: use --verbose to show them
    release 5.1.0: manifests: 24, images: 1
    "#);
}

#[test]
fn new_without_component_version_reads_the_label_of_the_image() {
    let files = operator_files();
    let layer = LayerBuilder::new().file("a", 0o644, "a").unwrap().build().unwrap();
    let label = ("io.openshift.build.versions".to_owned(), "kubernetes=1.34.2+k3s1".to_owned());
    let config = ImageConfig { labels: BTreeMap::from([label]), ..ImageConfig::default() };
    let image = Image::new(vec![layer], &config);
    layout::add(&files.path().join("images"), &image, "network").unwrap();
    let network = format!("--image=network=oci:images@{}", image.digest());
    let text = new(&files, &[&network, STORAGE]);
    assert!(text.contains("reading component versions of oci:images@DIGEST\n"), "{text}");
    let file = "--file=release-manifests/0000_50_network_07_deployment.yaml";
    let text = files.run(&["extract", "releases", file]);
    assert!(text.contains("{name: KUBERNETES, value: 1.34.2}"), "{text}");
    let file = "--file=release-manifests/image-references";
    let text = files.run(&["extract", "releases", file]);
    assert!(text.contains(r#""io.openshift.build.versions": "kubernetes=1.34.2""#), "{text}");
}
