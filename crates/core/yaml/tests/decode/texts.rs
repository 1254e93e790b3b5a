//! Messages of errors and oddities.

use fairway_yaml::decode;

fn oddities(text: &str) -> String {
    let oddities = decode(text.as_bytes()).unwrap().oddities;
    let line = |oddity: &fairway_yaml::Oddity| format!("{}: {}", oddity.line, oddity.kind);
    oddities.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn oddities_of_document_are_reported_by_line() {
    let text = "\u{feff}a: yes\nb: 0644\nb: 0o17\nc: 1_000\nd: 12:30\ne: 0809\nf: 'x\ny'\n\
                g: !secret x\nh: !!set {x: z}\n5: five\non: off\ni: {x: 1,\n\t z: 2}\n\
                j: 123456789012345678901\nk: {a: 1, <<: {a: 2}}\n...\nrest";
    insta::assert_snapshot!(oddities(text), @r#"
    1: byte order mark
    1: unquoted yes is the boolean true
    2: unquoted 0644 is 420
    3: unquoted 0o17 is 15
    3: duplicate key "b" overrides line 2
    4: unquoted 1_000 is 1000
    5: unquoted 12:30 is a string
    6: unquoted 0809 is 809
    8: quoted scalar continues without deeper indentation
    9: tag !secret is ignored
    10: tag tag:yaml.org,2002:set is ignored
    11: key 5 is not a string
    12: unquoted on is the boolean true
    12: unquoted off is the boolean false
    12: key true is not a string
    14: tab used as indentation or separator
    15: 123456789012345678901 exceeds 64 bits and loses precision
    16: merge key << overrides "a", which is set before it
    18: content after the document end is ignored
    "#);
}

#[test]
fn oddities_of_usual_manifest_are_none() {
    let text = "---\n# comment\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: \"on\"\n  \
                labels: {a: 'yes', b: \"0644\", c: true}\ndata:\n  a: |\n    yes: \tno\n  \
                b: 'two\n    lines'\n  c: 10.0.0.1\n  d: 2026-01-01\n  e: -5\n  f: 0\n  g: 0x1F\n";
    assert_eq!(oddities(text), "");
}

#[test]
fn duplicate_keys_name_the_line_that_is_overridden() {
    insta::assert_snapshot!(oddities("a: 1\nb: {c: 1,\n c: 2}\na: 2\na: 3\n"), @r#"
    3: duplicate key "c" overrides line 2
    4: duplicate key "a" overrides line 1
    5: duplicate key "a" overrides line 4
    "#);
}

#[test]
fn oddity_serializes_with_kind_and_line() {
    let oddity = &decode(b"a: 1\na: 2").unwrap().oddities[0];
    let json = serde_json::to_string(oddity).unwrap();
    assert_eq!(json, r#"{"line":2,"oddity":"duplicateKey","key":"a","firstLine":1}"#);
}

#[test]
fn errors_name_line_column_and_reason() {
    let told: Vec<String> = [
        "a: b: c",
        "a:\n\tb: c",
        "a: 'x",
        "a: \"\\q\"",
        "a: \"\\xZZ\"",
        "a: \"\\ud800\"",
        "a: |0\n x",
        "a: |\n\tx",
        "a: | x",
        "a: @",
        "a: [b",
        "a: {b: c",
        "a: [b]]",
        "- a\nb",
        "a: 1\n- b",
        "a: &",
        "a: *b",
        "a: &b [*b]",
        "a: !x!y z",
        "a: !!int b",
        "[a]: b",
        "a:\n  ~: b",
        "a: [.inf]",
        "<<: 5",
        "%YAML 1.2\n---\na",
        "%FOO\n---\na",
        "a: \u{7}",
        "a\nb: c",
        "? a\nb",
        "a: - b",
        "'a\n---\nb'",
    ]
    .iter()
    .map(|text| match decode(text.as_bytes()) {
        Ok(decoded) => format!("{text:?} decodes to {}", decoded.value),
        Err(error) => error.to_string(),
    })
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    line 1, column 5: mapping values are not allowed here
    line 2, column 1: tab used as indentation
    line 1, column 4: unterminated quoted scalar
    line 1, column 5: unknown escape sequence
    line 1, column 7: expected hexadecimal digits in an escape sequence
    line 1, column 7: escape sequence is not a Unicode character
    line 1, column 5: indentation indicator must not be 0
    line 2, column 1: tab used as indentation of a block scalar
    line 1, column 6: expected a comment or a line break after a block scalar indicator
    line 1, column 4: this character cannot start a token
    line 1, column 4: '[' is not closed
    line 1, column 4: '{' is not closed
    line 1, column 7: expected a key or the end of a mapping
    line 2, column 1: expected ':' after a key
    line 2, column 1: expected a key or the end of a mapping
    line 1, column 5: expected letters or digits in the name of an anchor
    line 1, column 4: unknown anchor "b"
    line 1, column 8: anchor "b" contains itself
    line 1, column 4: undefined tag handle "!x!"
    line 1, column 4: cannot decode "b" as !!int
    line 1, column 1: a mapping key must be a scalar
    line 2, column 3: null cannot be a mapping key
    line 1, column 5: infinity has no representation in JSON
    line 1, column 5: merge key << requires a mapping or a list of mappings
    line 1, column 1: unsupported YAML version
    line 1, column 5: unknown directive
    line 1, column 4: control character U+0007 is not allowed
    line 2, column 2: mapping values are not allowed here
    line 2, column 1: expected ':' after a key
    line 1, column 4: block sequence entries are not allowed here
    line 2, column 1: document marker inside a quoted scalar
    "#);
}
