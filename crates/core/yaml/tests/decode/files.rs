//! Files with several documents.

use fairway_yaml::{documents, object, to_json};

/// Every document with its line, or its error.
fn read(bytes: &[u8]) -> String {
    let line = |document: Result<fairway_yaml::Document, _>| match document {
        Ok(document) => {
            let written = document.json.map_or("", |_| " as written");
            format!("{}: {}{written}", document.line, to_json(&document.value))
        }
        Err(error) => format!("error: {error}"),
    };
    documents(bytes).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn documents_of_yaml_are_split_at_separators() {
    let text = b"# first\n---\na: 1\n--- # comment\n\n# b\nb: |\n  --- text\n---\n---\nc: 3";
    insta::assert_snapshot!(read(text), @r#"
    2: null
    3: {"a":1}
    7: {"b":"--- text\n"}
    11: {"c":3}
    "#);
}

#[test]
fn documents_end_lines_as_go_does() {
    insta::assert_snapshot!(read(b"a: |\r\n  x\r\n  y"), @r#"1: {"a":"x\ny\n"}"#);
}

#[test]
fn documents_after_separator_with_content_are_read() {
    let text = b"a: 1\n--- b\nc: 2\n---\nd: [\n---\n-----BEGIN\n---\ne: 3\n";
    insta::assert_snapshot!(read(text), @r#"
    1: {"a":1}
    error: line 2, column 4: document separator followed by "b"; only a comment may follow `---`
    error: line 5, column 4: '[' is not closed
    error: line 7, column 4: document separator followed by "--BEGIN"; only a comment may follow `---`
    9: {"e":3}
    "#);
}

#[test]
fn documents_of_json_stream_keep_their_text() {
    let text = b" {\"b\": 1, \"a\": 2}\n{\"c\":3}\n{\"d\":\"\\ud800\"}";
    insta::assert_snapshot!(read(text), @r#"
    1: {"a":2,"b":1} as written
    2: {"c":3} as written
    3: {"d":"�"} as written
    "#);
    let documents: Vec<_> = documents(b"{ \"b\": 1,\n\"a\": \"\\ud800\" }").collect();
    let json = documents[0].as_ref().unwrap().json.as_deref();
    assert_eq!(json, Some("{ \"b\": 1,\n\"a\": \"\\ufffd\" }"));
}

#[test]
fn documents_of_json_followed_by_yaml_switch_once() {
    insta::assert_snapshot!(read(b"{\"b\":1} \n---\n{\"d\": 1, \"c\": 2}\n---\ne: 3\n"), @r#"
    1: {"b":1} as written
    3: {"c":2,"d":1}
    5: {"e":3}
    "#);
    insta::assert_snapshot!(read(b"{\"a\":1}{\"b\":2}{c: 3}"), @r#"
    1: {"a":1} as written
    1: {"b":2} as written
    error: line 1, column 1: invalid JSON: key must be a string at line 1 column 2
    "#);
}

#[test]
fn documents_of_flow_mapping_are_yaml() {
    insta::assert_snapshot!(read(b"{a: 1, b: [x]}\n"), @r#"1: {"a":1,"b":["x"]}"#);
    insta::assert_snapshot!(read(b"{\"a\": \"\xff\"}\n"), @r#"1: {"a":"�"} as written"#);
    insta::assert_snapshot!(read(b"{a: \"\xff\"}\n"), @"error: line 1, column 6: not valid UTF-8");
}

#[test]
fn documents_of_empty_file_are_none() {
    assert_eq!(read(b""), "");
    assert_eq!(read(b"\n"), "2: null");
}

/// Every oddity of a file with its line.
fn oddities(bytes: &[u8]) -> String {
    let documents = documents(bytes).flat_map(|document| document.unwrap().oddities);
    documents
        .map(|oddity| format!("{}: {}", oddity.line, oddity.kind))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn documents_of_json_report_duplicate_keys() {
    let text = b"{\"a\": [{\"b\": 1, \"c\": {}},\n {\"b\": \"\\\"b\"}],\n \"\\u0061\": {}}\n\n{\"d\": 1,\n\"d\": 2}";
    insta::assert_snapshot!(oddities(text), @r#"
    3: duplicate key "a" overrides line 1
    6: duplicate key "d" overrides line 5
    "#);
}

#[test]
fn object_of_yaml_begins_behind_comments_and_separators() {
    for text in ["# comment\n---\na: 1\n", "\n---\na: 1\n---\nb: 2\n", "a: 1", "{\"a\": 1}\n"] {
        assert_eq!(to_json(&object(text.as_bytes()).unwrap().value), r#"{"a":1}"#, "{text}");
    }
    assert!(object(b"").unwrap().value.is_null());
    assert!(object(b"a: [").is_err());
    // YAML has neither of these escapes.
    let json = object(b"{\"a\": \"\\/\\ud800\"}").unwrap();
    assert_eq!(to_json(&json.value), "{\"a\":\"/\u{fffd}\"}");
}

#[test]
fn object_has_the_lines_of_keys() {
    let lines = |text: &str| {
        let keys = object(text.as_bytes()).unwrap().keys;
        keys.iter().map(|key| format!("{} {}", key.line, key.path)).collect::<Vec<_>>().join("\n")
    };
    let yaml = "a:\n  b: 1\nc:\n- d: [x, e: 2]\n  f: {g: 3,\n   h: {}}\n-\n  - i: 4\nj: k\n";
    let json = "{\"a\":\n {\"b\": 1},\n\"c\": [\n{\"d\": [\"x\", {\"e\": 2}],\n \"f\": {\"g\": 3,\n \
                \"h\": {}}},\n [{\"i\": 4}]],\n\"j\": \"k\"}";
    let paths = |text: &str| {
        let keys = object(text.as_bytes()).unwrap().keys.into_iter();
        keys.map(|key| key.path).collect::<Vec<_>>()
    };
    assert_eq!(paths(yaml), paths(json));
    insta::assert_snapshot!(lines(yaml), @"
    1 a
    2 a.b
    3 c
    4 c[0].d
    4 c[0].d[1].e
    5 c[0].f
    5 c[0].f.g
    6 c[0].f.h
    8 c[1][0].i
    9 j
    ");
    insta::assert_snapshot!(lines(json), @"
    1 a
    2 a.b
    3 c
    4 c[0].d
    4 c[0].d[1].e
    5 c[0].f
    5 c[0].f.g
    6 c[0].f.h
    7 c[1][0].i
    8 j
    ");
}
