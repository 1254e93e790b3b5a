//! `network-type`: support of the cluster's network plugin in the target release.
//!
//! Some network plugins are removed in a release. A cluster that uses one loses its network with
//! the update (`NetworkTypeRemoved`). The check reads `networkType` of the Network `cluster` of
//! `config.openshift.io/v1`. A cluster without that API has none of these plugins.

use fairway_api::Version;
use fairway_findings::Finding;
use futures::FutureExt as _;
use kube::api::DynamicObject;

use crate::check::{BuiltInResult, NoResult, StatelessCheck};
use crate::cluster::{Cluster, ClusterReadError, Resource};
use crate::target::Target;

const NETWORKS: Resource = Resource::new("config.openshift.io", "v1", "Network", "networks");

/// Name of the only object.
const NETWORK: &str = "cluster";

/// Network plugins and the first version without them.
const REMOVED: [(&str, (u64, u64)); 2] = [("Kuryr", (4, 15)), ("OpenShiftSDN", (4, 17))];

/// Remediation.
const MIGRATION: &str = "Migrate the network to OVN-Kubernetes before the update: kubectl patch \
    networks.config.openshift.io cluster --type=merge -p \
    '{\"metadata\":{\"annotations\":{\"network.openshift.io/network-type-migration\":\"\"}},\
    \"spec\":{\"networkType\":\"OVNKubernetes\"}}', and wait until status.networkType is \
    OVNKubernetes";

/// The check `network-type`.
pub(super) const CHECK: StatelessCheck = StatelessCheck {
    name: "network-type",
    watched: &[NETWORKS],
    run: |cluster, target| examine(cluster, target).boxed(),
};

async fn examine(cluster: &Cluster, target: &Target) -> Result<BuiltInResult, NoResult> {
    let mut used = None;
    let take = |network: DynamicObject| {
        if network.metadata.name.as_deref() == Some(NETWORK) {
            used = network_type(&network);
        }
    };
    match cluster.each_of(&NETWORKS.into(), take).await {
        Ok(()) | Err(ClusterReadError::NotServed(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let found = used.and_then(|used| evaluate(&used, &target.version));
    Ok(Vec::from_iter(found).into())
}

/// Network type of the status; before it is set, that of the spec.
fn network_type(network: &DynamicObject) -> Option<String> {
    let field = |part: &str| network.data.get(part)?.get("networkType")?.as_str();
    let stated = field("status").filter(|stated| !stated.is_empty());
    stated.or_else(|| field("spec")).map(str::to_owned)
}

/// Finding for a network plugin that the target version does not have.
fn evaluate(used: &str, target: &Version) -> Option<Finding> {
    let has_gone = |(name, (major, minor)): &&(&str, (u64, u64))| {
        name.eq_ignore_ascii_case(used) && (target.major(), target.minor()) >= (*major, *minor)
    };
    let (name, (major, minor)) = REMOVED.iter().find(has_gone)?;
    let message = format!(
        "The cluster uses the network plugin {name}, which was removed in {major}.{minor}: with \
         {target}, pods would have no network."
    );
    Some(Finding::critical("NetworkTypeRemoved", message).remediation(MIGRATION))
}

#[cfg(test)]
mod tests {
    use anyhow::Result;
    use fairway_testkit::TestCluster;
    use fairway_testkit::releases::TestRelease;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{create, define, reader, render, target};

    #[test]
    fn finding_for_plugin_depends_on_target_version() {
        for (used, target, is_gone) in [
            ("OpenShiftSDN", "4.16.9", false),
            ("OpenShiftSDN", "4.17.0-rc.1", true),
            ("OpenShiftSDN", "5.0.0", true),
            ("openshiftsdn", "4.17.0", true),
            ("Kuryr", "4.14.0", false),
            ("Kuryr", "4.15.0", true),
            ("OVNKubernetes", "5.0.0", false),
            ("Calico", "5.0.0", false),
            ("", "5.0.0", false),
        ] {
            let target = Version::parse(target).unwrap();
            assert_eq!(evaluate(used, &target).is_some(), is_gone, "{used} {target}");
        }
    }

    #[test]
    fn network_type_prefers_status_over_spec() {
        let read = |data: Value| {
            let network = json!({"metadata": {"name": "cluster"}, "spec": data["spec"], "status": data["status"]});
            network_type(&serde_json::from_value(network).unwrap())
        };
        let both = json!({"spec": {"networkType": "A"}, "status": {"networkType": "B"}});
        assert_eq!(read(both).as_deref(), Some("B"));
        let early = json!({"spec": {"networkType": "A"}, "status": {"networkType": ""}});
        assert_eq!(read(early).as_deref(), Some("A"));
        assert_eq!(read(json!({"spec": {"networkType": 7}})), None);
    }

    #[tokio::test]
    async fn run_reads_network_of_cluster() -> Result<()> {
        let cluster = TestCluster::start().await?;
        let target = target("4.16.0", &TestRelease::new("4.17.0"))?;
        let run = async || Ok::<_, NoResult>((CHECK.run)(&reader(&cluster), &target).await?);
        assert_eq!(run().await?, BuiltInResult::default(), "a cluster without that API");

        define(&cluster, NETWORKS, "Cluster").await?;
        let network = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "Network",
            "metadata": {"name": "cluster"}, "spec": {"networkType": "OpenShiftSDN"},
        });
        create(&cluster, NETWORKS, network).await?;
        insta::assert_snapshot!(render(&run().await?.findings), @r#"
        NetworkTypeRemoved (critical): The cluster uses the network plugin OpenShiftSDN, which was removed in 4.17: with 4.17.0, pods would have no network.
          Migrate the network to OVN-Kubernetes before the update: kubectl patch networks.config.openshift.io cluster --type=merge -p '{"metadata":{"annotations":{"network.openshift.io/network-type-migration":""}},"spec":{"networkType":"OVNKubernetes"}}', and wait until status.networkType is OVNKubernetes
        "#);
        Ok(())
    }
}
