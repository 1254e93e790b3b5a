//! Installation of a real release.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use fairway_api::ClusterOperator;
use fairway_release::Manifest;
use fairway_testkit::real::{
    RealPayload, StubComponents, missing_objects, prepare_cluster, unserved_kinds,
};
use fairway_testkit::{OperatorOptions, Requests, TestCluster, TestOperator, environment, wait};
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

/// How long an installation may take on two busy cores, in an unoptimised build.
const INSTALL_TIMEOUT: Duration = Duration::from_mins(5);

/// The operator's own Deployment: `spec.overrides` excludes it.
const OVERRIDDEN: [&str; 1] =
    [r#"deployment "openshift-cluster-version/cluster-version-operator""#];

/// Kinds that the sandbox does not serve, and no CRD of the release adds.
const NOT_IN_THE_SANDBOX: [&str; 5] = [
    "FlowSchema",
    "ImageStream",
    "PriorityLevelConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];

/// The manifests that cannot be applied: those of unserved kinds, those after them in their component,
/// and those in `spec.overrides`.
fn unappliable(manifests: &[&Manifest], unserved: &BTreeSet<String>) -> BTreeSet<String> {
    let mut blocked = BTreeSet::new();
    let mut unappliable: BTreeSet<String> = OVERRIDDEN.map(str::to_owned).into();
    for manifest in manifests {
        // An object of an unserved kind does not exist, so there is nothing to delete.
        if manifest.annotation("release.openshift.io/delete").is_some() {
            continue;
        }
        // Manifests of one level and component are applied one after the other.
        let row = manifest.file.splitn(4, '_').take(3).collect::<Vec<_>>();
        if blocked.contains(&row) || unserved.contains(&manifest.id.kind) {
            blocked.insert(row);
            // The operator creates these before the first level.
            let is_first = ["ClusterOperator", "CustomResourceDefinition"];
            if !is_first.contains(&manifest.id.kind.as_str()) {
                unappliable.insert(manifest.id.to_string());
            }
        }
    }
    unappliable
}

/// Waits until only the expected objects are missing.
async fn wait_until_only_missing(
    cluster: &TestCluster,
    manifests: &[&Manifest],
    expected: &BTreeSet<String>,
) -> Result<()> {
    let missing = async || -> Result<BTreeSet<String>> {
        let missing = missing_objects(&cluster.client(), manifests).await?;
        Ok(missing.iter().map(|it| it.id.to_string()).collect())
    };
    let installed = wait::until_within(INSTALL_TIMEOUT, "all objects", async || {
        Ok((missing().await? == *expected).then_some(()))
    });
    if installed.await.is_err() {
        let found = missing().await?;
        let missing: Vec<&String> = found.difference(expected).collect();
        let surplus: Vec<&String> = expected.difference(&found).collect();
        bail!("not in the cluster: {missing:#?}\nin the cluster unexpectedly: {surplus:#?}");
    }
    Ok(())
}

/// The ClusterOperators that lack related objects of their manifests.
async fn without_related_objects(
    cluster: &TestCluster,
    manifests: &[&Manifest],
) -> Result<Vec<String>> {
    let api: Api<ClusterOperator> = Api::all(cluster.client());
    let operators = api.list(&ListParams::default()).await?;
    let related = |name: &str| {
        let operator = operators.iter().find(|it| it.name_any() == name);
        operator?.status.as_ref().map(|status| status.related_objects.len())
    };
    let wanted = manifests.iter().filter(|it| it.id.kind == "ClusterOperator").filter_map(|it| {
        let count = it.object().pointer("/status/relatedObjects")?.as_array()?.len();
        Some((it.id.name.clone(), count))
    });
    let incomplete = wanted.filter(|(name, count)| related(name) != Some(*count));
    Ok(incomplete.map(|(name, count)| format!("{name}: {:?} of {count}", related(&name))).collect())
}

/// Installs a release into a cluster of its own.
#[expect(clippy::print_stdout, reason = "the exceptions are listed in the output of the test")]
async fn install(version: &str) -> Result<()> {
    let payloads = environment::payloads().context("FAIRWAY_PAYLOADS")?;
    let payload = RealPayload::unpack(&payloads, version)?;
    let cluster = TestCluster::start().await?;
    prepare_cluster(&cluster, &[&payload], &[]).await?;
    let included = payload.included();
    let unserved = unserved_kinds(&cluster.client(), &included).await;
    // The payload of 4.16 does not have the CRDs of all its kinds.
    if cluster.is_sandbox() && version != "4.16" {
        let unexpected = unserved.iter().filter(|it| !NOT_IN_THE_SANDBOX.contains(&it.as_str()));
        assert_eq!(unexpected.collect::<Vec<_>>(), [] as [&str; 0]);
    }
    let unappliable = unappliable(&included, &unserved);
    println!("{version}: kinds that this API server lacks: {unserved:?}");
    println!("{version}: manifests that are not applied: {unappliable:#?}");
    let log = cluster.audit_log()?;
    let mark = log.mark()?;
    let _components = StubComponents::start(&cluster.client(), &included);
    let options = OperatorOptions::new(&payload.image, &payload.directory());
    let operator = TestOperator::start(cluster, options)?;
    let cluster = &operator.cluster;
    let installed = wait_until_only_missing(cluster, &included, &unappliable).await;
    let text = operator.logs();
    installed.with_context(|| text.clone())?;
    let started = text.lines().filter(|line| line.contains("rollout started")).count();
    assert_eq!(started, 1, "a rollout starts once");
    let unrelated = without_related_objects(cluster, &included).await?;
    assert_eq!(unrelated, [] as [&str; 0], "{text}");
    let requests = Requests::since(&log, mark)?;
    println!("{version}: {requests}");
    let requests = requests.count(|_| true);
    println!("{version}: {requests} requests for {} manifests", included.len());
    if cluster.is_sandbox() {
        // Manifests that cannot be applied are retried, so there is no exact number.
        assert!(requests * 10 <= included.len() * 13, "{requests} requests");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn install_of_real_release_applies_every_manifest_of_served_kinds() -> Result<()> {
    if environment::payloads().is_none() {
        return Ok(());
    }
    // The others take as long, and cover older manifests.
    let is_soak = std::env::var_os(environment::SOAK_ROUNDS).is_some();
    for version in if is_soak { &["5.0", "4.20", "4.16"][..] } else { &["5.0"] } {
        install(version).await?;
    }
    Ok(())
}
