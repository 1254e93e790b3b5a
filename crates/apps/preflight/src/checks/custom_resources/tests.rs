//! Comparing by tables, and the whole check against a cluster.

use anyhow::Result;
use fairway_testkit::TestCluster;
use fairway_testkit::releases::TestRelease;
use serde_json::{Value, json};

use super::*;
use crate::testing::{create, define_as, hide, seen, target, told};

const BACKUPS: Resource = Resource::new("example.dev", "v1", "Backup", "backups");

/// A definition with these schemas for the `spec` of each version; the last is the one stored.
fn backups(versions: &[(&str, Value)]) -> Value {
    let last = versions.len() - 1;
    let version = |(index, (name, spec)): (usize, &(&str, Value))| {
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        json!({
            "name": name, "served": true, "storage": index == last,
            "schema": {"openAPIV3Schema": schema},
        })
    };
    let versions: Vec<Value> = versions.iter().enumerate().map(version).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "backups.example.dev"},
        "spec": {
            "group": "example.dev", "scope": "Cluster",
            "names": {"kind": "Backup", "plural": "backups"}, "versions": versions,
        },
    })
}

fn lenient() -> Value {
    json!({"type": "object", "properties": {
        "schedule": {"type": "string"},
        "keep": {"type": "integer", "minimum": 0},
        "mode": {"type": "string"},
    }})
}

fn strict() -> Value {
    json!({
        "type": "object", "required": ["schedule"],
        "properties": {
            "schedule": {"type": "string", "maxLength": 8},
            "keep": {"type": "integer", "minimum": 1},
            "mode": {"type": "string", "enum": ["full"], "default": "full"},
        },
    })
}

fn compare(now: &Value, target: &Value) -> Option<Comparison> {
    let [now, target] = [now, target].map(|it| serde_json::from_value(it.clone()).unwrap());
    Comparison::new(&now, &target)
}

#[test]
fn only_what_is_refused_from_then_on_counts() {
    let comparison =
        compare(&backups(&[("v1", lenient())]), &backups(&[("v1", strict())])).unwrap();
    for (spec, expected) in [
        (json!({"schedule": "daily", "keep": 3}), None),
        (json!({"schedule": "daily", "gone": {"a": 1}}), None),
        (json!({"schedule": "daily", "mode": null}), None),
        (json!({}), Some("spec.schedule: Required value")),
        (
            json!({"schedule": "daily", "keep": 0}),
            Some(
                "spec.keep: Invalid value: 0: spec.keep in body should be greater than or equal to 1",
            ),
        ),
        (
            json!({"schedule": "daily", "mode": "fast", "keep": 0}),
            Some(
                "spec.keep: Invalid value: 0: spec.keep in body should be greater than or equal to 1; and 1 more",
            ),
        ),
        // Both refuse it, in the same words.
        (json!({"schedule": 7}), None),
    ] {
        let refusal = comparison.refusal(&json!({"metadata": {"name": "a"}, "spec": spec}));
        assert_eq!(refusal.as_deref(), expected, "{spec}");
    }
}

#[test]
fn nothing_is_read_that_stays_as_it_is() {
    let same = backups(&[("v1", lenient())]);
    assert!(compare(&same, &same).is_none());
    let with_another = backups(&[("v2", strict()), ("v1", lenient())]);
    assert!(compare(&same, &with_another).is_none());
    let without_one_in_common = backups(&[("v2", strict())]);
    assert!(compare(&same, &without_one_in_common).is_none());
}

#[test]
fn objects_are_read_as_the_target_stores_them() {
    let now = backups(&[("v1", lenient()), ("v1beta1", lenient())]);
    for (target, version) in [
        (backups(&[("v1beta1", strict()), ("v1", strict())]), "v1"),
        (backups(&[("v1beta1", strict()), ("v2", strict())]), "v1beta1"),
    ] {
        assert_eq!(compare(&now, &target).unwrap().resource.version, version);
    }
}

