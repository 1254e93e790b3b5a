//! `olm-apis`: OLM operators that use APIs that the target release does not serve.
//!
//! Removed are the APIs that the target release's Kubernetes removes, and the CRD versions that the
//! target release no longer serves. An operator uses APIs that it owns, requires, has a webhook for
//! or requested in the last 24 hours, and APIs of its permissions if no version of them remains
//! (`OperatorApisMissing`). If permissions have wildcards, or other versions of an API remain, it
//! is unknown (`OperatorApisUnknown`, for information).

use fairway_compat::KubernetesMinor;
use fairway_compat::olm::OlmOperator;
use fairway_compat::olm::apis::{ApiAvailability, ApiRequests, ApiUsage, LostApi};
use fairway_findings::Finding;
use fairway_text::chain;
use futures::FutureExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use kube::api::DynamicObject;

use crate::check::{BuiltInResult, NoResult, StatelessCheck};
use crate::checks::removed_apis::COUNTS;
use crate::cluster::{Cluster, ClusterReadError};
use crate::installed_operators::{InstalledOperators, NO_OLM, OPERATORS};
use crate::resources::{CRDS, CrdChange, crd_changes};
use crate::target::Target;
use crate::wording::{counted, listed, quoted};

const GUIDE: &str = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/";

/// The check `olm-apis`.
pub(super) const CHECK: StatelessCheck = StatelessCheck {
    name: "olm-apis",
    watched: &[OPERATORS, CRDS],
    run: |cluster, target| examine(cluster, target).boxed(),
};

