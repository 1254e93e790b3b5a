//! Invalid input is rejected with its position, and never panics.

use fairway_api::{ClusterVersion, read};
use proptest::prelude::*;

fn refusal(text: &[u8]) -> String {
    read::document::<ClusterVersion>("version.yaml", text).unwrap_err().to_string()
}

#[test]
fn errors_contain_file_position_and_field() {
    let refusals = [
        "spec: [unclosed",
        "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {}\nspec:\n  clusterID: [a]\n",
        "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {}\nspec:\n  clusterID: a\n  overrides:\n  - kind: a\n  - kind: b\n    unmanaged: perhaps\n",
        "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {}\nspec: {clusterID: a}\nstatus: {observedGeneration: many}\n",
        "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {}\nspec: {clusterID: a}\nstatus:\n  history:\n  - startedTime: yesterday\n",
        "a: 1\na: 2\n",
        "{\"kind\": \"ClusterVersion\",,}",
        "--- a\n--- b\n",
        "",
    ]
    .map(|text| refusal(text.as_bytes()));
    insta::assert_snapshot!(refusals.join("\n"), @"
    version.yaml:1:7: field spec: expected mapping start
    version.yaml:5:14: field spec.clusterID: expected string scalar
    version.yaml:9:16: field spec.overrides[1].unmanaged: invalid boolean
    version.yaml:5:30: field status.observedGeneration: invalid i64
    version.yaml:7:18: field status.history[0].startedTime: failed to parse four digit integer as year: invalid digit, expected 0-9 but got y
    version.yaml:2:1: duplicate mapping key: a not allowed here
    version.yaml:1:27: unexpected EOF while parsing an implicit flow mapping
    version.yaml:1:5: expected mapping start
    version.yaml:1:1: unexpected end of file
    ");
}

#[test]
fn invalid_utf8_reports_position() {
    assert_eq!(refusal(b"a: b\nc: \xff\n"), "version.yaml:2:4: not valid UTF-8");
}

#[test]
fn documents_beyond_limits_are_rejected() {
    let huge = vec![b' '; 33 << 20];
    assert_eq!(refusal(&huge), "version.yaml has 34603008 bytes; the limit is 33554432 bytes");

    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let error = read::document::<serde_json::Value>("deep.yaml", deep.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "deep.yaml:1:256: recursion limit exceeded");
    let error = read::bytes("endless", std::io::repeat(b'x')).unwrap_err();
    assert_eq!(error.to_string(), "endless exceeds the limit of 33554432 bytes");

    let doubled = |(name, before): (char, char)| {
        format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 9].join(", "))
    };
    let bomb = format!("a: &a [x]\n{}", ('b'..='z').zip('a'..).map(doubled).collect::<String>());
    let error = read::document::<serde_json::Value>("bomb.yaml", bomb.as_bytes()).unwrap_err();
    assert!(error.to_string().ends_with("too large or too complex"), "{error}");
}

#[test]
fn object_of_other_kind_is_rejected() {
    let deployment = b"apiVersion: apps/v1\nkind: Deployment\nmetadata: {}\nspec: {}\n";
    let operator =
        b"apiVersion: config.openshift.io/v1\nkind: ClusterOperator\nmetadata: {}\nspec: {}\n";
    let refusals = [deployment.as_slice(), operator, b"metadata: {}\nspec: {}\n"]
        .map(|text| read::object::<ClusterVersion>("x.yaml", text).unwrap_err().to_string());
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    x.yaml: field apiVersion: expected "config.openshift.io/v1", found "apps/v1"
    x.yaml: field kind: expected "ClusterVersion", found "ClusterOperator"
    x.yaml: field apiVersion: expected "config.openshift.io/v1", found ""
    "#);
    assert!(read::object::<fairway_api::ClusterOperator>("x.yaml", operator).is_ok());
}

#[test]
fn position_behind_alias_is_position_of_value() {
    let text = b"apiVersion: &a x\nkind: ClusterVersion\nmetadata: {}\nspec: {clusterID: c}\nstatus: {observedGeneration: *a}\n";
    insta::assert_snapshot!(refusal(text), @"version.yaml:5:30: field status.observedGeneration: invalid i64");
}

#[test]
fn documents_skips_empty_documents() {
    let text = b"---\na: 1\n---\n---\n# nothing\n---\na: 2\n";
    let documents: Vec<serde_json::Value> = read::documents("several.yaml", text).unwrap();
    assert_eq!(documents.len(), 2);
}

#[test]
fn file_modes_are_octal() {
    let read: serde_json::Value = read::document("mode.yaml", b"mode: 0644").unwrap();
    assert_eq!(read["mode"], 0o644);
}

/// ASCII text with many YAML constructs.
const WHOLE: &str = r#"
apiVersion: config.openshift.io/v1
kind: ClusterVersion
metadata: {name: version, generation: 2}
spec:
  clusterID: fb4b77e5-f288-49ad-b9e6-dfd20426e470
  desiredUpdate: {version: "5.1.0", force: false, acceptRisks: [{name: A}], mode: Preflight}
  overrides: [{kind: K, group: "", namespace: n, name: a, unmanaged: true}]
status:
  observedGeneration: 2
  desired: {version: "5.0.0", image: i}
  availableUpdates: null
  history: [{state: Completed, startedTime: "2026-01-01T00:00:00Z", completionTime: null, image: i, verified: true}]
  conditions: [{type: Available, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}]
"#;

proptest! {
    #[test]
    fn read_of_damaged_document_does_not_panic(
        at in 0..WHOLE.len(), length in 0..20usize, put in "[a-z:{}\\[\\],\"'&*!|>#\\- \n0-9~é]{0,12}",
    ) {
        let mut damaged = WHOLE.to_owned();
        damaged.replace_range(at..(at + length).min(WHOLE.len()), &put);
        if let Ok(object) = read::object::<ClusterVersion>("damaged", damaged.as_bytes()) {
            let _ = fairway_api::validate::cluster_version(&object);
        }
    }

    #[test]
    fn read_of_any_bytes_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read::document::<ClusterVersion>("bytes", &bytes);
    }

    #[test]
    fn read_of_any_yaml_does_not_panic(text in "[a-c:{}\\[\\],\"'&*!|>#\\- \n0-9~]{0,120}") {
        let _ = read::documents::<serde_json::Value>("text", text.as_bytes());
    }
}
