//! `fairway crds`.

use crate::{fairway, transcript};

#[test]
fn crds_prints_yaml_documents() {
    let output = fairway().arg("crds").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let names: Vec<serde_json::Value> =
        fairway_api::read::documents("stdout", text.as_bytes()).unwrap();
    let names: Vec<_> = names.iter().map(|crd| crd["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["clusteroperators.config.openshift.io", "clusterversions.config.openshift.io"]
    );
}

#[test]
fn crds_as_json_prints_a_list() {
    let output = fairway().args(["crds", "-o", "json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&list["kind"], list["items"].as_array().unwrap().len()), (&"List".into(), 2));
}

#[test]
fn crds_with_dir_writes_files() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("a/b");
    let printed = transcript(fairway().arg("crds").arg("--dir").arg(&target));
    let printed = printed.replace(dir.path().to_str().unwrap(), "[DIR]");
    insta::assert_snapshot!(printed, @"
    exit code: 0
    ----- stderr -----
    wrote [DIR]/a/b/clusteroperators.yaml
    wrote [DIR]/a/b/clusterversions.yaml
    ");
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 2);

    let quiet = transcript(fairway().args(["-q", "crds", "--dir"]).arg(&target));
    assert_eq!(quiet, "exit code: 0\n");
}

#[test]
fn crds_with_invalid_dir_fails() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let printed = transcript(fairway().arg("crds").arg("--dir").arg(file.path().join("x")));
    let printed = printed.replace(file.path().to_str().unwrap(), "[FILE]");
    insta::assert_snapshot!(printed, @"
    exit code: 1
    ----- stderr -----
    error: cannot create directory [FILE]/x
      caused by: Not a directory (os error 20)
    hint: use a writable directory
    ");
}
