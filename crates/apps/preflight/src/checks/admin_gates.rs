//! `admin-gates`: admin gates of the target release that are not acknowledged.
//!
//! A release declares admin gates in its ConfigMap `openshift-config-managed/admin-gates`. The gate
//! `ack-X.Y-NAME` must be acknowledged before a cluster leaves X.Y. The target release may have
//! gates that the running release does not have. Each gate between the version of the cluster and
//! the target that is not acknowledged in `openshift-config/admin-acks` is a finding. Its name is
//! the one of the running operator (`AdminAck-ack-X.Y-NAME`), so that one acceptance covers both.

use std::collections::BTreeMap;

use fairway_api::{Version, VersionChange};
use fairway_findings::Finding;
use fairway_release::Manifest;
use fairway_risk::sources::{AdminGate, ConfigMapData, unacknowledged};
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;

use crate::check::{BuiltInResult, NoResult, StatelessCheck};
use crate::cluster::{Cluster, Part, Resource};
use crate::target::Target;

const CONFIG_MAPS: Resource = Resource::new("", "v1", "ConfigMap", "configmaps");

/// Namespace and name of the ConfigMap with admin gates.
const GATES: (&str, &str) = ("openshift-config-managed", "admin-gates");

/// Namespace and name of the ConfigMap with acknowledgements.
const ACKS: (&str, &str) = ("openshift-config", "admin-acks");

/// Watched resource: a single object, because `ConfigMaps` change often.
const CONFIRMED: Resource = CONFIG_MAPS.only(Part::One(Some(ACKS.0), ACKS.1));

/// Maximum number of gates of a release.
const MAX_GATES: usize = 50;

/// The check `admin-gates`.
pub(super) const CHECK: StatelessCheck = StatelessCheck {
    name: "admin-gates",
    watched: &[CONFIRMED],
    run: |cluster, target| examine(cluster, target).boxed(),
};

async fn examine(cluster: &Cluster, target: &Target) -> Result<BuiltInResult, NoResult> {
    let gates = gates_of(&target.manifests);
    if gates.is_empty() {
        return Ok(BuiltInResult::default());
    }
    let (namespace, name) = ACKS;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client().clone(), namespace);
    let acks = cluster.one(maps, name).await?.and_then(|map| map.data).unwrap_or_default();
    Ok(evaluate(&target.source, &target.version, &gates, &acks).into())
}

/// Admin gates of a release.
fn gates_of(manifests: &[Manifest]) -> ConfigMapData {
    let is_gates = |manifest: &&Manifest| {
        let id = &manifest.id;
        id.group.is_empty()
            && id.kind == CONFIG_MAPS.kind
            && (id.namespace.as_str(), id.name.as_str()) == GATES
    };
    let object = manifests.iter().rfind(is_gates).map(Manifest::object);
    let data = object.and_then(|mut object| serde_json::from_value(object["data"].take()).ok());
    data.unwrap_or_else(BTreeMap::new)
}

/// Findings for gates between two versions without acknowledgement.
fn evaluate(
    source: &Version,
    target: &Version,
    gates: &ConfigMapData,
    acks: &ConfigMapData,
) -> Vec<Finding> {
    if matches!(VersionChange::between(source, target), VersionChange::Downgrade) {
        return Vec::new();
    }
    let (from, to) = ((source.major(), source.minor()), (target.major(), target.minor()));
    let is_on_the_way = |stream: Option<&str>| {
        stream.and_then(numbers).is_some_and(|stream| from <= stream && stream < to)
    };
    unacknowledged(is_on_the_way, gates, acks).take(MAX_GATES).map(finding).collect()
}

/// Numbers of `X.Y`.
fn numbers(stream: &str) -> Option<(u64, u64)> {
    let (major, minor) = stream.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn finding(gate: AdminGate) -> Finding {
    let AdminGate { name, message, confirm, url } = gate;
    Finding::warning(name, message)
        .remediation(format!("Meet this requirement, then acknowledge it: {confirm}"))
        .url(url.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use anyhow::Result;
    use fairway_testkit::TestCluster;
    use fairway_testkit::releases::TestRelease;
    use serde_json::json;

    use super::*;
    use crate::testing::{create, reader, render, target};

    fn data(pairs: &[(&str, &str)]) -> ConfigMapData {
        pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn unacknowledged_gates_between_versions_are_findings() {
        let gates = data(&[
            ("ack-4.9-before", "x"),
            ("ack-5.0-first", "x"),
            ("ack-5.1-second", "x"),
            ("ack-5.2-later", "x"),
            ("odd", "x"),
        ]);
        for (source, target, acks, expected) in [
            ("5.0.3", "5.0.4", data(&[]), vec![]),
            ("5.0.3", "5.1.0", data(&[]), vec!["AdminAck-ack-5.0-first"]),
            (
                "5.0.3",
                "5.2.0",
                data(&[]),
                vec!["AdminAck-ack-5.0-first", "AdminAck-ack-5.1-second"],
            ),
            ("5.0.3", "5.2.0", data(&[("ack-5.0-first", "true")]), vec!["AdminAck-ack-5.1-second"]),
            ("5.0.3", "5.1.0", data(&[("ack-5.0-first", "yes")]), vec!["AdminAck-ack-5.0-first"]),
            ("5.2.0", "5.0.3", data(&[]), vec![]),
        ] {
            let [source, target] = [source, target].map(|text| Version::parse(text).unwrap());
            let found = evaluate(&source, &target, &gates, &acks);
            let names: Vec<_> = found.iter().map(|finding| finding.name.as_str()).collect();
            assert_eq!(names, expected, "{source} {target} {acks:?}");
        }
    }

    #[tokio::test]
    async fn findings_of_gates_without_acknowledgement() -> Result<()> {
        let cluster = TestCluster::start().await?;
        let namespace = Resource { kind: "Namespace", plural: "namespaces", ..CONFIG_MAPS };
        let config = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ACKS.0}});
        create(&cluster, namespace, config).await?;
        let gates = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": GATES.0, "name": GATES.1},
            "data": {"ack-5.0-certificates": "Renew what was signed with SHA-1, see \
                                              https://docs.example/sha1."},
        });
        let release = TestRelease::new("5.1.0").object("0000_10_gates", gates);
        let target = target("5.0.0", &release)?;
        let run = async || Ok::<_, NoResult>((CHECK.run)(&reader(&cluster), &target).await?);
        insta::assert_snapshot!(render(&run().await?.findings), @r#"
        AdminAck-ack-5.0-certificates (warning): Renew what was signed with SHA-1, see https://docs.example/sha1.
          Meet this requirement, then acknowledge it: kubectl -n openshift-config patch configmap admin-acks --type=merge -p '{"data":{"ack-5.0-certificates":"true"}}'
          https://docs.example/sha1
        "#);

        let acks = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": ACKS.0, "name": ACKS.1},
            "data": {"ack-5.0-certificates": "true"},
        });
        create(&cluster, CONFIG_MAPS, acks).await?;
        assert_eq!(run().await?, BuiltInResult::default());
        Ok(())
    }
}
