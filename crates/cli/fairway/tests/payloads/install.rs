//! Installing a real release.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use fairway_release::Manifest;
use fairway_testkit::real::{Components, OperatorProcess, RealPayload, absent, lacking, prepare};
use fairway_testkit::{TestCluster, environment, wait};

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

#[tokio::test(flavor = "multi_thread")]
async fn install_of_a_real_release_applies_every_manifest_that_the_server_can_have() -> Result<()> {
    let Some(payloads) = environment::payloads() else { return Ok(()) };
    let payload = RealPayload::unpack(&payloads, "5.0")?;
    let cluster = TestCluster::own().await?;
    prepare(&cluster, &[&payload], &[]).await?;
    let included = payload.included();
    let lacking = lacking(&cluster.client(), &included).await;
    if cluster.is_sandbox() {
        assert!(lacking.iter().eq(NOT_IN_THE_SANDBOX), "{lacking:?}");
    }
    println!("not served by this API server: {lacking:?}");
    let _components = Components::start(&cluster.client(), &included);
    let layouts = tempfile::tempdir()?;
    let operator = OperatorProcess::start(&cluster, &payload, layouts.path())?;
    let settled = settles(&cluster, &included, &impossible(&included, &lacking)).await;
    let log = operator.log()?;
    settled.with_context(|| log.clone())?;
    let begun = log.lines().filter(|line| line.contains("a release begins")).count();
    assert_eq!(begun, 1, "a rollout begins once");
    let failed: Vec<&str> = log.lines().filter(|line| line.contains("relatedObjects")).collect();
    assert_eq!(failed, [] as [&str; 0]);
    Ok(())
}
