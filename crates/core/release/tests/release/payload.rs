//! Loading a release.

use std::fmt::Write as _;

use fairway_release::Release;
use fairway_release::payload::{
    MAX_BYTES, MAX_DOCUMENTS, MAX_FILE_BYTES, MAX_FILES, MAX_OBJECT_BYTES, MAX_PROBLEMS,
    MAX_WARNINGS, PayloadProblem, is_part,
};
use proptest::prelude::*;

use crate::support::{config_map, files, load};

fn names(release: &Release) -> Vec<&str> {
    release.manifests.iter().map(|manifest| manifest.id.name.as_str()).collect()
}

#[test]
fn load_orders_manifests_by_file_templates_first() {
    let documents: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(config_map).into();
    let two =
        format!("# two of them\n---\n{}---\n{}---\n# and nothing\n", documents[2], documents[3]);
    let release = load(&files(&[
        ("release-manifests/0000_10_a_1.yaml", &documents[4]),
        ("release-manifests/0000_10_a_0.yml", &two),
        (
            "release-manifests/0000_10_a_2.json",
            r#"{"apiVersion": "v1", "kind": "A", "metadata": {"name": "g"}}"#,
        ),
        ("manifests/0000_90_z_0.yaml", &documents[1]),
        ("manifests/0000_00_z_0.yaml", &documents[0]),
        ("release-manifests/notes.txt", "not a manifest"),
        ("release-manifests/deep/0000_00_a_0.yaml", &documents[5]),
        ("other/0000_00_a_0.yaml", &documents[5]),
    ]))
    .unwrap();
    assert_eq!(names(&release), ["a", "b", "c", "d", "e", "g"]);
    let lines: Vec<(&str, u64)> = release.manifests[2..4]
        .iter()
        .map(|manifest| (manifest.file.as_str(), manifest.line))
        .collect();
    assert_eq!(lines, [("0000_10_a_0.yml", 3), ("0000_10_a_0.yml", 11)]);
    assert_eq!(release.warnings, []);
}

#[test]
fn load_skips_empty_documents() {
    for text in
        ["", "\n", "---\n", "# nothing", "---\n---\n", "null", "---\nnull\n---\n~\n", "--- # x\n"]
    {
        let release = load(&files(&[("release-manifests/a.yaml", text)]));
        assert_eq!(release.map(|release| release.manifests.len()), Ok(0), "{text:?}");
    }
}

