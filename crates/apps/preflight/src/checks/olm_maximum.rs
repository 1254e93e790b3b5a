//! `olm-maximum`: OLM operators that declare a maximum version below the target.
//!
//! Such operators are reported by `OperatorsWillNotRun`, with the nearest version of each that
//! supports the target. Operators that declare nothing or an invalid version are unknown
//! (`OperatorsMayNotRun`, for information), unless the policy of the OLM guard treats them as
//! unsupported. The check does nothing for updates within a minor version.

use fairway_api::ClusterOperator;
use fairway_compat::olm::{MaximumVersion, MinorVersion, OlmOperator, OlmPolicy, OperatorVerdict};
use fairway_findings::Finding;
use futures::FutureExt as _;

use crate::check::{BuiltInResult, NoResult, StatelessCheck};
use crate::cluster::{Cluster, ClusterReadError};
use crate::installed_operators::{InstalledOperators, NO_OLM, OPERATORS, SUBSCRIPTIONS};
use crate::target::Target;
use crate::wording::{counted, listed};

/// The check `olm-maximum`.
pub(super) const CHECK: StatelessCheck = StatelessCheck {
    name: "olm-maximum",
    watched: &[OPERATORS, SUBSCRIPTIONS],
    run: |cluster, target| examine(cluster, target).boxed(),
};

