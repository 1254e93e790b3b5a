use serde_json::json;

use super::{NameRule, validate, validate_update};
use crate::field_error::FieldError;

fn texts(errors: &[FieldError]) -> String {
    let texts = errors.iter().map(|error| {
        let text = error.to_string();
        text.split(" must consist").next().unwrap_or_default().to_owned()
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn name_rules() {
    for (rule, good, bad) in [
        (NameRule::Subdomain, &["a", "a.b-c", "0"][..], &["A", "a..b", "-a", "a_"][..]),
        (NameRule::Label, &["a-0", "0"], &["a.b", "A"]),
        (NameRule::LetterFirstLabel, &["a-0"], &["0a", "a.b"]),
        (NameRule::PathSegment, &["A:b c"], &["a/b", "a%", ".", ".."]),
    ] {
        let errors =
            |name: &str| validate(&json!({ "metadata": { "name": name } }), false, rule).len();
        assert!(good.iter().all(|name| errors(name) == 0), "{rule:?}");
        assert!(bad.iter().all(|name| errors(name) > 0), "{rule:?}");
    }
    let long = "a".repeat(64);
    assert_eq!(NameRule::Label.problems(&long), ["must be no more than 63 characters"]);
    assert_eq!(NameRule::Subdomain.problems(&long), [""; 0]);
}

#[test]
fn validate_returns_api_server_messages() {
    let object = json!({ "metadata": {
        "generateName": "A-",
        "namespace": "B",
        "labels": { "a b": "c d" },
        "annotations": { "a/b/c": "", "big": "x".repeat(256 * 1024) },
        "ownerReferences": [{ "controller": true, "name": "x" }, { "controller": true, "name": "y" }],
        "finalizers": ["a b", "orphan", "foregroundDeletion"],
    } });
    insta::assert_snapshot!(texts(&validate(&object, true, NameRule::Subdomain)), @r#"
    metadata.generateName: Invalid value: "A-": a lowercase RFC 1123 subdomain
    metadata.name: Required value: name or generateName is required
    metadata.namespace: Invalid value: "B": a lowercase RFC 1123 label
    metadata.labels: Invalid value: "a b": name part
    metadata.labels: Invalid value: "c d": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
    metadata.annotations: Invalid value: "a/b/c": a qualified name
    metadata.annotations: Too long: may not be more than 262144 bytes
    metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty
    metadata.ownerReferences.kind: Invalid value: "": kind must not be empty
    metadata.ownerReferences.uid: Invalid value: "": uid must not be empty
    metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty
    metadata.ownerReferences.kind: Invalid value: "": kind must not be empty
    metadata.ownerReferences.uid: Invalid value: "": uid must not be empty
    metadata.ownerReferences: Invalid value: []interface {}{map[string]interface {}{"controller":true, "name":"x"}, map[string]interface {}{"controller":true, "name":"y"}}: Only one reference can have Controller set to true. Found "true" in references for x and y
    metadata.finalizers: Invalid value: "a b": name part
    metadata.finalizers: Invalid value: []string{"a b", "orphan", "foregroundDeletion"}: finalizer orphan and foregroundDeletion cannot be both set
    "#);
    let cluster_wide = json!({ "metadata": { "name": "a", "namespace": "b" } });
    insta::assert_snapshot!(texts(&validate(&cluster_wide, false, NameRule::Subdomain)), @"metadata.namespace: Forbidden: not allowed on this type");
}

#[test]
fn validate_update_of_immutable_fields_is_refused() {
    let old = json!({ "metadata": {
        "name": "a", "namespace": "b", "uid": "c", "creationTimestamp": "d",
        "deletionTimestamp": "e", "finalizers": ["example.com/f"],
    } });
    assert_eq!(validate_update(&old, &old), []);
    let new = json!({ "metadata": {
        "name": "1", "namespace": "2", "uid": "3", "creationTimestamp": "4",
        "finalizers": ["example.com/f", "example.com/g"],
    } });
    insta::assert_snapshot!(texts(&validate_update(&new, &old)), @r#"
    metadata.name: Invalid value: "1": field is immutable
    metadata.namespace: Invalid value: "2": field is immutable
    metadata.uid: Invalid value: "3": field is immutable
    metadata.creationTimestamp: Invalid value: "4": field is immutable
    metadata.deletionTimestamp: Invalid value: "null": field is immutable
    metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/g"}
    "#);
}