#[test]
fn load_keeps_documents_as_json() {
    let release = load(&files(&[
        (
            "release-manifests/a.yaml",
            "kind: A\napiVersion: g/v1\nmetadata: {name: a}\nmode: 0644\nrule: a < b\n",
        ),
        (
            "release-manifests/b.yaml",
            "{ \"kind\": \"A\", \"apiVersion\": \"v1\",\n \"metadata\": {\"name\": \"b\"} }\n",
        ),
        ("release-manifests/c.yaml", "---\n{kind: A, apiVersion: v1, metadata: {name: c}}\n"),
    ]))
    .unwrap();
    let json: Vec<_> = release.manifests.iter().map(fairway_release::Manifest::json).collect();
    insta::assert_snapshot!(json.join("\n"), @r#"
    {"apiVersion":"g/v1","kind":"A","metadata":{"name":"a"},"mode":420,"rule":"a \u003c b"}
    { "kind": "A", "apiVersion": "v1",
     "metadata": {"name": "b"} }
    {"apiVersion":"v1","kind":"A","metadata":{"name":"c"}}
    "#);
    assert_eq!(release.manifests[0].object()["mode"], 420);
    assert_eq!(
        (release.manifests[0].id.group.as_str(), release.manifests[0].version.as_str()),
        ("g", "v1")
    );
}

#[test]
fn load_renders_templates_in_manifests_only() {
    let image = |name: &str| {
        format!("{}data:\n  image: '{{{{index .Images \"network\"}}}}'\n", config_map(name))
    };
    let release = load(&files(&[
        ("manifests/a.yaml", &image("a")),
        ("release-manifests/a.yaml", &image("b")),
    ]))
    .unwrap();
    assert_eq!(release.manifests[0].object()["data"]["image"], "registry.example/network@1");
    assert_eq!(release.manifests[1].object()["data"]["image"], "{{index .Images \"network\"}}");
}

#[test]
fn load_with_unsupported_templates_warns() {
    let release = load(&files(&[
        ("manifests/a.yaml", &config_map("a")),
        ("manifests/b.yaml", "kind: ConfigMap\nimage: '{{index .FutureField \"some-key\"}}'\n"),
        ("manifests/c.yaml", "image: '{{index .Images \"storage\"}}'\n"),
    ]))
    .unwrap();
    assert_eq!(names(&release), ["a"]);
    let warnings: Vec<String> = release.warnings.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(warnings.join("\n"), @r#"
    manifests/b.yaml:2: excluded: unsupported template action {{index .FutureField "some-key"}}
    manifests/c.yaml:1: excluded: image "storage" is not in the release
    "#);
}

#[test]
fn load_with_many_oddities_counts_the_omitted_ones() {
    let odd = "  - on\n".repeat(150);
    let mut text = String::new();
    for number in 0..12 {
        write!(text, "---\n{}data:\n{odd}", config_map(&format!("a{number}"))).unwrap();
    }
    let release = load(&files(&[("release-manifests/a.yaml", &text)])).unwrap();
    assert_eq!(release.warnings.len(), MAX_WARNINGS + 1);
    let line = |index: usize| release.warnings[index].to_string();
    assert_eq!(line(99), "release-manifests/a.yaml:109: 51 more warnings omitted");
    assert_eq!(line(MAX_WARNINGS), "release-manifests/a.yaml: 200 more warnings omitted");
}

#[test]
fn oddities_of_manifests_are_warnings_with_file_and_line() {
    let odd = "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  name: b\n  annotations:\n    a: 'two\n    lines'\n\
               mode: 0644\nswitch: on\n1: one\ntime: 22:30\nlocal: !secret x\n";
    let ignored = "{\"apiVersion\": \"v1\", \"kind\": \"A\",\n \"metadata\": {\"name\": \"c\", \"annotations\": {\"a\": true}}}";
    let release = load(&files(&[
        ("release-manifests/a.yaml", &format!("{}---\n{odd}", config_map("a"))),
        ("release-manifests/b.json", ignored),
        ("release-manifests/c.yaml", &format!("\u{feff}{}...\nmore\n", config_map("d"))),
    ]))
    .unwrap();
    assert_eq!(names(&release), ["a", "b", "c", "d"]);
    assert!(release.manifests[2].annotations.is_empty());
    let warnings: Vec<String> = release.warnings.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(warnings.join("\n"), @r#"
    release-manifests/a.yaml:13: duplicate key "name" overrides line 12
    release-manifests/a.yaml:16: quoted scalar continues without deeper indentation
    release-manifests/a.yaml:17: unquoted 0644 is 420
    release-manifests/a.yaml:18: unquoted on is the boolean true
    release-manifests/a.yaml:19: key 1 is not a string
    release-manifests/a.yaml:20: unquoted 22:30 is a string
    release-manifests/a.yaml:21: tag !secret is ignored
    release-manifests/b.json:1: all annotations are ignored, because a is not a string
    release-manifests/c.yaml:1: byte order mark
    release-manifests/c.yaml:9: content after the document end is ignored
    "#);
    assert!(
        release.warnings.iter().all(fairway_release::payload::PayloadWarning::is_informational)
    );
}

#[test]
fn load_reports_all_problems() {
    let mut files = files(&[
        ("manifests/a.yaml", "kind: A\n---\n- a list\n---\ntext\n"),
        ("release-manifests/b.yaml", &format!("{}---\n{}", config_map("b"), config_map("b"))),
        (
            "release-manifests/c.yaml",
            "a: [1\n---\nb: }\n---\napiVersion: v1\nkind: A\nmetadata: {name: 5}\n",
        ),
        ("release-manifests/d.json", "{\"apiVersion\": \"v1\",\n \"kind\": \"A\",,\n}"),
        (
            "release-manifests/e.yaml",
            "apiVersion: v1\nkind: A\nmetadata: {name: a, annotations: {a: true}}\n",
        ),
        ("release-manifests/f.yaml", "apiVersion: v1\nkind: ''\nmetadata: {name: a}\n"),
        ("release-manifests/g.yaml", "a: &a [*a]\n"),
    ]);
    files.insert("release-manifests/h.yaml".to_owned(), b"a: 1\nb: \xff\n".to_vec());
    files.remove("release-manifests/release-metadata");
    insta::assert_snapshot!(load(&files).unwrap_err(), @r#"
    invalid release, 12 errors:
    * release-manifests/release-metadata is missing
    * manifests/a.yaml:1:1: field apiVersion: expected a non-empty string
    * manifests/a.yaml:3:1: expected an object with apiVersion, kind and metadata
    * manifests/a.yaml:5:1: expected an object with apiVersion, kind and metadata
    * release-manifests/b.yaml:9:1: configmap "platform/b" is already defined in line 1
    * release-manifests/c.yaml:1:4: '[' is not closed
    * release-manifests/c.yaml:3:4: expected a value
    * release-manifests/c.yaml:5:1: field metadata.name: expected a non-empty string
    * release-manifests/d.json:2:14: expected a value
    * release-manifests/f.yaml:1:1: field kind: expected a non-empty string
    * release-manifests/g.yaml:1:8: anchor "a" contains itself
    * release-manifests/h.yaml:2:4: not valid UTF-8
    "#);
}

#[test]
fn load_with_object_in_two_files_succeeds() {
    let release = load(&files(&[
        ("release-manifests/a.yaml", &config_map("a")),
        ("release-manifests/b.yaml", &config_map("a")),
    ]));
    assert_eq!(release.map(|release| release.manifests.len()), Ok(2));
}

#[test]
fn load_with_different_versions_fails() {
    let mut files = files(&[]);
    let metadata = br#"{"kind": "cincinnati-metadata-v0", "version": "5.0.1"}"#;
    files.insert("release-manifests/release-metadata".to_owned(), metadata.to_vec());
    insta::assert_snapshot!(load(&files).unwrap_err(), @r#"invalid release: release-manifests/image-references names release "5.0.0", but the metadata names 5.0.1"#);
    insta::assert_snapshot!(load(&std::collections::BTreeMap::new()).unwrap_err(), @"
    invalid release, 2 errors:
    * release-manifests/release-metadata is missing
    * release-manifests/image-references is missing
    ");
}

#[test]
fn load_beyond_limits_fails() {
    let mut messages = String::new();
    let mut refused = |more: &[(String, String)]| {
        let more: Vec<(&str, &str)> =
            more.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let _ = writeln!(messages, "{}", load(&files(&more)).unwrap_err());
    };
    let path = |number: usize| format!("release-manifests/{number}.yaml");
    refused(&[(path(0), " ".repeat(MAX_FILE_BYTES + 1))]);
    refused(&[(path(0), "#\n---\n".repeat(MAX_DOCUMENTS)), (path(1), "---\n".to_owned())]);
    refused(&(0..MAX_FILES).map(|number| (path(number), String::new())).collect::<Vec<_>>());
    let large = format!("{}data: {{a: {}}}\n", config_map("a"), "x".repeat(MAX_OBJECT_BYTES));
    refused(&[(path(0), large)]);
    let full = " ".repeat(MAX_FILE_BYTES);
    refused(
        &(0..=MAX_BYTES / MAX_FILE_BYTES)
            .map(|number| (path(number), full.clone()))
            .collect::<Vec<_>>(),
    );
    insta::assert_snapshot!(messages, @r#"
    invalid release: release-manifests/0.yaml has 8388609 bytes; the limit is 8388608 bytes
    invalid release: release-manifests/1.yaml: more than 32768 documents
    invalid release: more than 16384 files
    invalid release: release-manifests/0.yaml:1:1: configmap "platform/a" has 3145914 bytes; the limit of API servers is 3145728 bytes
    invalid release: the manifests exceed the limit of 67108864 bytes
    "#);
}

#[test]
fn load_with_many_problems_stops() {
    let error =
        load(&files(&[("release-manifests/a.yaml", &"a: [\n---\n".repeat(1000))])).unwrap_err();
    assert_eq!(error.problems.len(), MAX_PROBLEMS + 1);
    insta::assert_snapshot!(error.problems.last().unwrap(), @"release-manifests/a.yaml: too many errors; the remaining files are not read");
}

#[test]
fn load_with_expanded_aliases_or_templates_respects_limits() {
    let long = "x".repeat(MAX_OBJECT_BYTES / 50);
    let aliases = format!("{}a: &a {long}\nb: [{}]\n", config_map("a"), ["*a"; 60].join(","));
    let error = load(&files(&[("release-manifests/a.yaml", &aliases)])).unwrap_err();
    assert!(
        matches!(error.problems.as_slice(), [PayloadProblem::ObjectTooLarge { .. }]),
        "{error}"
    );

    let template =
        r#"{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "a": "{{.ReleaseImage}}"}"#;
    let paths: Vec<String> = (0..100).map(|number| format!("manifests/{number}.json")).collect();
    let templates: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), template)).collect();
    let image = "x".repeat(MAX_OBJECT_BYTES - 200);
    let error = Release::load(&files(&templates), &image, "small").unwrap_err();
    assert_eq!(error.problems, [PayloadProblem::TooLarge]);
}

#[test]
fn load_with_deep_nesting_fails() {
    let deep = |open: &str, close: &str| {
        let text = format!("a: {}1{}", open.repeat(200), close.repeat(200));
        load(&files(&[("release-manifests/a.yaml", &text)])).unwrap_err().to_string()
    };
    insta::assert_snapshot!([deep("[", "]"), deep("{\"a\": ", "}")].join("\n"), @"
    invalid release: release-manifests/a.yaml:1:104: nested more than 100 levels deep
    invalid release: release-manifests/a.yaml:1:598: nested more than 100 levels deep
    ");
}

#[test]
fn is_part_with_other_files_returns_false() {
    for (path, part) in [
        ("release-manifests/release-metadata", true),
        ("release-manifests/image-references", true),
        ("manifests/a.yaml", true),
        ("release-manifests/a.json", true),
        ("manifests/release-metadata", false),
        ("manifests/a.yaml/b", false),
        ("a.yaml", false),
        ("usr/bin/fairway", false),
        ("release-manifests/a.yaml~", false),
        ("release-manifests/yaml", false),
    ] {
        assert_eq!(is_part(path), part, "{path}");
    }
}

proptest! {
    #[test]
    fn load_of_arbitrary_files_never_panics(
        text in "([-:{}\\[\\]&*#|>'\"!%@ \n\t.0-9a-zü]|---\n|\\{\\{|\\}\\}|kind: |apiVersion: |metadata: )*",
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut files = files(&[("manifests/a.yaml", &text), ("release-manifests/a.yaml", &text)]);
        files.insert("release-manifests/b.json".to_owned(), bytes);
        let _ = load(&files);
    }

    #[test]
    fn load_returns_documents_in_order(names in proptest::collection::btree_set("map-[a-z]{1,8}", 0..10)) {
        let text = names.iter().map(|name| config_map(name)).collect::<Vec<_>>().join("---\n");
        let release = load(&files(&[("release-manifests/a.yaml", &text)])).unwrap();
        let found: Vec<String> = release.manifests.into_iter().map(|manifest| manifest.id.name).collect();
        prop_assert_eq!(found, names.into_iter().collect::<Vec<_>>());
    }
}
