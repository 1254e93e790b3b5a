//! `network-type`: whether the target still has the network plugin that the cluster uses.
//!
//! Some plugins are gone from some release on, and a cluster that uses one is cut off when it is
//! updated to that release (`NetworkTypeRemoved`). The check reads `networkType` of the Network
//! `cluster` of `config.openshift.io/v1`; a cluster without that API has none of these plugins.

use fairway_api::Version;
use fairway_findings::Finding;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::api::DynamicObject;

use crate::check::{Answer, BuiltIn, CannotTell};
use crate::cluster::{Cluster, Resource, Unseen};
use crate::target::Target;

/// What the cluster's network is configured to be.
const NETWORKS: Resource = Resource::new("config.openshift.io", "v1", "Network", "networks");

/// Its one object.
const NETWORK: &str = "cluster";

/// Plugins, and the first release without them.
const REMOVED: [(&str, (u64, u64)); 2] = [("Kuryr", (4, 15)), ("OpenShiftSDN", (4, 17))];

/// How a cluster gets the plugin that stays.
const MIGRATION: &str = "Migrate the network to OVN-Kubernetes before the update: kubectl patch \
    networks.config.openshift.io cluster --type=merge -p \
    '{\"metadata\":{\"annotations\":{\"network.openshift.io/network-type-migration\":\"\"}},\
    \"spec\":{\"networkType\":\"OVNKubernetes\"}}', and wait until status.networkType is \
    OVNKubernetes";

/// Whether the target still has the network plugin that the cluster uses.
pub(crate) struct NetworkType;

impl BuiltIn for NetworkType {
    fn name(&self) -> &'static str {
        "network-type"
    }

    fn looks_at(&self) -> &[Resource] {
        &[NETWORKS]
    }

    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Result<Answer, CannotTell>> {
        look(cluster, target).boxed()
    }
}

async fn look(cluster: &Cluster, target: &Target) -> Result<Answer, CannotTell> {
    let mut used = None;
    let take = |network: DynamicObject| {
        if network.metadata.name.as_deref() == Some(NETWORK) {
            used = network_type(&network);
        }
    };
    match cluster.each_of(&NETWORKS.into(), take).await {
        Ok(()) | Err(Unseen::NotServed(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let found = used.and_then(|used| judge(&used, &target.version));
    Ok(Vec::from_iter(found).into())
}

/// What the network is; until that is known, what it is to be.
fn network_type(network: &DynamicObject) -> Option<String> {
    let field = |part: &str| network.data.get(part)?.get("networkType")?.as_str();
    let stated = field("status").filter(|stated| !stated.is_empty());
    stated.or_else(|| field("spec")).map(str::to_owned)
}

/// What a release has against a network plugin.
fn judge(used: &str, target: &Version) -> Option<Finding> {
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
    use crate::testing::{create, define, seen, target, told};

    #[test]
    fn a_plugin_is_gone_from_some_release_on() {
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
            assert_eq!(judge(used, &target).is_some(), is_gone, "{used} {target}");
        }
    }

    #[test]
    fn what_the_network_is_counts_more_than_what_it_is_to_be() {
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
    async fn the_network_of_a_cluster_is_looked_at() -> Result<()> {
        let cluster = TestCluster::own().await?;
        let target = target("4.16.0", &TestRelease::new("4.17.0"))?;
        let run = async || Ok::<_, CannotTell>(NetworkType.run(&seen(&cluster), &target).await?);
        assert_eq!(run().await?, Answer::default(), "a cluster without that API");

        define(&cluster, NETWORKS, "Cluster").await?;
        let network = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "Network",
            "metadata": {"name": "cluster"}, "spec": {"networkType": "OpenShiftSDN"},
        });
        create(&cluster, NETWORKS, network).await?;
        insta::assert_snapshot!(told(&run().await?.findings), @r#"
        NetworkTypeRemoved (critical): The cluster uses the network plugin OpenShiftSDN, which was removed in 4.17: with 4.17.0, pods would have no network.
          Migrate the network to OVN-Kubernetes before the update: kubectl patch networks.config.openshift.io cluster --type=merge -p '{"metadata":{"annotations":{"network.openshift.io/network-type-migration":""}},"spec":{"networkType":"OVNKubernetes"}}', and wait until status.networkType is OVNKubernetes
        "#);
        Ok(())
    }
}
