use std::sync::LazyLock;

use proptest::prelude::*;
use regex::bytes::{Captures, Regex};

use super::*;

const NETWORK: &str = "r.example/network@sha256:11";
const TOOLS: &str = "r.example/tools@sha256:22";

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn apply(text: &str) -> (String, Vec<Unresolved>) {
    let words = map(&[
        ("quay.io/example/network", "network"),
        ("quay.io/example/network:tools", "tools"),
        ("quay.io/example/storage:v4.0", "storage"),
        ("docker.io/example/gone", "gone"),
    ]);
    let images =
        map(&[("network", NETWORK), ("tools", TOOLS), ("storage", "r.example/storage@sha256:33")]);
    let components = BTreeMap::from([("kubernetes", "1.34.2"), ("cri-o", "1.34.0")]);
    let (out, unresolved) =
        Substitution::new(&words, &images, "5.1.0", components).apply(text.as_bytes());
    (String::from_utf8(out).unwrap(), unresolved)
}

fn resolved(text: &str) -> String {
    let (out, unresolved) = apply(text);
    assert_eq!(unresolved, [], "{text}");
    out
}

#[test]
fn apply_replaces_images_with_any_tag_or_digest() {
    for locator in ["", ":latest", ":v4.0", ":_a.b-c", "@sha256:00ff", "@sha256+b64.x:00"] {
        for (before, after) in
            [("", ""), (" ", "\n"), ("\"", "\""), ("'", "'"), ("=", " "), ("docker://", "\t")]
        {
            let text = format!("{before}quay.io/example/network{locator}{after}");
            assert_eq!(resolved(&text), format!("{before}{NETWORK}{after}"), "{text}");
        }
    }
}

#[test]
fn apply_prefers_the_longest_word() {
    assert_eq!(resolved("quay.io/example/network:tools"), TOOLS);
    assert_eq!(resolved("quay.io/example/network:tools2"), NETWORK);
}

#[test]
fn apply_replaces_neighbours() {
    let text = "quay.io/example/network quay.io/example/network:tools";
    assert_eq!(resolved(text), format!("{NETWORK} {TOOLS}"));
}

#[test]
fn apply_keeps_other_images() {
    for text in [
        "quay.io/example/networks",
        "quay.io/example/network-operator:v1",
        "quay.io/example/network/operator",
        "quay.io/example/network.example",
        "quay.io/example/storage:v4.0.1",
        "quay.io/example/storage:v4",
        "quay.io/example/storage",
        "xquay.io/example/network",
        "_quay.io/example/network",
    ] {
        assert_eq!(resolved(text), text);
    }
    let long = format!("quay.io/example/network:{}", "a".repeat(MAX_TAG_BYTES + 1));
    assert_eq!(apply(&long).0, long);
}

#[test]
fn apply_replaces_versions() {
    for (text, expected) in [
        ("0.0.1-snapshot", "5.1.0"),
        ("'0.0.1-snapshot'", "'5.1.0'"),
        ("v=0.0.1-snapshot_openshift", "v=5.1.0_openshift"),
        ("0.0.1-snapshot-kubernetes", "1.34.2"),
        ("0.0.1-snapshot-kubernetes_openshift", "1.34.2_openshift"),
        ("0.0.1-snapshot-cri-o.", "1.34.0."),
        ("0.0.1-snapshot, 0.0.1-snapshot", "5.1.0, 5.1.0"),
    ] {
        assert_eq!(resolved(text), expected, "{text}");
    }
}

#[test]
fn apply_reports_placeholders_that_stay() {
    let not_separate = |word: &str| UnresolvedReason::NotSeparate { word: word.to_owned() };
    for (text, reason) in [
        ("0.0.1-snapshot-etcd", UnresolvedReason::NoVersion { component: "etcd".to_owned() }),
        ("0.0.1-snapshot-", UnresolvedReason::NoVersion { component: String::new() }),
        (
            "0.0.1-snapshot-kubernetes-",
            UnresolvedReason::NoVersion { component: "kubernetes-".to_owned() },
        ),
        ("0.0.1-snapshots", not_separate("0.0.1-snapshots")),
        ("v0.0.1-snapshot", not_separate("0.0.1-snapshot")),
        ("[quay.io/example/network]", not_separate("quay.io/example/network")),
        ("quay.io/example/network:tools,", not_separate("quay.io/example/network:tools")),
        ("quay.io/example/network:", not_separate("quay.io/example/network")),
        ("quay.io/example/network@sha256:0", not_separate("quay.io/example/network")),
        (
            "docker.io/example/gone:v1",
            UnresolvedReason::NoImage {
                word: "docker.io/example/gone:v1".to_owned(),
                name: "gone".to_owned(),
            },
        ),
    ] {
        let text = format!("a: 0.0.1-snapshot\n\nb: {text}");
        let (out, unresolved) = apply(&text);
        assert_eq!(out, text.replacen("0.0.1-snapshot", "5.1.0", 1));
        assert_eq!(unresolved, [Unresolved { line: 3, reason }], "{text}");
    }
}