async fn examine(cluster: &Cluster, target: &Target) -> Result<BuiltInResult, NoResult> {
    let installed = match InstalledOperators::read(cluster).await {
        Ok(installed) => installed,
        Err(ClusterReadError::NotServed(_)) => {
            return Err(NoResult::DoesNotApply(NO_OLM.to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    let (running, to) =
        (MinorVersion::from_version(&target.source), MinorVersion::from_version(&target.version));
    let findings = evaluate(&installed.operators, policy(cluster).await?, running, to);
    Ok(BuiltInResult { findings, unknown: installed.unknown, not_covered: String::new() })
}

/// Policy of the OLM guard, found by its ClusterOperator; the default without a guard.
async fn policy(cluster: &Cluster) -> Result<OlmPolicy, ClusterReadError> {
    let mut policy = None;
    let take = |component: ClusterOperator| {
        let extension = component.status.and_then(|status| status.extension);
        policy = policy.or(extension.as_ref().and_then(OlmPolicy::from_report));
    };
    match cluster.each(take).await {
        Ok(()) | Err(ClusterReadError::NotServed(_)) => Ok(policy.unwrap_or_default()),
        Err(unread) => Err(unread),
    }
}

/// Findings for all operators.
fn evaluate(
    operators: &[OlmOperator],
    policy: OlmPolicy,
    running: MinorVersion,
    target: MinorVersion,
) -> Vec<Finding> {
    let having = |verdict: OperatorVerdict| -> Vec<&OlmOperator> {
        let has = |it: &&OlmOperator| policy.verdict(&it.declared, running, target) == verdict;
        operators.iter().filter(has).collect()
    };
    let remedy = |operator: &OlmOperator| {
        let way_out = operator.nearest_upgrade(policy, running, target)?;
        Some(format!("for {operator}, {way_out}"))
    };
    let failing = having(OperatorVerdict::WillNotRun);
    let ways_out: Vec<String> = failing.iter().filter_map(|operator| remedy(operator)).collect();
    let found = [
        will_not_run(&failing, &ways_out, target),
        may_not_run(&having(OperatorVerdict::MayNotRun), target),
    ];
    found.into_iter().flatten().collect()
}

fn will_not_run(
    operators: &[&OlmOperator],
    ways_out: &[String],
    target: MinorVersion,
) -> Option<Finding> {
    if operators.is_empty() {
        return None;
    }
    let render: Vec<String> = operators.iter().map(|operator| limit(operator)).collect();
    let message = format!(
        "{} will not run on {target}, according to the declared maximum version: {}.",
        counted(operators.len(), "operator"),
        listed(&render)
    );
    let remediation = match ways_out {
        [] => "Remove these operators before the update, or ask their vendors for versions that \
             support the target"
            .to_owned(),
        _ => format!("Before the update: {}", listed(ways_out)),
    };
    Some(Finding::warning("OperatorsWillNotRun", message).remediation(remediation))
}

fn limit(operator: &OlmOperator) -> String {
    match &operator.declared {
        MaximumVersion::Maximum(maximum, origin) => {
            format!("{operator} (up to {maximum}; {origin})")
        }
        MaximumVersion::Missing => {
            format!("{operator} (no maximum version declared, and the OLM guard requires one)")
        }
        MaximumVersion::Invalid(why) => format!("{operator} ({why})"),
    }
}

fn may_not_run(operators: &[&OlmOperator], target: MinorVersion) -> Option<Finding> {
    if operators.is_empty() {
        return None;
    }
    let render: Vec<String> = operators
        .iter()
        .map(|operator| match &operator.declared {
            MaximumVersion::Invalid(why) => format!("{operator} ({why})"),
            MaximumVersion::Missing | MaximumVersion::Maximum(..) => operator.to_string(),
        })
        .collect();
    let message = format!(
        "{} may not run on {target}, because no valid maximum version is declared: {}.",
        counted(operators.len(), "operator"),
        listed(&render)
    );
    let remediation = "Ask the vendors whether these operators support the target release, or test \
                       them on it. This finding does not block the update";
    Some(Finding::info("OperatorsMayNotRun", message).remediation(remediation))
}

#[cfg(test)]
mod tests {
    use anyhow::Result;
    use fairway_testkit::TestCluster;
    use fairway_testkit::releases::TestRelease;
    use serde_json::{Value, json};

    use super::*;
    use crate::installed_operators::PACKAGES;
    use crate::resources::CLUSTER_OPERATORS;
    use crate::testing::{create, define, reader, render, target};

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
    async fn run_compares_operators_with_target() -> Result<()> {
        let cluster = TestCluster::start().await?;
        let run = async |version: &str| {
            let target = target("4.8.0", &TestRelease::new(version))?;
            anyhow::Ok((CHECK.run)(&reader(&cluster), &target).await?)
        };
        let without = run("4.9.0").await.unwrap_err().to_string();
        assert_eq!(without, NO_OLM);

        define(&cluster, OPERATORS, "Namespaced").await?;
        assert_eq!(run("4.9.0").await?, BuiltInResult::default(), "a cluster without operators");
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
        assert_eq!(run("4.8.9").await?, BuiltInResult::default(), "patches are not held up");
        insta::assert_snapshot!(render(&run("4.9.0").await?.findings), @r#"
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
        // An invalid package name does not affect other packages.
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
        insta::assert_snapshot!(render(&run("4.10.0").await?.findings), @r#"
        OperatorsWillNotRun (warning): 1 operator will not run on 4.10, according to the declared maximum version: default/low.v1 (up to 4.8; annotation operators.coreos.com/maxOpenShiftVersion).
          Before the update: for default/low.v1, update to low.v2 in channel stable of default/main, which requires manual approval
        OperatorsMayNotRun (info): 2 operators may not run on 4.10, because no valid maximum version is declared: default/silent.v1, default/wrong.v1 (failed to parse "4.x" as semver: unexpected character 'x' while parsing minor version number).
          Ask the vendors whether these operators support the target release, or test them on it. This finding does not block the update
        "#);
        insta::assert_snapshot!(render(&run("4.11.0").await?.findings), @r#"
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
        insta::assert_snapshot!(render(&run("4.9.0").await?.findings), @r#"
        OperatorsWillNotRun (warning): 2 operators will not run on 4.9, according to the declared maximum version: default/low.v1 (up to 4.8; annotation operators.coreos.com/maxOpenShiftVersion), default/wrong.v1 (failed to parse "4.x" as semver: unexpected character 'x' while parsing minor version number).
          Before the update: for default/low.v1, update to low.v2 in channel stable of default/main, which requires manual approval
        "#);
        Ok(())
    }
}
