//! `fairway upgrade accept`.

use anyhow::{Context, Result};
use fairway_api::cluster_version::Update;
use fairway_api::{CLUSTER_VERSION_NAME as NAME, ClusterVersion};
use fairway_sandbox::faults::Fault;
use fairway_testkit::{TestCluster, objects, wait};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{create_cluster_version, document, remove_property, upgrade};
use crate::refusals;

#[tokio::test(flavor = "multi_thread")]
async fn risk_is_accepted_and_revoked() -> Result<()> {
    check_acceptance().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn risk_is_accepted_and_revoked_in_a_real_cluster() -> Result<()> {
    check_acceptance().await
}

async fn check_acceptance() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    let kubeconfig = cluster.kubeconfig();
    let before = api.get(NAME).await?;

    let tried = upgrade(kubeconfig, &["accept", "SlowDisks", "--dry-run", "--until=2100-01-01"]);
    assert!(tried.contains("nothing changed"), "{tried}");
    assert_eq!(api.get(NAME).await?.spec, before.spec);

    let taken = ["accept", "SlowDisks", "Other", "--reason=they are new", "--for=5.2.x"];
    let taken = document(kubeconfig, &taken)?;
    assert_eq!(taken["kind"], "RiskAcceptance");
    assert_eq!(taken["newlyRecommended"], json!(["5.2.0"]));
    assert_eq!(taken["warnings"].as_array().map(Vec::len), Some(1));
    let stored = api.get(NAME).await?;
    let update = stored.spec.desired_update.clone().context("no names")?;
    assert!(update.accepts("SlowDisks") && update.accepts("Other") && !update.names_a_release());
    let terms = terms(&stored)?;
    assert_eq!(
        (&terms["SlowDisks"]["for"], &terms["SlowDisks"]["reason"]),
        (&"5.2.x".into(), &"they are new".into())
    );
    assert!(
        terms["SlowDisks"]["definition"].is_string() && terms["Other"].get("definition").is_none()
    );

    let report = upgrade(kubeconfig, &["--include-not-recommended"]);
    assert!(report.contains("SlowDisks: applies, accepted\n"), "{report}");
    upgrade(kubeconfig, &["accept", "Other-"]);
    assert!(!api.get(NAME).await?.spec.desired_update.context("no names")?.accepts("Other"));
    upgrade(kubeconfig, &["accept", "--clear"]);
    let cleared = api.get(NAME).await?;
    assert_eq!((cleared.spec, cleared.metadata.annotations), (before.spec, None));
    Ok(())
}

fn terms(stored: &ClusterVersion) -> Result<Value> {
    let annotations = stored.metadata.annotations.as_ref().context("no annotation")?;
    Ok(serde_json::from_str(&annotations["fairway.dev/accepted-risks"])?)
}

