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
    let not_separate = |word: &str| Reason::NotSeparate { word: word.to_owned() };
    for (text, reason) in [
        ("0.0.1-snapshot-etcd", Reason::NoVersion { component: "etcd".to_owned() }),
        ("0.0.1-snapshot-", Reason::NoVersion { component: String::new() }),
        ("0.0.1-snapshot-kubernetes-", Reason::NoVersion { component: "kubernetes-".to_owned() }),
        ("0.0.1-snapshots", not_separate("0.0.1-snapshots")),
        ("v0.0.1-snapshot", not_separate("0.0.1-snapshot")),
        ("[quay.io/example/network]", not_separate("quay.io/example/network")),
        ("quay.io/example/network:tools,", not_separate("quay.io/example/network:tools")),
        ("quay.io/example/network:", not_separate("quay.io/example/network")),
        ("quay.io/example/network@sha256:0", not_separate("quay.io/example/network")),
        (
            "docker.io/example/gone:v1",
            Reason::NoImage {
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