async fn examine(cluster: &Cluster, target: &Target) -> Result<BuiltInResult, NoResult> {
    let operators = match InstalledOperators::declaring(cluster).await {
        Ok(operators) => operators,
        Err(ClusterReadError::NotServed(_)) => {
            return Err(NoResult::DoesNotApply(NO_OLM.to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    let kubernetes =
        target.content.image_references.component("kubernetes").and_then(KubernetesMinor::parse);
    let mut unknown = Vec::new();
    if kubernetes.is_none() && !operators.is_empty() {
        unknown.push(
            "the target release does not declare its Kubernetes version, so only custom resources \
             were compared"
                .to_owned(),
        );
    }
    let lost = removed_apis(cluster, target, kubernetes).await?;
    let requests = match requests(cluster).await {
        Ok(requests) => requests,
        Err(ClusterReadError::NotServed(_)) => ApiRequests::default(),
        Err(why) => {
            unknown.push(quoted(&chain(&why)));
            ApiRequests::default()
        }
    };
    let mut outlooks = Vec::new();
    for operator in operators {
        let csv = cluster.one_of(&OPERATORS.into(), &operator.namespace, &operator.name).await?;
        let Some(csv) = csv else { continue };
        let needs = ApiUsage::read(&serde_json::to_value(csv).unwrap_or_default());
        let needs = needs.with_requests(&requests);
        outlooks.push((operator, ApiAvailability::new(&needs, &lost)));
    }
    Ok(BuiltInResult { findings: evaluate(&outlooks), unknown, not_covered: String::new() })
}

/// Clients of APIs in the last 24 hours.
async fn requests(cluster: &Cluster) -> Result<ApiRequests, ClusterReadError> {
    let mut requests = ApiRequests::default();
    let take =
        |count: DynamicObject| requests.add(&serde_json::to_value(count).unwrap_or_default());
    cluster.each_of(&COUNTS.into(), take).await?;
    Ok(requests)
}

/// Findings for all operators.
fn evaluate(outlooks: &[(OlmOperator, ApiAvailability)]) -> Vec<Finding> {
    let render = |is_it: fn(&ApiAvailability) -> bool| -> Vec<String> {
        let those = outlooks.iter().filter(|(_, outlook)| is_it(outlook));
        those.map(|(operator, outlook)| format!("{operator}: {outlook}")).collect()
    };
    let missing = render(|outlook| matches!(outlook, ApiAvailability::Missing(_)));
    let unknown = render(|outlook| matches!(outlook, ApiAvailability::CannotTell { .. }));
    let mut findings = Vec::new();
    if !missing.is_empty() {
        let message = format!(
            "{} may stop working after the update: {}.",
            counted(missing.len(), "operator"),
            listed(&missing)
        );
        let remediation = "Update these operators to versions that use the replacement of each API";
        let finding = Finding::warning("OperatorApisMissing", message);
        findings.push(finding.remediation(remediation).url(GUIDE));
    }
    if !unknown.is_empty() {
        let message = format!(
            "For {}, it is unknown whether the target release serves all required APIs: {}.",
            counted(unknown.len(), "operator"),
            listed(&unknown)
        );
        let remediation = "Ask the vendors of these operators. Fairway can determine this only if \
                           their permissions name each API instead of using wildcards";
        findings.push(Finding::info("OperatorApisUnknown", message).remediation(remediation));
    }
    findings
}

/// Lower bound of Kubernetes versions. APIs that the cluster does not serve are filtered
/// separately.
const FIRST_VERSION: KubernetesMinor = KubernetesMinor { major: 0, minor: 0 };

/// All APIs that the cluster serves and the target release does not.
async fn removed_apis(
    cluster: &Cluster,
    target: &Target,
    kubernetes: Option<KubernetesMinor>,
) -> Result<Vec<LostApi>, ClusterReadError> {
    let served = cluster.served().await?;
    let gone =
        kubernetes.map_or_else(Vec::new, |it| LostApi::between(FIRST_VERSION, it)).into_iter();
    let mut lost: Vec<LostApi> =
        gone.filter(|it| served.contains(&format!("{}/{}", it.group, it.version))).collect();
    let crd_changes = crd_changes(&target.manifests);
    let take = |now: CustomResourceDefinition| {
        if let Some(change) = crd_changes.get(&now.name_any()) {
            lost.extend(removed_versions(&now, change));
        }
    };
    cluster.each(take).await?;
    Ok(lost)
}

/// Versions that the CRD of the cluster serves and that of the target release does not.
fn removed_versions(now: &CustomResourceDefinition, change: &CrdChange) -> Vec<LostApi> {
    let retained: Vec<&str> = match change {
        CrdChange::Deleted => Vec::new(),
        CrdChange::Defined(target) => {
            let served = target.spec.versions.iter().filter(|version| version.served);
            served.map(|version| version.name.as_str()).collect()
        }
    };
    let spec = &now.spec;
    let served = spec.versions.iter().filter(|version| version.served);
    let gone = served.filter(|version| !retained.contains(&version.name.as_str()));
    let lost = gone.map(|version| LostApi {
        group: spec.group.clone(),
        version: version.name.clone(),
        resource: spec.names.plural.clone(),
        kind: spec.names.kind.clone(),
        instead: retained.last().map(|retained| format!("{}/{retained}", spec.group)),
    });
    lost.collect()
}

#[cfg(test)]
mod tests {
    use anyhow::Result;
    use fairway_testkit::TestCluster;
    use fairway_testkit::releases::TestRelease;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{create, define, define_as, reader, render, target};

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
    async fn run_finds_operators_with_removed_apis() -> Result<()> {
        let cluster = TestCluster::start().await?;
        let release = TestRelease::new("4.9.0").object("backups", backups(&["v1"]));
        let target = target("4.8.0", &release)?;
        let run = async || anyhow::Ok((CHECK.run)(&reader(&cluster), &target).await?);
        let without = (CHECK.run)(&reader(&cluster), &target).await;
        assert!(
            matches!(without, Err(NoResult::DoesNotApply(_))),
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
        insta::assert_snapshot!(render(&run().await?.findings), @"
        OperatorApisMissing (warning): 1 operator may stop working after the update: default/requires.v1: it uses an API that the target does not serve: backups.v1beta1.example.dev (required; replaced by example.dev/v1).
          Update these operators to versions that use the replacement of each API
          https://kubernetes.io/docs/reference/using-api/deprecation-guide/
        OperatorApisUnknown (info): For 2 operators, it is unknown whether the target release serves all required APIs: default/asks.v1: unknown: it may use backups.v1beta1.example.dev, which the target serves only in another version, default/wild.v1: unknown: its permissions contain the wildcards *.example.dev.
          Ask the vendors of these operators. Fairway can determine this only if their permissions name each API instead of using wildcards
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
        insta::assert_snapshot!(render(&answer.findings), @"
        OperatorApisMissing (warning): 2 operators may stop working after the update: default/asks.v1: it uses an API that the target does not serve: backups.v1beta1.example.dev (requested within the last 24 hours; replaced by example.dev/v1), default/requires.v1: it uses an API that the target does not serve: backups.v1beta1.example.dev (required; replaced by example.dev/v1).
          Update these operators to versions that use the replacement of each API
          https://kubernetes.io/docs/reference/using-api/deprecation-guide/
        OperatorApisUnknown (info): For 1 operator, it is unknown whether the target release serves all required APIs: default/wild.v1: unknown: its permissions contain the wildcards *.example.dev.
          Ask the vendors of these operators. Fairway can determine this only if their permissions name each API instead of using wildcards
        ");
        insta::assert_snapshot!(answer.unknown.join("\n"), @"the target release does not declare its Kubernetes version, so only custom resources were compared");
        Ok(())
    }
}
