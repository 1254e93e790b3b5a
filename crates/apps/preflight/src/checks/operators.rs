//! `operators`: health of ClusterOperators and `MachineConfigPools`.
//!
//! The check reports ClusterOperators that are not available, for which the update would wait
//! (`ClusterOperatorsNotAvailable`), and degraded ones, for which it does not
//! (`ClusterOperatorsDegraded`, for information). It reports `MachineConfigPools` that are paused
//! (`MachineConfigPoolsPaused`), degraded (`MachineConfigPoolsDegraded`) or updating
//! (`MachineConfigPoolsUpdating`, for information). The condition `Upgradeable` is a separate risk
//! (`ClusterOperatorUpgradeable-NAME`).

use fairway_api::reason::cluster_operator::{available, degraded};
use fairway_api::{ClusterOperator, ConditionStatus, Conditions as _};
use fairway_findings::Finding;
use futures::FutureExt as _;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::Value;

use crate::check::{BuiltInResult, NoResult, StatelessCheck};
use crate::cluster::{Cluster, ClusterReadError};
use crate::resources::{CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS};
use crate::wording::{are, explained, listed, message_or_none};

/// The check `operators`.
pub(super) const CHECK: StatelessCheck = StatelessCheck {
    name: "operators",
    watched: &[CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS],
    run: |cluster, _| examine(cluster).boxed(),
};

async fn examine(cluster: &Cluster) -> Result<BuiltInResult, NoResult> {
    let operators: Vec<ClusterOperator> = cluster.all().await?;
    let pools = pools(cluster).await?;
    Ok(evaluate(&operators, &pools).into())
}

/// All pools; none if the cluster does not serve the kind.
async fn pools(cluster: &Cluster) -> Result<Vec<Pool>, ClusterReadError> {
    let mut pools = Vec::new();
    let take = |object| pools.push(Pool::read(&object));
    match cluster.each_of(&MACHINE_CONFIG_POOLS.into(), take).await {
        Ok(()) | Err(ClusterReadError::NotServed(_)) => Ok(pools),
        Err(unread) => Err(unread),
    }
}

fn evaluate(operators: &[ClusterOperator], pools: &[Pool]) -> Vec<Finding> {
    let found = [not_available(operators), in_trouble(operators)];
    found.into_iter().flatten().chain(pool_findings(pools)).collect()
}

/// Names and messages of operators whose condition has, or does not have, a status.
fn with_condition(
    operators: &[ClusterOperator],
    type_: &str,
    counts: impl Fn(Option<&ConditionStatus>) -> bool,
) -> Vec<(String, String)> {
    let render = operators.iter().filter_map(|operator| {
        let condition = operator.status.as_ref().and_then(|status| status.conditions.find(type_));
        counts(condition.map(|condition| &condition.status)).then(|| {
            (operator.name_any(), message_or_none(condition.and_then(|it| it.message.as_deref())))
        })
    });
    render.collect()
}

fn not_available(operators: &[ClusterOperator]) -> Option<Finding> {
    let found = with_condition(operators, available::TYPE, |it| it != Some(&ConditionStatus::True));
    let (first, _) = found.first()?;
    let message = format!(
        "{} not available, and the update would wait for availability: {}.",
        are(found.len(), "cluster operator"),
        explained(&found),
    );
    let remediation =
        format!("Resolve the cause before the update: `kubectl describe clusteroperator {first}`.");
    Some(Finding::critical("ClusterOperatorsNotAvailable", message).remediation(remediation))
}

fn in_trouble(operators: &[ClusterOperator]) -> Option<Finding> {
    let found = with_condition(operators, degraded::TYPE, |it| it == Some(&ConditionStatus::True));
    let (first, _) = found.first()?;
    let message = format!(
        "{} degraded, which does not block the update: {}.",
        are(found.len(), "cluster operator"),
        explained(&found),
    );
    let remediation = format!("Find the cause: `kubectl describe clusteroperator {first}`.");
    Some(Finding::info("ClusterOperatorsDegraded", message).remediation(remediation))
}

/// Relevant fields of a `MachineConfigPool`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Pool {
    name: String,
    paused: bool,
    updating: bool,
    /// Message of the condition `Degraded`, if it is true.
    degraded: Option<String>,
}