#[test]
fn rules_are_named_where_they_are_new() {
    let with_rule = |rule: &str| {
        let mut spec = lenient();
        spec["properties"]["keep"]["x-kubernetes-validations"] = json!([{"rule": rule}]);
        backups(&[("v1", spec)])
    };
    let now = with_rule("self < 9");
    assert!(compare(&now, &with_rule("self < 8")).unwrap().has_new_rules);
    assert!(!compare(&now, &backups(&[("v1", lenient())])).unwrap().has_new_rules);
    let seen = Seen { with_new_rules: vec!["backups.example.dev".to_owned()], ..Seen::default() };
    insta::assert_snapshot!(seen.judge().left_out, @"The check did not evaluate new CEL rules of CRDs of the target release: backups.example.dev.");
}

#[test]
fn some_are_named_and_all_are_counted() {
    let comparison =
        compare(&backups(&[("v1", lenient())]), &backups(&[("v1", strict())])).unwrap();
    let mut seen = Seen::default();
    for number in 0..7 {
        let object =
            json!({"metadata": {"name": format!("b{number}"), "namespace": "team"}, "spec": {}});
        seen.add(&serde_json::from_value(object).unwrap(), &comparison);
    }
    insta::assert_snapshot!(told(&seen.judge().findings), @"
    CustomResourcesNotAccepted (critical): The CRDs of the target release do not accept 7 custom resources: Backup team/b0 (spec.schedule: Required value), Backup team/b1 (spec.schedule: Required value), Backup team/b2 (spec.schedule: Required value), Backup team/b3 (spec.schedule: Required value), Backup team/b4 (spec.schedule: Required value) and 2 more. After the update, clients cannot change these objects.
      Before the update, change these objects so that the current and the new CRDs accept them: kubectl edit backups.example.dev b0 -n team
    ");
}

#[tokio::test]
async fn objects_of_a_cluster_are_held_to_the_target_s_schema() -> Result<()> {
    let cluster = TestCluster::own().await?;
    define_as(&cluster, backups(&[("v1", lenient())])).await?;
    let backup = |name: &str, spec: Value| json!({"apiVersion": "example.dev/v1", "kind": "Backup", "metadata": {"name": name}, "spec": spec});
    create(&cluster, BACKUPS, backup("fine", json!({"schedule": "daily"}))).await?;
    let release = TestRelease::new("5.2.0").object("0000_10_backups", backups(&[("v1", strict())]));
    let target = target("5.1.0", &release)?;
    let run = async || Ok::<_, CannotTell>(CustomResources.run(&seen(&cluster), &target).await?);
    assert_eq!(run().await?, Answer::default());
    assert_eq!(CustomResources.looks_also_at(&seen(&cluster), &target).await, [BACKUPS]);
    create(&cluster, BACKUPS, backup("wrong", json!({"keep": 3}))).await?;
    insta::assert_snapshot!(told(&run().await?.findings), @"
    CustomResourcesNotAccepted (critical): The CRDs of the target release do not accept 1 custom resource: Backup wrong (spec.schedule: Required value). After the update, clients cannot change these objects.
      Before the update, change these objects so that the current and the new CRDs accept them: kubectl edit backups.example.dev wrong
    ");
    Ok(())
}

#[tokio::test]
async fn objects_that_cannot_be_read_are_not_fine() -> Result<()> {
    let cluster = TestCluster::own().await?;
    define_as(&cluster, backups(&[("v1", lenient())])).await?;
    let release = TestRelease::new("5.2.0").object("0000_10_backups", backups(&[("v1", strict())]));
    let target = target("5.1.0", &release)?;
    if !hide(&cluster, "backups") {
        return Ok(());
    }
    let Answer { findings, unknown, .. } = CustomResources.run(&seen(&cluster), &target).await?;
    assert_eq!((findings.len(), unknown.len()), (0, 1));
    assert!(unknown[0].starts_with("cannot read backups"), "{unknown:?}");
    Ok(())
}
