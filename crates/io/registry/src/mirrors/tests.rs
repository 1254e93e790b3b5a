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

/// What is asked, in order.
fn asked(mirrors: &Mirrors, repository: &str) -> Vec<String> {
    let Candidates { mut mirrors, source } = mirrors.candidates(repository);
    mirrors.extend(source.then(|| repository.to_owned()));
    mirrors
}

#[test]
fn the_most_specific_source_counts_alone() {
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
        assert_eq!(asked(&mirrors, repository), [expected, repository]);
    }
    assert_eq!(asked(&mirrors, "quay.test/a"), ["quay.test/a"]);
}

#[test]
fn what_several_objects_say_of_a_source_is_put_together() {
    let source = "quay.example/a";
    let mirrors = read(&[
        set("one", &json!([{"source": source, "mirrors": ["a.test", "b.test", "c.test"]}])),
        policy("two", &json!([{"source": source, "mirrors": ["c.test", "d.test"]}])),
    ]);
    assert_eq!(asked(&mirrors, source), ["a.test", "b.test", "c.test", "d.test", source]);
}

#[test]
fn a_source_that_somebody_forbids_is_not_asked() {
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
fn nobody_is_asked_twice() {
    let mirrors = ["quay.example", "mirror.test", "mirror.test"];
    let mirrors = read(&[set("one", &json!([{"source": "quay.example", "mirrors": mirrors}]))]);
    assert_eq!(asked(&mirrors, "quay.example/a"), ["mirror.test/a", "quay.example/a"]);
}

#[test]
fn what_makes_no_sense_is_passed_over_and_told() {
    let many = vec!["mirror.test"; MOST_MIRRORS + 1];
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
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    ImageDigestMirrorSet one: spec.imageDigestMirrors[0] is ignored: missing field `source`
    ImageDigestMirrorSet one: spec.imageDigestMirrors[1].source is ignored: "https://quay.example" is not a repository
    ImageDigestMirrorSet one: spec.imageDigestMirrors[2].mirrors[0] is ignored: "mirror.test/a:tag" is not a repository
    ImageDigestMirrorSet one: spec.imageDigestMirrors[3] is ignored: unknown variant `Sometimes`, expected `AllowContactingSource` or `NeverContactSource`
    ImageDigestMirrorSet one: spec.imageDigestMirrors[4] is ignored: NeverContactSource has no effect without mirrors
    ImageDigestMirrorSet one: spec.imageDigestMirrors[5].mirrors[32] is ignored: the limit is 32 mirrors for a source
    ImageContentSourcePolicy two: spec.repositoryDigestMirrors[0] is ignored: invalid type: integer `7`, expected an object with a source and its mirrors
    "#);
    assert_eq!(asked(&mirrors, "quay.example/a"), ["mirror.test/a", "quay.example/a"]);
    assert_eq!(asked(&mirrors, "b.example/a"), ["b.example/a"]);
}

#[test]
fn there_is_an_end_of_entries_and_of_problems() {
    let entries = |count: usize| {
        let entry = |number| json!({"source": format!("r{number}.example"), "mirrors": ["m.test"]});
        set("one", &(0..count).map(entry).collect())
    };
    let (mirrors, problems) = Mirrors::read(&[entries(MOST_ENTRIES + 2)]);
    assert_eq!((mirrors.sources.len(), problems.len()), (MOST_ENTRIES, 1));
    let nonsense = set("one", &vec![json!(7); MOST_PROBLEMS + 1].into());
    assert_eq!(Mirrors::read(&[nonsense]).1.len(), MOST_PROBLEMS);
}

proptest::proptest! {
    #[test]
    fn no_name_makes_it_panic(source in "[a-z*.:/é]{0,12}", repository in "[a-z.:/é]{0,12}") {
        let (mirrors, _) = Mirrors::read(&[
            set("one", &json!([{"source": source, "mirrors": ["mirror.test"]}])),
            set("two", &json!([{"source": "*.e", "mirrors": ["mirror.test"]}])),
        ]);
        mirrors.candidates(&repository);
    }
}
