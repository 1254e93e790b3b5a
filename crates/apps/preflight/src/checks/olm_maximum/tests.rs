//! Operators of a cluster, and a target.

use anyhow::Result;
use fairway_testkit::TestCluster;
use fairway_testkit::releases::TestRelease;
use serde_json::{Value, json};

use super::*;
use crate::installed_operators::PACKAGES;
use crate::resources::CLUSTER_OPERATORS;
use crate::testing::{create, define, seen, target, told};

fn operator(name: &str, metadata: &Value) -> Value {
    let mut operator = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"namespace": "default", "name": name}, "spec": {},
    });
    let extra = metadata.as_object().cloned().unwrap_or_default();
    operator["metadata"].as_object_mut().unwrap().extend(extra);
    operator
}

fn annotated(key: &str, value: &str) -> Value {
    json!({"annotations": {key: value}})
}

const MAXIMUM: &str = "operators.coreos.com/maxOpenShiftVersion";
const PROPERTIES: &str = "operatorframework.io/properties";

#[tokio::test]
async fn operators_are_compared_with_the_target() -> Result<()> {
    let cluster = TestCluster::own().await?;
    let run = async |version: &str| {
        let target = target("4.8.0", &TestRelease::new(version))?;
        anyhow::Ok(OlmMaximum.run(&seen(&cluster), &target).await?)
    };
    let without = run("4.9.0").await.unwrap_err().to_string();
    assert_eq!(without, NO_OLM);

    define(&cluster, OPERATORS, "Namespaced").await?;
    assert_eq!(run("4.9.0").await?, Answer::default(), "a cluster without operators");
    let number = r#"{"properties":[{"type":"olm.maxOpenShiftVersion","value":4.10}]}"#;
    let mut copy = annotated(MAXIMUM, "4.6");
    copy["labels"] = json!({"olm.copiedFrom": "elsewhere"});
    for (name, metadata) in [
        ("low.v1", annotated(MAXIMUM, "4.8")),
        ("number.v1", annotated(PROPERTIES, number)),
        ("silent.v1", json!({})),
        ("wrong.v1", annotated(MAXIMUM, "4.x")),
        ("copy.v1", copy),
    ] {
        create(&cluster, OPERATORS, operator(name, &metadata)).await?;
    }
    assert_eq!(run("4.8.9").await?, Answer::default(), "patches are not held up");
    insta::assert_snapshot!(told(&run("4.9.0").await?.findings), @r#"
    OperatorsWillNotRun (warning): 1 operator will not run on 4.9, according to the declared maximum version: default/low.v1 (up to 4.8; annotation operators.coreos.com/maxOpenShiftVersion).
      Remove these operators before the update, or ask their vendors for versions that support the target
    OperatorsMayNotRun (info): 2 operators may not run on 4.9, because no valid maximum version is declared: default/silent.v1, default/wrong.v1 (failed to parse "4.x" as semver: unexpected character 'x' while parsing minor version number).
      Ask the vendors whether these operators support the target release, or test them on it. This finding does not block the update
    "#);

    define(&cluster, SUBSCRIPTIONS, "Namespaced").await?;
    define(&cluster, PACKAGES, "Namespaced").await?;
    let subscription = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
        "metadata": {"namespace": "default", "name": "low"},
        "spec": {"name": "low", "source": "main", "sourceNamespace": "default",
                 "channel": "stable", "installPlanApproval": "Manual"},
        "status": {"installedCSV": "low.v1"},
    });
    create(&cluster, SUBSCRIPTIONS, subscription).await?;
    // A name that is none keeps nobody from the packages of others.
    let strange = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
        "metadata": {"namespace": "default", "name": "a-strange-one"},
        "spec": {"name": "a/b", "source": "main", "sourceNamespace": "default"},
        "status": {"installedCSV": "wrong.v1"},
    });
    create(&cluster, SUBSCRIPTIONS, strange).await?;
    let package = json!({
        "apiVersion": "packages.operators.coreos.com/v1", "kind": "PackageManifest",
        "metadata": {
            "namespace": "default", "name": "low",
            "labels": {"catalog": "main", "catalog-namespace": "default"},
        },
        "status": {
            "packageName": "low", "catalogSource": "main", "catalogSourceNamespace": "default",
            "channels": [{
                "name": "stable", "currentCSV": "low.v2",
                "currentCSVDesc": {"version": "2.0.0", "annotations": {MAXIMUM: "4.10"}},
                "entries": [{"name": "low.v2", "version": "2.0.0"}, {"name": "low.v1", "version": "1.0.0"}],
            }],
        },
    });
    create(&cluster, PACKAGES, package).await?;
    insta::assert_snapshot!(told(&run("4.10.0").await?.findings), @r#"
    OperatorsWillNotRun (warning): 1 operator will not run on 4.10, according to the declared maximum version: default/low.v1 (up to 4.8; annotation operators.coreos.com/maxOpenShiftVersion).
      Before the update: for default/low.v1, update to low.v2 in channel stable of default/main, which requires manual approval
    OperatorsMayNotRun (info): 2 operators may not run on 4.10, because no valid maximum version is declared: default/silent.v1, default/wrong.v1 (failed to parse "4.x" as semver: unexpected character 'x' while parsing minor version number).
      Ask the vendors whether these operators support the target release, or test them on it. This finding does not block the update
    "#);
    insta::assert_snapshot!(told(&run("4.11.0").await?.findings), @r#"
    OperatorsWillNotRun (warning): 2 operators will not run on 4.11, according to the declared maximum version: default/low.v1 (up to 4.8; annotation operators.coreos.com/maxOpenShiftVersion), default/number.v1 (up to 4.10; annotation operatorframework.io/properties).
      Remove these operators before the update, or ask their vendors for versions that support the target
    OperatorsMayNotRun (info): 2 operators may not run on 4.11, because no valid maximum version is declared: default/silent.v1, default/wrong.v1 (failed to parse "4.x" as semver: unexpected character 'x' while parsing minor version number).
      Ask the vendors whether these operators support the target release, or test them on it. This finding does not block the update
    "#);

    define(&cluster, CLUSTER_OPERATORS, "Cluster").await?;
    let policy = json!({"invalid": "block", "missing": "allow"});
    let component = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": "olm-guard"}, "spec": {},
        "status": {"extension": {"kind": "RiskReport", "policy": policy}},
    });
    create(&cluster, CLUSTER_OPERATORS, component).await?;
    insta::assert_snapshot!(told(&run("4.9.0").await?.findings), @r#"
    OperatorsWillNotRun (warning): 2 operators will not run on 4.9, according to the declared maximum version: default/low.v1 (up to 4.8; annotation operators.coreos.com/maxOpenShiftVersion), default/wrong.v1 (failed to parse "4.x" as semver: unexpected character 'x' while parsing minor version number).
      Before the update: for default/low.v1, update to low.v2 in channel stable of default/main, which requires manual approval
    "#);
    Ok(())
}
