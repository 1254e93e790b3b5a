//! Update requests and their withdrawal.

use anyhow::{Context, Result};
use fairway_api::cluster_version::{Release, Update};
use fairway_api::{
    CLUSTER_VERSION_NAME as NAME, ClusterVersion, Conditions as _, OperatorCondition,
};
use fairway_testkit::{TestCluster, objects, wait};
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

use super::{create_cluster_version, document, upgrade};
use crate::refusals;

#[tokio::test(flavor = "multi_thread")]
async fn update_is_requested_and_withdrawn() -> Result<()> {
    check_request_and_withdrawal().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn update_is_requested_and_withdrawn_in_a_real_cluster() -> Result<()> {
    check_request_and_withdrawal().await
}

async fn check_request_and_withdrawal() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    let kubeconfig = cluster.kubeconfig();
    let before = api.get(NAME).await?;

    let tried = upgrade(kubeconfig, &["--to=5.1.1", "--dry-run"]);
    assert!(tried.starts_with("exit code: 4"), "preflights are not supported: {tried}");
    assert_eq!(api.get(NAME).await?.spec, before.spec);

    insta::assert_snapshot!(upgrade(kubeconfig, &["--to=5.2.0"]), @"
    exit code: 3
    ----- stderr -----
    error: 5.2.0 is not recommended for this cluster: SlowDisks (applies)
      caused by: Nodes with slow disks may miss leases. https://example.com/slow-disks
    hint: run `fairway upgrade --include-not-recommended` for details; to accept only these risks for 5.2.0 and request the update, run `fairway upgrade --to=5.2.0 --allow-not-recommended`
    ");
    assert_eq!(api.get(NAME).await?.spec, before.spec);

    let asked = document(kubeconfig, &["--to=5.2.0", "--allow-not-recommended", "--no-wait"])?;
    assert_eq!((&asked["kind"], &asked["action"]), (&json!("UpgradeRequest"), &json!("requested")));
    assert_eq!(asked["accepted"][0]["name"], "SlowDisks");
    let update = desired(&api).await?.context("no request")?;
    assert_eq!(update.image(), Some(&*objects::release("5.2.0").image));
    assert!(update.is_update() && update.accepts("SlowDisks"));

    upgrade(kubeconfig, &["--to=5.1.1", "--no-wait"]);
    let update = desired(&api).await?.context("no request")?;
    assert_eq!(update.version(), Some("5.1.1"));
    assert!(update.accepts("SlowDisks"), "what was accepted stays so");

    let cleared = upgrade(kubeconfig, &["--clear"]);
    insta::assert_snapshot!(cleared, @"
    exit code: 0
    ----- stdout -----
    Cancelled requested upgrade to 5.1.1
    ");
    let update = desired(&api).await?.context("no accepted risks")?;
    assert!(!update.names_a_release() && update.accepts("SlowDisks"));
    Ok(())
}

async fn desired(api: &Api<ClusterVersion>) -> Result<Option<Update>> {
    Ok(api.get(NAME).await?.spec.desired_update)
}

#[tokio::test(flavor = "multi_thread")]
async fn update_request_clears_the_preflight_mode() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    let preflight = Update { mode: Some("Preflight".into()), ..objects::update_to("5.1.1") };
    let patch = json!({ "spec": { "desiredUpdate": preflight } });
    api.patch(NAME, &PatchParams::default(), &Patch::Merge(patch)).await?;
    upgrade(cluster.kubeconfig(), &["--to=5.1.1", "--no-wait"]);
    assert!(desired(&api).await?.is_some_and(|update| update.is_update()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn result_of_the_operator_is_printed() -> Result<()> {
    let refused = OperatorCondition::new("ReleaseAccepted", false)
        .reason("PreconditionChecks")
        .message("It is too early.");
    insta::assert_snapshot!(request_with_reaction(objects::release("5.1.0"), refused).await?, @"
    exit code: 3
    ----- stdout -----
    Requested update to 5.1.1

    The operator refuses the release:

      Reason: PreconditionChecks
      Message: It is too early.

    The request remains, and the operator re-evaluates it when the cluster changes. Withdraw it with
      fairway upgrade --clear
    ----- stderr -----
    Waiting for the operator…
    ");
    let accepted = OperatorCondition::new("ReleaseAccepted", true).reason("PayloadLoaded");
    insta::assert_snapshot!(request_with_reaction(objects::release("5.1.1"), accepted).await?, @"
    exit code: 0
    ----- stdout -----
    Requested update to 5.1.1

    The operator accepted the release and has not started the update yet. Cluster version is 5.1.0
    ----- stderr -----
    Waiting for the operator…
    ");
    Ok(())
}

/// The transcript of a request to which the operator reacts with a condition and a release.
async fn request_with_reaction(release: Release, condition: OperatorCondition) -> Result<String> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    let kubeconfig = cluster.kubeconfig().to_owned();
    let asking = tokio::spawn(async move { upgrade(&kubeconfig, &["--to=5.1.1", "--timeout=2m"]) });
    let mut object = wait::until("the request", || async {
        let object = api.get(NAME).await?;
        Ok(object.spec.desired_update.is_some().then_some(object))
    })
    .await?;
    let generation = object.metadata.generation.context("no generation")?;
    let status = object.status.as_mut().context("no status")?;
    status.observed_generation = generation;
    status.desired = release;
    status.conditions.set(condition, objects::beginning().0);
    api.replace_status(NAME, &PostParams::default(), &object).await?;
    Ok(asking.await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_for_unresponsive_operator_times_out() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    insta::assert_snapshot!(upgrade(cluster.kubeconfig(), &["--to-latest", "--timeout=1s"]), @"
    exit code: 5
    ----- stdout -----
    Requested update to 5.1.1

    The operator has not decided yet.
    The request remains. Show its state with
      fairway upgrade
    ----- stderr -----
    Waiting for the operator…
    ");
    assert!(desired(&api).await?.is_some_and(|update| update.is_update()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_requests_are_refused() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let upgrade = |arguments: &[&str]| upgrade(cluster.kubeconfig(), arguments);
    let printed = [
        upgrade(&["--to=5.1"]),
        upgrade(&["--to=5.1.1", "--to-latest"]),
        upgrade(&["--clear", "--to=5.1.1"]),
        upgrade(&["--force"]),
        upgrade(&["--to-image=release"]),
        upgrade(&["--to-image=registry.example/release:5.1.1"]),
        upgrade(&["--to=5.1.1", "accept", "A"]),
    ];
    insta::assert_snapshot!(refusals(printed), @r#"
    2: error: invalid value '5.1' for '--to <VERSION>': "5.1" is not a semantic version such as 5.1.0 or 5.2.0-rc.1
    2: error: the argument '--to <VERSION>' cannot be used with '--to-latest'

    Usage: fairway upgrade --to <VERSION>
    2: error: the argument '--clear' cannot be used with '--to <VERSION>'

    Usage: fairway upgrade --clear
    2: error: the following required arguments were not provided:
      <--to <VERSION>|--to-image <IMAGE>|--to-latest|--to-multi-arch>

    Usage: fairway upgrade --force <--to <VERSION>|--to-image <IMAGE>|--to-latest|--to-multi-arch>
    2: error: invalid value 'release' for '--to-image <IMAGE>': no registry or repository specified, such as registry.example/releases
    2: error: --to-image: registry.example/release:5.1.1 has a tag, which can change and has no signature; use the digest: @sha256:…
    2: error: the subcommand 'accept' cannot be used with '--to <VERSION>'

    Usage: fairway upgrade [OPTIONS]
           fairway upgrade <COMMAND>
    "#);
    Ok(())
}
