//! Bad input is refused with the place at which it is bad, and never panics.

use fairway_api::{ClusterVersion, read};
use proptest::prelude::*;

fn refusal(text: &[u8]) -> String {
    read::document::<ClusterVersion>("version.yaml", text).unwrap_err().to_string()
}

#[test]
fn errors_name_the_file_the_line_and_the_field() {
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
fn text_that_is_no_text_is_refused_with_its_place() {
    assert_eq!(refusal(b"a: b\nc: \xff\n"), "version.yaml:2:4: not valid UTF-8");
}

#[test]
fn absurd_sizes_are_refused() {
    let huge = vec![b' '; 33 << 20];
    assert_eq!(
        refusal(&huge),
        "version.yaml is 34603008 bytes long, and at most 33554432 are read"
    );

    let deep = format!("spec: {}{}", "[".repeat(5_000), "]".repeat(5_000));
    assert!(refusal(deep.as_bytes()).starts_with("version.yaml:1:"));

    let doubled = |(name, before): (char, char)| {
        format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 9].join(", "))
    };
    let bomb = format!("a: &a [x]\n{}", ('b'..='z').zip('a'..).map(doubled).collect::<String>());
    let error = read::document::<serde_json::Value>("bomb.yaml", bomb.as_bytes()).unwrap_err();
    assert!(error.to_string().ends_with("too large or too complex"), "{error}");
}

#[test]
fn several_documents_are_read_and_empty_ones_skipped() {
    let text = b"---\na: 1\n---\n---\n# nothing\n---\na: 2\n";
    let documents: Vec<serde_json::Value> = read::documents("several.yaml", text).unwrap();
    assert_eq!(documents.len(), 2);
}

#[test]
fn file_modes_are_octal() {
    let read: serde_json::Value = read::document("mode.yaml", b"mode: 0644").unwrap();
    assert_eq!(read["mode"], 0o644);
}

proptest! {
    #[test]
    fn no_bytes_make_reading_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read::document::<ClusterVersion>("bytes", &bytes);
    }

    #[test]
    fn no_yaml_makes_reading_panic(text in "[a-c:{}\\[\\],\"'&*!|>#\\- \n0-9~]{0,120}") {
        let _ = read::documents::<serde_json::Value>("text", text.as_bytes());
    }
}