impl Pool {
    fn read(object: &DynamicObject) -> Self {
        let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
        let holds = |type_: &str| {
            let mut conditions = conditions.into_iter().flatten();
            conditions.find(|it| it["type"] == type_ && it["status"] == "True")
        };
        Self {
            name: object.name_any(),
            paused: object.data.pointer("/spec/paused") == Some(&Value::Bool(true)),
            updating: holds("Updating").is_some(),
            degraded: holds("Degraded")
                .map(|condition| message_or_none(condition["message"].as_str())),
        }
    }
}

fn pool_findings(pools: &[Pool]) -> impl Iterator<Item = Finding> {
    [degraded(pools), paused(pools), updating(pools)].into_iter().flatten()
}

fn names(pools: &[Pool], counts: impl Fn(&Pool) -> bool) -> Vec<String> {
    pools.iter().filter(|pool| counts(pool)).map(|pool| pool.name.clone()).collect()
}

fn degraded(pools: &[Pool]) -> Option<Finding> {
    let render = |pool: &Pool| Some((pool.name.clone(), pool.degraded.clone()?));
    let found: Vec<(String, String)> = pools.iter().filter_map(render).collect();
    let (first, _) = found.first()?;
    let message = format!(
        "{} degraded, and the update would not update their nodes: {}.",
        are(found.len(), "MachineConfigPool"),
        explained(&found),
    );
    let remediation = format!(
        "Resolve the cause before the update: `kubectl describe machineconfigpool {first}`."
    );
    Some(Finding::critical("MachineConfigPoolsDegraded", message).remediation(remediation))
}

fn paused(pools: &[Pool]) -> Option<Finding> {
    let found = names(pools, |pool| pool.paused);
    let first = found.first()?;
    let message = format!(
        "{} paused. Nodes of paused pools keep their version, fall behind with every update, and \
         get no new certificates: {}.",
        are(found.len(), "MachineConfigPool"),
        listed(&found),
    );
    let remediation = format!(
        "Resume the pool: `kubectl patch machineconfigpool {first} --type=merge -p \
         '{{\"spec\":{{\"paused\":false}}}}'`."
    );
    Some(Finding::warning("MachineConfigPoolsPaused", message).remediation(remediation))
}

fn updating(pools: &[Pool]) -> Option<Finding> {
    let found = names(pools, |pool| pool.updating && !pool.paused);
    let first = found.first()?;
    let message = format!(
        "{} still updating nodes, and the update restarts these nodes again: {}.",
        are(found.len(), "MachineConfigPool"),
        listed(&found),
    );
    let remediation = format!(
        "Wait for the pool: `kubectl wait --for=condition=Updated --timeout=1h \
         machineconfigpool/{first}`."
    );
    Some(Finding::info("MachineConfigPoolsUpdating", message).remediation(remediation))
}

#[cfg(test)]
mod tests {
    use anyhow::Result;
    use fairway_testkit::TestCluster;
    use fairway_testkit::releases::TestRelease;
    use kube::api::DynamicObject;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::create_with_status;
    use crate::testing::{define, render, target};

