use serde_json::json;

use super::*;

fn set(name: &str, entries: &Value) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ImageDigestMirrorSet",
        "metadata": {"name": name}, "spec": {"imageDigestMirrors": entries},
    })
}

fn policy(name: &str, entries: &Value) -> Value {
    json!({
        "apiVersion": "operator.openshift.io/v1alpha1", "kind": "ImageContentSourcePolicy",
        "metadata": {"name": name}, "spec": {"repositoryDigestMirrors": entries},
    })
}

fn read(objects: &[Value]) -> Mirrors {
    let (mirrors, problems) = Mirrors::read(objects);
    assert_eq!(problems, []);
    mirrors
}

/// The repositories in the order in which they are tried.
fn tried(mirrors: &Mirrors, repository: &str) -> Vec<String> {
    let MirrorCandidates { mut mirrors, source } = mirrors.candidates(repository);
    mirrors.extend(source.then(|| repository.to_owned()));
    mirrors
}

#[test]
fn candidates_with_several_sources_uses_most_specific() {
    let mirrors = read(&[
        set(
            "one",
            &json!([
                {"source": "quay.example", "mirrors": ["all.test"]},
                {"source": "quay.example/team", "mirrors": ["team.test:5000/copies"]},
            ]),
        ),
        policy("two", &json!([{"source": "quay.example/team/a", "mirrors": ["a.test/b"]}])),
        set("three", &json!([{"source": "*.example", "mirrors": ["domain.test/mirror"]}])),
    ]);
    for (repository, expected) in [
        ("quay.example/other/a", "all.test/other/a"),
        ("quay.example/team/b", "team.test:5000/copies/b"),
        ("quay.example/team/a", "a.test/b"),
        ("quay.example/team/a/c", "a.test/b/c"),
        ("quay.example/team/ab", "team.test:5000/copies/ab"),
        ("other.example/a", "domain.test/mirror/a"),
    ] {
        assert_eq!(tried(&mirrors, repository), [expected, repository]);
    }
    assert_eq!(tried(&mirrors, "quay.test/a"), ["quay.test/a"]);
}

#[test]
fn read_with_several_objects_merges_mirrors() {
    let source = "quay.example/a";
    let mirrors = read(&[
        set("one", &json!([{"source": source, "mirrors": ["a.test", "b.test", "c.test"]}])),
        policy("two", &json!([{"source": source, "mirrors": ["c.test", "d.test"]}])),
    ]);
    assert_eq!(tried(&mirrors, source), ["a.test", "b.test", "c.test", "d.test", source]);
}

#[test]
fn candidates_with_never_contact_source_excludes_source() {
    let entry = |policy: Option<&str>| {
        let mut entry = json!({"source": "quay.example", "mirrors": ["mirror.test"]});
        if let Some(policy) = policy {
            entry["mirrorSourcePolicy"] = policy.into();
        }
        set("one", &json!([entry]))
    };
    let (never, allow) = (Some("NeverContactSource"), Some("AllowContactingSource"));
    for (objects, source) in [
        (vec![entry(None)], true),
        (vec![entry(allow)], true),
        (vec![entry(never)], false),
        (vec![entry(never), entry(allow)], false),
        (vec![entry(None), entry(never)], false),
    ] {
        assert_eq!(read(&objects).candidates("quay.example/a").source, source, "{objects:?}");
    }
}

#[test]
fn candidates_with_duplicates_are_unique() {
    let mirrors = ["quay.example", "mirror.test", "mirror.test"];
    let mirrors = read(&[set("one", &json!([{"source": "quay.example", "mirrors": mirrors}]))]);
    assert_eq!(tried(&mirrors, "quay.example/a"), ["mirror.test/a", "quay.example/a"]);
}

