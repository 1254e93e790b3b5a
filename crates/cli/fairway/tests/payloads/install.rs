//! Installing a real release.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use fairway_api::ClusterOperator;
use fairway_release::Manifest;
use fairway_testkit::real::{Components, OperatorProcess, RealPayload, absent, lacking, prepare};
use fairway_testkit::{Requests, TestCluster, environment, wait};
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

/// The manifests that cannot be in place: those of kinds that the cluster lacks, what waits behind
/// them in their component, and what is overridden.
fn impossible(manifests: &[&Manifest], lacking: &BTreeSet<String>) -> BTreeSet<String> {
    let mut blocked = BTreeSet::new();
    let mut impossible: BTreeSet<String> = OVERRIDDEN.map(str::to_owned).into();
    for manifest in manifests {
        // An object of a kind that is not served is gone already.
        if manifest.annotation("release.openshift.io/delete").is_some() {
            continue;
        }
        // Manifests of one level and component are applied one after the other.
        let row = manifest.file.splitn(4, '_').take(3).collect::<Vec<_>>();
        if blocked.contains(&row) || lacking.contains(&manifest.id.kind) {
            blocked.insert(row);
            // These are created before their turn.
            let is_first = ["ClusterOperator", "CustomResourceDefinition"];
            if !is_first.contains(&manifest.id.kind.as_str()) {
                impossible.insert(manifest.id.to_string());
            }
        }
    }
    impossible
}

/// Waits until only the expected objects are absent.
async fn settles(
    cluster: &TestCluster,
    manifests: &[&Manifest],
    expected: &BTreeSet<String>,
) -> Result<()> {
    let absent = async || -> Result<BTreeSet<String>> {
        let absent = absent(&cluster.client(), manifests).await?;
        Ok(absent.iter().map(|it| it.id.to_string()).collect())
    };
    let settled = wait::until_within(INSTALL_TIMEOUT, "all objects", async || {
        Ok((absent().await? == *expected).then_some(()))
    });
    if settled.await.is_err() {
        let found = absent().await?;
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
    let lacking = wanted.filter(|(name, count)| related(name) != Some(*count));
    Ok(lacking.map(|(name, count)| format!("{name}: {:?} of {count}", related(&name))).collect())
}

/// Installs a release into a cluster of its own.
#[expect(clippy::print_stdout, reason = "the exceptions are listed in the output of the test")]
async fn install(version: &str) -> Result<()> {
    let payloads = environment::payloads().context("FAIRWAY_PAYLOADS")?;
    let payload = RealPayload::unpack(&payloads, version)?;
    let cluster = TestCluster::own().await?;
    prepare(&cluster, &[&payload], &[]).await?;
    let included = payload.included();
    let lacking = lacking(&cluster.client(), &included).await;
    // The payload of 4.16 does not have the CRDs of all its kinds.
    if cluster.is_sandbox() && version != "4.16" {
        let unexpected = lacking.iter().filter(|it| !NOT_IN_THE_SANDBOX.contains(&it.as_str()));
        assert_eq!(unexpected.collect::<Vec<_>>(), [] as [&str; 0]);
    }
    let impossible = impossible(&included, &lacking);
    println!("{version}: kinds that this API server lacks: {lacking:?}");
    println!("{version}: manifests that are not applied: {impossible:#?}");
    let log = cluster.audit_log()?;
    let mark = log.mark()?;
    let _components = Components::start(&cluster.client(), &included);
    let layouts = tempfile::tempdir()?;
    let operator = OperatorProcess::start(&cluster, &payload, layouts.path())?;
    let settled = settles(&cluster, &included, &impossible).await;
    let text = operator.log()?;
    settled.with_context(|| text.clone())?;
    let started = text.lines().filter(|line| line.contains("rollout started")).count();
    assert_eq!(started, 1, "a rollout starts once");
    let unrelated = without_related_objects(&cluster, &included).await?;
    assert_eq!(unrelated, [] as [&str; 0], "{text}");
    let requests = Requests::since(&log, mark)?;
    println!("{version}: {requests}");
    let requests = requests.count(|_| true);
    println!("{version}: {requests} requests for {} manifests", included.len());
    if cluster.is_sandbox() {
        // What is in place is applied once; what is not is retried, so there is no exact number.
        assert!(requests * 10 <= included.len() * 13, "{requests} requests");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn install_of_a_real_release_applies_every_manifest_that_the_server_can_have() -> Result<()> {
    if environment::payloads().is_none() {
        return Ok(());
    }
    // The others take as long, and show the same for older manifests.
    let is_soak = std::env::var_os(environment::SOAK_ROUNDS).is_some();
    for version in if is_soak { &["5.0", "4.20", "4.16"][..] } else { &["5.0"] } {
        install(version).await?;
    }
    Ok(())
}