    fn operator(name: &str, conditions: &Value) -> Value {
        json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
            "metadata": {"name": name}, "spec": {}, "status": {"conditions": conditions},
        })
    }

    fn says(type_: &str, status: &str, message: &str) -> Value {
        json!({
            "type": type_, "status": status, "message": message, "reason": "Test",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    }

    fn pool(name: &str, paused: bool, conditions: &Value) -> Value {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": name}, "spec": {"paused": paused}, "status": {"conditions": conditions},
        })
    }

    fn judged(operators: &[Value], pools: &[Value]) -> Vec<Finding> {
        let operators: Vec<ClusterOperator> =
            operators.iter().map(|it| serde_json::from_value(it.clone()).unwrap()).collect();
        let pools: Vec<Pool> = pools
            .iter()
            .map(|it| Pool::read(&serde_json::from_value::<DynamicObject>(it.clone()).unwrap()))
            .collect();
        evaluate(&operators, &pools)
    }

    fn names(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.name.as_str()).collect()
    }

    #[test]
    fn findings_of_operator_conditions() {
        let good = says("Available", "True", "");
        for (conditions, expected) in [
            (json!([good]), vec![]),
            (json!([]), vec!["ClusterOperatorsNotAvailable"]),
            (json!([says("Available", "Unknown", "")]), vec!["ClusterOperatorsNotAvailable"]),
            (json!([good, says("Degraded", "True", "")]), vec!["ClusterOperatorsDegraded"]),
            (json!([good, says("Degraded", "Unknown", "")]), vec![]),
            (json!([good, says("Upgradeable", "False", "")]), vec![]),
            (json!([good, says("Progressing", "True", "")]), vec![]),
            (
                json!([says("Available", "False", ""), says("Degraded", "True", "")]),
                vec!["ClusterOperatorsNotAvailable", "ClusterOperatorsDegraded"],
            ),
        ] {
            assert_eq!(
                names(&judged(&[operator("a", &conditions)], &[])),
                expected,
                "{conditions}"
            );
        }
    }

    #[test]
    fn findings_of_pools() {
        let is = |type_: &str| json!([says(type_, "True", "")]);
        for (pool, expected) in [
            (pool("a", false, &is("Updated")), vec![]),
            (pool("a", true, &is("Updated")), vec!["MachineConfigPoolsPaused"]),
            (pool("a", true, &is("Updating")), vec!["MachineConfigPoolsPaused"]),
            (pool("a", false, &is("Updating")), vec!["MachineConfigPoolsUpdating"]),
            (pool("a", false, &is("Degraded")), vec!["MachineConfigPoolsDegraded"]),
            (pool("a", false, &json!("rubbish")), vec![]),
        ] {
            assert_eq!(names(&judged(&[], std::slice::from_ref(&pool))), expected, "{pool}");
        }
    }

    #[test]
    fn findings_name_objects_and_remediation() {
        let operators = [
            operator("network", &json!([says("Available", "False", "no gateway answers")])),
            operator(
                "dns",
                &json!([says("Available", "True", ""), says("Degraded", "True", "slow")]),
            ),
        ];
        let pools = [
            pool("worker", true, &json!([])),
            pool("infra", false, &json!([says("Degraded", "True", "node x does not start")])),
            pool("master", false, &json!([says("Updating", "True", "")])),
        ];
        insta::assert_snapshot!(render(&judged(&operators, &pools)), @r#"
        ClusterOperatorsNotAvailable (critical): 1 cluster operator is not available, and the update would wait for availability: network (no gateway answers).
          Resolve the cause before the update: `kubectl describe clusteroperator network`.
        ClusterOperatorsDegraded (info): 1 cluster operator is degraded, which does not block the update: dns (slow).
          Find the cause: `kubectl describe clusteroperator dns`.
        MachineConfigPoolsDegraded (critical): 1 MachineConfigPool is degraded, and the update would not update their nodes: infra (node x does not start).
          Resolve the cause before the update: `kubectl describe machineconfigpool infra`.
        MachineConfigPoolsPaused (warning): 1 MachineConfigPool is paused. Nodes of paused pools keep their version, fall behind with every update, and get no new certificates: worker.
          Resume the pool: `kubectl patch machineconfigpool worker --type=merge -p '{"spec":{"paused":false}}'`.
        MachineConfigPoolsUpdating (info): 1 MachineConfigPool is still updating nodes, and the update restarts these nodes again: master.
          Wait for the pool: `kubectl wait --for=condition=Updated --timeout=1h machineconfigpool/master`.
        "#);
    }

    #[tokio::test]
    async fn run_reads_operators_of_cluster() -> Result<()> {
        let cluster = TestCluster::shared().await?;
        let client = cluster.client();
        let reader = Cluster::new(client.clone());
        let unread =
            (CHECK.run)(&reader, &target("5.0.0", &TestRelease::new("5.1.0"))?).await.unwrap_err();
        assert!(matches!(unread, NoResult::Unreadable(ClusterReadError::NotServed(_))), "{unread}");
        cluster.install_crds().await?;
        create_with_status(&client, &operator("network", &json!([says("Available", "False", "")])))
            .await?;
        let answer = (CHECK.run)(&reader, &target("5.0.0", &TestRelease::new("5.1.0"))?).await?;
        assert_eq!(names(&answer.findings), ["ClusterOperatorsNotAvailable"], "there are no pools");
        define(&cluster, MACHINE_CONFIG_POOLS, "Cluster").await?;
        let mut worker = pool("worker", true, &json!([]));
        worker.as_object_mut().unwrap().remove("status");
        create_with_status(&client, &worker).await?;
        let answer = (CHECK.run)(&reader, &target("5.0.0", &TestRelease::new("5.1.0"))?).await?;
        assert_eq!(
            names(&answer.findings),
            ["ClusterOperatorsNotAvailable", "MachineConfigPoolsPaused"]
        );
        Ok(())
    }
}