#[test]
fn read_with_invalid_entries_reports_problems() {
    let many = vec!["mirror.test"; MAX_MIRRORS + 1];
    let (mirrors, problems) = Mirrors::read(&[
        set(
            "one",
            &json!([
                {"mirrors": ["mirror.test"]},
                {"source": "https://quay.example", "mirrors": ["mirror.test"]},
                {"source": "quay.example", "mirrors": ["mirror.test/a:tag", "mirror.test"]},
                {"source": "a.example", "mirrors": ["mirror.test"], "mirrorSourcePolicy": "Sometimes"},
                {"source": "b.example", "mirrorSourcePolicy": "NeverContactSource"},
                {"source": "c.example", "mirrors": many},
                {"source": "d.example"},
            ]),
        ),
        policy("two", &json!([7])),
        policy("three", &json!("text")),
        json!([]),
    ]);
    let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(messages.join("\n"), @r#"
    ImageDigestMirrorSet one: spec.imageDigestMirrors[0] is ignored: missing field `source`
    ImageDigestMirrorSet one: spec.imageDigestMirrors[1].source is ignored: "https://quay.example" is not a repository
    ImageDigestMirrorSet one: spec.imageDigestMirrors[2].mirrors[0] is ignored: "mirror.test/a:tag" is not a repository
    ImageDigestMirrorSet one: spec.imageDigestMirrors[3] is ignored: unknown variant `Sometimes`, expected `AllowContactingSource` or `NeverContactSource`
    ImageDigestMirrorSet one: spec.imageDigestMirrors[4] is ignored: NeverContactSource has no effect without mirrors
    ImageDigestMirrorSet one: spec.imageDigestMirrors[5].mirrors[32] is ignored: the limit is 32 mirrors for a source
    ImageContentSourcePolicy two: spec.repositoryDigestMirrors[0] is ignored: invalid type: integer `7`, expected an object with a source and its mirrors
    "#);
    assert_eq!(tried(&mirrors, "quay.example/a"), ["mirror.test/a", "quay.example/a"]);
    assert_eq!(tried(&mirrors, "b.example/a"), ["b.example/a"]);
}

#[test]
fn read_beyond_limits_ignores_the_rest() {
    let entries = |count: usize| {
        let entry = |number| json!({"source": format!("r{number}.example"), "mirrors": ["m.test"]});
        set("one", &(0..count).map(entry).collect())
    };
    let (mirrors, problems) = Mirrors::read(&[entries(MAX_ENTRIES + 2)]);
    assert_eq!((mirrors.sources.len(), problems.len()), (MAX_ENTRIES, 1));
    let nonsense = set("one", &vec![json!(7); MAX_PROBLEMS + 1].into());
    assert_eq!(Mirrors::read(&[nonsense]).1.len(), MAX_PROBLEMS);
}

#[test]
fn merged_keeps_order_of_lists() {
    let cases: [(&[&str], &str); 7] = [
        (&[], ""),
        (&["a b c"], "a b c"),
        (&["a b c", "c d e"], "a b c d e"),
        (&["c d e", "a b c"], "a b c d e"),
        (&["a b", "c d"], "a b c d"),
        (&["a b", "b a"], "a b"),
        (&["a a b", "a"], "a b"),
    ];
    for (lists, expected) in cases {
        let split = |list: &&str| list.split(' ').map(str::to_owned).collect();
        let lists: Vec<Vec<String>> = lists.iter().map(split).collect();
        assert_eq!(merged(&lists).join(" "), expected, "{lists:?}");
    }
}

#[test]
fn repository_suffix_matches_whole_components() {
    let cases = [
        ("quay.example", "quay.example/a/b", Some("/a/b")),
        ("quay.example/a", "quay.example/a/b", Some("/b")),
        ("quay.example/a/b", "quay.example/a/b", Some("")),
        ("quay.example/a", "quay.example/ab", None),
        ("quay.example", "quay.example.evil/a", None),
        ("quay.example", "quay.example:5000/a", None),
        ("quay.example:5000", "quay.example:5000/a", Some("/a")),
        ("quay.example/a/b", "quay.example/a", None),
        ("*.example", "quay.example/a", Some("/a")),
        ("*.example", "a.quay.example/a", Some("/a")),
        ("*.example", "example/a", None),
        ("*.example", ".example/a", None),
        ("*.example", "quay.example:5000/a", None),
        ("*.example", "quay.test/a.example", None),
    ];
    for (source, repository, expected) in cases {
        assert_eq!(repository_suffix(source, repository), expected, "{source} {repository}");
    }
}

#[test]
fn is_repository_prefix_with_invalid_names_returns_false() {
    let long = format!("quay.example/{}", "a".repeat(MAX_NAME_LENGTH));
    for good in ["quay.example", "QUAY.example/a_b-c/d.e", "127.0.0.1:5000/a", "[::1]:5000/a"] {
        assert!(is_repository_prefix(good) && is_source(good), "{good}");
    }
    for bad in [
        "",
        "/a",
        "quay.example/",
        "quay.example//a",
        "quay.example/../a",
        "quay.example/a:tag",
        "quay.example/a@sha256:1",
        "https://quay.example/a",
        "user:password@quay.example/a",
        "quay.example/A",
        "quay.example/a b",
        "*.quay.example/a",
        "*",
        "*.",
        &long,
    ] {
        assert!(!is_repository_prefix(bad) && !is_source(bad), "{bad}");
    }
    assert!(is_source("*.example") && !is_repository_prefix("*.example"));
    assert!(!is_source("*.example:5000"));
}

proptest::proptest! {
    #[test]
    fn candidates_with_arbitrary_names_never_panics(source in "[a-z*.:/é]{0,12}", repository in "[a-z.:/é]{0,12}") {
        let (mirrors, _) = Mirrors::read(&[
            set("one", &json!([{"source": source, "mirrors": ["mirror.test"]}])),
            set("two", &json!([{"source": "*.e", "mirrors": ["mirror.test"]}])),
        ]);
        mirrors.candidates(&repository);
    }
}