#[test]
fn apply_ignores_words_in_comments() {
    let text = "a: 1\n  # see (quay.io/example/network)\n";
    assert_eq!(resolved(text), text);
}

#[test]
fn apply_of_text_that_is_not_utf8_replaces_placeholders() {
    let nothing = BTreeMap::new();
    let substitution = Substitution::new(&nothing, &nothing, "5.1.0", BTreeMap::new());
    let (out, _) = substitution.apply(b"\xff0.0.1-snapshot\xff");
    assert_eq!(out, b"\xff5.1.0\xff");
}

#[test]
fn wanted_components_returns_every_name() {
    let text = b"0.0.1-snapshot-kubernetes 0.0.1-snapshot 0.0.1-snapshot-cri-o";
    assert_eq!(wanted_components(text).collect::<Vec<_>>(), ["kubernetes", "cri-o"]);
}

/// The images of `apply` that the release has, longest word first.
const WORDS: [(&str, &str); 3] = [
    ("quay.io/example/network:tools", TOOLS),
    ("quay.io/example/storage:v4.0", "r.example/storage@sha256:33"),
    ("quay.io/example/network", NETWORK),
];

static IMAGES: LazyLock<Regex> = LazyLock::new(|| {
    let alternatives = WORDS.map(|(word, _)| regex::escape(word)).join("|");
    Regex::new(&format!(
        r#"(?-u)(?<before>^|[^0-9A-Za-z_])(?<word>{alternatives})(?::[0-9A-Za-z_][0-9A-Za-z_.-]{{0,127}}|@[A-Za-z][0-9A-Za-z]*(?:[+._-][A-Za-z][0-9A-Za-z]*)*:[0-9A-Fa-f]{{2,}})?(?<after>$|[\t\n\f\r "'])"#
    ))
    .unwrap()
});

static VERSIONS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)(?<before>^|[^0-9A-Za-z_])0\.0\.1-snapshot(?<key>[a-z0-9-]*)").unwrap()
});

/// The same patterns as regular expressions, images first.
fn by_regex(text: &str) -> String {
    let image = |found: &Captures<'_>| {
        let word = std::str::from_utf8(&found["word"]).unwrap();
        let value = WORDS.iter().find(|(text, _)| *text == word).unwrap().1;
        [&found["before"], value.as_bytes(), &found["after"]].concat()
    };
    let mut text = text.as_bytes().to_vec();
    // One pass misses an image whose separator belongs to the match before it.
    for _ in 0..2 {
        text = IMAGES.replace_all(&text, image).into_owned();
    }
    let version = |found: &Captures<'_>| {
        let value: &[u8] = match &found["key"] {
            b"" => b"5.1.0",
            b"-kubernetes" => b"1.34.2",
            _ => return found[0].to_vec(),
        };
        [&found["before"], value].concat()
    };
    String::from_utf8(VERSIONS.replace_all(&text, version).into_owned()).unwrap()
}

/// Texts made of pieces of placeholders.
fn pieces() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec![
        "quay.io/example/network",
        "quay.io/example/storage",
        "quay.io/",
        ":tools",
        ":v4.0",
        ":",
        "@",
        "@sha256:00ff",
        "sha256",
        "+b64",
        "0.0.1-snapshot",
        "-kubernetes",
        "-",
        "_",
        ".",
        "/",
        "x",
        "0",
        " ",
        "\n",
        "\"",
        "'",
        ",",
        "=",
        "#",
        "é",
    ]);
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn apply_equals_the_regular_expressions(text in pieces()) {
        prop_assert_eq!(apply(&text).0, by_regex(&text));
    }

    #[test]
    fn apply_of_any_bytes_keeps_what_is_no_placeholder(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let words = map(&[("q", "network")]);
        let nothing = BTreeMap::new();
        let substitution = Substitution::new(&words, &nothing, "5.1.0", BTreeMap::new());
        prop_assert_eq!(substitution.apply(&text).0, text);
    }
}