#[tokio::test(flavor = "multi_thread")]
async fn accept_keeps_the_requested_update() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    let mut wanted = objects::update_to("5.2.0");
    wanted.mode = Some("Preflight".into());
    let patch = json!({ "spec": { "desiredUpdate": wanted } });
    api.patch(NAME, &PatchParams::default(), &Patch::Merge(patch)).await?;

    upgrade(cluster.kubeconfig(), &["accept", "SlowDisks"]);
    let stored = api.get(NAME).await?.spec.desired_update.context("no request")?;
    assert!(stored.accepts("SlowDisks"));
    assert_eq!(Update { accept_risks: Vec::new(), ..stored }, wanted);
    upgrade(cluster.kubeconfig(), &["accept", "--clear"]);
    assert_eq!(api.get(NAME).await?.spec.desired_update, Some(wanted));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn crd_without_accepted_risks_is_refused_before_the_write() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    remove_property(&cluster, "acceptRisks").await?;
    let before = api.get(NAME).await?;
    let answer = wait::until("the older definition to be served", || async {
        let answer = upgrade(cluster.kubeconfig(), &["accept", "SlowDisks"]);
        Ok(answer.contains("exit code: 4").then_some(answer))
    });
    insta::assert_snapshot!(answer.await?, @"
    exit code: 4
    ----- stderr -----
    error: this cluster does not store accepted risks: its ClusterVersion CRD is too old; nothing changed
    hint: install the current CRD with `fairway crds | kubectl apply -f -`
    ");
    assert_eq!(api.get(NAME).await?.spec, before.spec);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn conflict_is_retried() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let conflict = Fault::refuse(409).verb("patch").resource("clusterversions");
    let Some(sandbox) = cluster.fault_injection() else { return Ok(()) };
    let faults = sandbox.faults();
    faults.add(conflict.clone().times(4));
    let answer = upgrade(cluster.kubeconfig(), &["accept", "SlowDisks"]);
    assert!(answer.starts_with("exit code: 0"), "{answer}");

    faults.add(conflict);
    insta::assert_snapshot!(upgrade(cluster.kubeconfig(), &["accept", "NoisyLogs"]), @"
    exit code: 1
    ----- stderr -----
    error: cannot update ClusterVersion after 5 attempts
      caused by: conflict: another client changed the object each time
    hint: retry; run `kubectl get clusterversion version -o yaml --show-managed-fields` to find the other client
    ");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_acceptances_are_all_stored() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    let at_once = ["First", "Second", "Third"].map(|risk| {
        let kubeconfig = cluster.kubeconfig().to_owned();
        tokio::spawn(async move { upgrade(&kubeconfig, &["accept", risk, "--reason=mine"]) })
    });
    for answer in at_once {
        let answer = answer.await?;
        assert!(answer.starts_with("exit code: 0"), "{answer}");
    }
    let stored = api.get(NAME).await?;
    let names = stored.spec.desired_update.as_ref().map_or(0, |update| update.accept_risks.len());
    assert_eq!((names, terms(&stored)?.as_object().map(serde_json::Map::len)), (3, Some(3)));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_arguments_are_refused() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let upgrade = |arguments: &[&str]| upgrade(cluster.kubeconfig(), arguments);
    let printed = [
        upgrade(&["accept"]),
        upgrade(&["accept", "A", "A-"]),
        upgrade(&["accept", "--clear", "A"]),
        upgrade(&["accept", "A", "--until=soon"]),
        upgrade(&["accept", "A", "--for=latest"]),
        upgrade(&["accept", "A", "--until=2020-01-01"]),
        upgrade(&["--include-not-recommended", "accept", "A"]),
    ];
    insta::assert_snapshot!(refusals(printed), @r#"
    2: error: no risk is named; run `fairway upgrade accept --export` to list the accepted risks
    2: error: A and A- cannot be used together
    2: error: the argument '--clear' cannot be used with '[RISK]...'

    Usage: fairway upgrade accept --clear [RISK]...
    2: error: invalid value 'soon' for '--until <TIME>': not a time such as 2026-12-31, 2026-12-31T18:00:00Z, 12h or 90d
    2: error: invalid value 'latest' for '--for <VERSIONS>': "latest" is not a comparison such as >=5.2.0, <5.4, ~5.2.1, ^5.2.0 or 5.2.x
    2: error: --until: 2020-01-01 is in the past
    2: error: the subcommand 'accept' cannot be used with '--include-not-recommended'

    Usage: fairway upgrade [OPTIONS]
           fairway upgrade <COMMAND>
    "#);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn acceptances_are_exported_and_imported() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let kubeconfig = cluster.kubeconfig();
    upgrade(kubeconfig, &["accept", "SlowDisks", "--reason=replaced soon", "--for=5.2.x"]);
    let as_json = document(kubeconfig, &["accept", "--export"])?;
    assert_eq!(as_json["risks"][0]["for"], "5.2.x");
    let exported = upgrade(kubeconfig, &["accept", "--export"]);
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), exported.split_once("stdout -----\n").context("nothing")?.1)?;
    let import = format!("--import={}", file.path().display());

    let again = document(kubeconfig, &["accept", &import])?;
    assert_eq!(again["unchanged"], json!(["SlowDisks"]));
    upgrade(kubeconfig, &["accept", "--clear"]);
    let accepted = document(kubeconfig, &["accept", &import])?;
    assert_eq!(accepted["accepted"][0]["reason"], "replaced soon");
    assert_eq!(accepted["accepted"][0]["for"], "5.2.x");
    assert_eq!(accepted["newlyRecommended"], json!(["5.2.0"]));
    Ok(())
}
