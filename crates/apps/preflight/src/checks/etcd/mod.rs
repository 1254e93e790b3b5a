//! `etcd`: whether the store of the cluster survives the loss of a member.
//!
//! While control-plane nodes are updated, one member of etcd after the other is away. The check
//! counts the pods of etcd, in the namespace `openshift-etcd` and with the label `app=etcd`, and
//! those of them that are ready: with one less than that, more than half of all have to be left, or
//! the cluster loses its API during the update (`EtcdQuorumAtRisk`). A single member is away in any
//! case, and nothing is said about it. A cluster without the ClusterOperator `etcd` keeps its store
//! elsewhere, and the check is skipped.

use fairway_api::ClusterOperator;
use fairway_findings::{Finding, Severity};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt as _};

use crate::check::{Answer, BuiltIn, CannotTell};
use crate::cluster::{Cluster, Part, Resource};
use crate::pods;
use crate::resources::{CLUSTER_OPERATORS, PODS};
use crate::target::Target;
use crate::wording::listed;

/// Where the members are, and how they are found there.
const NAMESPACE: &str = "openshift-etcd";
const LABEL: &str = "app=etcd";

/// All pods that are looked at: those of others come and go.
const MEMBERS: Resource = PODS.only(Part::Namespace(NAMESPACE));

/// Who manages them.
const OPERATOR: Resource = CLUSTER_OPERATORS.only(Part::One(None, "etcd"));

/// Whether the store of the cluster survives the loss of a member.
pub(crate) struct Etcd;

impl BuiltIn for Etcd {
    fn name(&self) -> &'static str {
        "etcd"
    }

    fn looks_at(&self) -> &[Resource] {
        &[OPERATOR, MEMBERS]
    }

    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        _target: &'a Target,
    ) -> BoxFuture<'a, Result<Answer, CannotTell>> {
        look(cluster).boxed()
    }
}

async fn look(cluster: &Cluster) -> Result<Answer, CannotTell> {
    let operators: Api<ClusterOperator> = Api::all(cluster.client().clone());
    if cluster.one(operators, "etcd").await?.is_none() {
        let why =
            "etcd is managed outside of this cluster: the cluster has no ClusterOperator etcd";
        return Err(CannotTell::DoesNotApply(why.to_owned()));
    }
    let pods: Api<Pod> = Api::namespaced(cluster.client().clone(), NAMESPACE);
    let members = cluster.labelled(pods, LABEL).await?;
    if members.is_empty() {
        let why = format!("no pod in namespace {NAMESPACE} has the label {LABEL}");
        return Err(CannotTell::NotKnown(why));
    }
    Ok(judge(&members).into_iter().collect::<Vec<_>>().into())
}

fn judge(members: &[Pod]) -> Option<Finding> {
    let all = members.len();
    let unhealthy: Vec<String> = members
        .iter()
        .filter(|member| !pods::is_ready(member))
        .map(|member| {
            let node = member.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            format!("{} on {}", member.name_any(), node.unwrap_or("no node"))
        })
        .collect();
    let healthy = all - unhealthy.len();
    let quorum = all / 2 + 1;
    if all == 1 || healthy > quorum {
        return None;
    }
    let why = if unhealthy.is_empty() {
        "With so few members, etcd cannot lose any".to_owned()
    } else {
        format!("Not ready: {}", listed(&unhealthy))
    };
    Some(Finding {
        name: "EtcdQuorumAtRisk".to_owned(),
        message: format!(
            "{healthy} of {all} etcd members are ready, and quorum needs {quorum}: when the \
             update restarts a member, the Kubernetes API becomes unavailable. {why}."
        ),
        severity: Severity::Critical,
        remediation: format!(
            "Restore all members before the update. Inspect them with `kubectl -n {NAMESPACE} get \
             pods -l {LABEL} -o wide` and `kubectl describe clusteroperator etcd`."
        ),
        ..Finding::default()
    })
}

#[cfg(test)]
mod tests;
