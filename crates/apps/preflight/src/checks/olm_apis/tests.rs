//! Operators of a cluster, and the APIs of a target.

use anyhow::Result;
use fairway_testkit::TestCluster;
use fairway_testkit::releases::TestRelease;
use serde_json::{Value, json};

use super::*;
use crate::testing::{create, define, define_as, seen, target, told};

fn backups(served: &[&str]) -> Value {
    let version = |(index, name): (usize, &&str)| {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        json!({
            "name": name, "served": true, "storage": index == 0,
            "schema": {"openAPIV3Schema": schema},
        })
    };
    let versions: Vec<Value> = served.iter().enumerate().map(version).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "backups.example.dev"},
        "spec": {
            "group": "example.dev", "scope": "Namespaced",
            "names": {"kind": "Backup", "plural": "backups"}, "versions": versions,
        },
    })
}

fn operator(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"namespace": "default", "name": name}, "spec": spec,
    })
}

fn permitting(account: &str, groups: &[&str], resources: &[&str]) -> Value {
    let rules = json!([{"apiGroups": groups, "resources": resources}]);
    let permissions = json!([{"serviceAccountName": account, "rules": rules}]);
    json!({"install": {"spec": {"clusterPermissions": permissions}}})
}

#[tokio::test]
async fn operators_that_use_what_goes_are_found() -> Result<()> {
    let cluster = TestCluster::own().await?;
    let release = TestRelease::new("4.9.0").object("backups", backups(&["v1"]));
    let target = target("4.8.0", &release)?;
    let run = async || anyhow::Ok(OlmApis.run(&seen(&cluster), &target).await?);
    let without = OlmApis.run(&seen(&cluster), &target).await;
    assert!(
        matches!(without, Err(CannotTell::DoesNotApply(_))),
        "a cluster without OLM: {without:?}"
    );

    define(&cluster, OPERATORS, "Namespaced").await?;
    define(&cluster, COUNTS, "Cluster").await?;
    define_as(&cluster, backups(&["v1", "v1beta1"])).await?;
    let required = json!({"customresourcedefinitions": {"required": [
        {"name": "backups.example.dev", "version": "v1beta1", "kind": "Backup"},
    ]}});
    for (name, spec) in [
        ("requires.v1", required),
        ("wild.v1", permitting("wild", &["example.dev"], &["*"])),
        ("elsewhere.v1", permitting("elsewhere", &["apps"], &["*"])),
        ("asks.v1", permitting("asks", &["example.dev"], &["backups"])),
    ] {
        create(&cluster, OPERATORS, operator(name, &spec)).await?;
    }
    insta::assert_snapshot!(told(&run().await?.findings), @"
    OperatorApisMissing (warning): 1 operator may stop working after the update: default/requires.v1: it uses an API that the target does not serve: backups.v1beta1.example.dev (required; replaced by example.dev/v1).
      Update these operators to versions that use the replacement of each API
      https://kubernetes.io/docs/reference/using-api/deprecation-guide/
    OperatorApisUnknown (info): Unknown for 2 operators whether the target release serves all required APIs: default/asks.v1: unknown: it may use backups.v1beta1.example.dev, of which another version remains, default/wild.v1: unknown: its permissions contain the wildcards *.example.dev.
      Ask the vendors of these operators. Fairway can tell only if their permissions name each API instead of using wildcards
    ");

    let count = json!({
        "apiVersion": "apiserver.openshift.io/v1", "kind": "APIRequestCount",
        "metadata": {"name": "backups.v1beta1.example.dev"},
        "status": {"last24h": [{"byNode": [{"byUser": [
            {"username": "system:serviceaccount:default:asks"},
        ]}]}]},
    });
    create(&cluster, COUNTS, count).await?;
    let answer = run().await?;
    insta::assert_snapshot!(told(&answer.findings), @"
    OperatorApisMissing (warning): 2 operators may stop working after the update: default/asks.v1: it uses an API that the target does not serve: backups.v1beta1.example.dev (requested within the last 24 hours; replaced by example.dev/v1), default/requires.v1: it uses an API that the target does not serve: backups.v1beta1.example.dev (required; replaced by example.dev/v1).
      Update these operators to versions that use the replacement of each API
      https://kubernetes.io/docs/reference/using-api/deprecation-guide/
    OperatorApisUnknown (info): Unknown for 1 operator whether the target release serves all required APIs: default/wild.v1: unknown: its permissions contain the wildcards *.example.dev.
      Ask the vendors of these operators. Fairway can tell only if their permissions name each API instead of using wildcards
    ");
    insta::assert_snapshot!(answer.unknown.join("\n"), @"the target release does not declare its Kubernetes version, so only custom resources were compared");
    Ok(())
}
