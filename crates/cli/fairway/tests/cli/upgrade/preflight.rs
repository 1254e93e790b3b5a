//! Preflights: request, report and withdrawal.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fairway_api::cluster_version::Update;
use fairway_api::reason::preflight_failed;
use fairway_api::{
    CLUSTER_VERSION_NAME as NAME, ClusterVersion, Conditions as _, OperatorCondition, read,
};
use fairway_findings::record::{self, KEEP_RESULTS};
use fairway_findings::{
    CheckReport, CheckStatus, Document, ExecutionStatus, FORMAT, Finding, Severity,
};
use fairway_sandbox::faults::Fault;
use fairway_testkit::{TestCluster, objects, wait};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use kube::api::{
    Api, ApiResource, DynamicObject, GroupVersionKind, ObjectMeta, Patch, PatchParams, PostParams,
};
use kube::config::{AuthInfo, Kubeconfig};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{create_cluster_version, document, remove_property, upgrade};
use crate::fairway;

const NAMESPACE: &str = "openshift-cluster-version";

/// Preflight conditions of the operator: running, completed, failed.
pub(crate) type PreflightConditions<'a> = [(&'a str, bool, &'a str); 3];

const IDLE: PreflightConditions = [
    ("PreflightRunning", false, "NotRequested"),
    ("PreflightCompleted", false, "NotRequested"),
    ("PreflightFailed", false, "NotRequested"),
];

pub(crate) const CLEAN: PreflightConditions = [
    ("PreflightRunning", true, "Monitoring"),
    ("PreflightCompleted", true, "NoRisksFound"),
    ("PreflightFailed", false, "AsExpected"),
];

/// A cluster at 5.1.0 whose operator supports preflights.
pub(crate) async fn create_idle_cluster(cluster: &TestCluster) -> Result<Api<ClusterVersion>> {
    let api = create_cluster_version(cluster).await?;
    set_conditions(&api, IDLE).await?;
    Ok(api)
}

/// Sets the preflight conditions for the current request.
pub(crate) async fn set_conditions(
    api: &Api<ClusterVersion>,
    conditions: PreflightConditions<'_>,
) -> Result<()> {
    let mut object = api.get(NAME).await?;
    let generation = object.metadata.generation.context("no generation")?;
    let status = object.status.as_mut().context("no status")?;
    status.observed_generation = generation;
    for (type_, holds, reason) in conditions {
        let condition = OperatorCondition::new(type_, holds).reason(reason).message("So it is.");
        status.conditions.set(condition, objects::beginning().0);
    }
    api.replace_status(NAME, &PostParams::default(), &object).await?;
    Ok(())
}

pub(crate) async fn desired(api: &Api<ClusterVersion>) -> Result<Option<Update>> {
    Ok(api.get(NAME).await?.spec.desired_update)
}

/// The result of a preflight of a cluster at 5.1.0.
pub(crate) fn results(version: &str, findings: &[(&str, Severity)]) -> Document {
    let finding = |(name, severity): &(&str, Severity)| Finding {
        name: (*name).to_owned(),
        message: format!("{name} will happen."),
        severity: *severity,
        check: "network".to_owned(),
        ..Finding::default()
    };
    let status = if findings.is_empty() { CheckStatus::Passed } else { CheckStatus::Found };
    let check = CheckReport { name: "network".to_owned(), status, ..CheckReport::default() };
    Document {
        format: FORMAT.to_owned(),
        source_version: "5.1.0".to_owned(),
        target_version: version.to_owned(),
        target_image: objects::release(version).image,
        execution_status: ExecutionStatus::Completed,
        checks: vec![check],
        risks: findings.iter().map(finding).collect(),
        ..Document::default()
    }
}

/// Stores a result as the operator does.
pub(crate) async fn store(cluster: &TestCluster, document: &Document) -> Result<()> {
    let api: Api<ClusterVersion> = Api::all(cluster.client());
    let made = api.get(NAME).await?.metadata.creation_timestamp.context("no time")?.0;
    let mut document = document.clone();
    document.updated = document.updated.or(Some(made));
    for check in &mut document.checks {
        check.ended = check.ended.or(document.updated);
    }
    let document = &document;
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE },
    });
    let params = PatchParams::apply("test").force();
    namespaces.patch(NAMESPACE, &params, &Patch::Apply(namespace)).await?;
    let name = record::name(&document.target_image).context("no digest")?;
    let texts = |key: &str, text: String| Some(BTreeMap::from([(key.to_owned(), text)]));
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            labels: texts(record::LABEL, "true".to_owned()),
            annotations: texts(record::TARGET_IMAGE, document.target_image.clone()),
            ..ObjectMeta::default()
        },
        data: texts(record::COMPLETE, serde_json::to_string(document)?),
        ..ConfigMap::default()
    };
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), NAMESPACE);
    maps.patch(&name, &params, &Patch::Apply(&map)).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn preflight_is_requested_and_withdrawn() -> Result<()> {
    check_request_and_withdrawal().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn preflight_is_requested_and_withdrawn_in_a_real_cluster() -> Result<()> {
    check_request_and_withdrawal().await
}

async fn check_request_and_withdrawal() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_idle_cluster(&cluster).await?;
    let kubeconfig = cluster.kubeconfig();
    upgrade(kubeconfig, &["accept", "SlowDisks"]);
    insta::allow_duplicates! {
        insta::assert_snapshot!(upgrade(kubeconfig, &["--mode=preflight", "--to=5.2.0", "--no-wait"]), @"
        exit code: 0
        ----- stdout -----
        Requested a preflight of 5.2.0

        Show its progress with
          fairway upgrade --status-preflight

        End the preflight with
          fairway upgrade --clear-preflight
        Do not remove only `mode`: the rest of spec.desiredUpdate would start the update.
        ");
    }
    let update = desired(&api).await?.context("no request")?;
    assert_eq!(update.mode, Some("Preflight".into()));
    assert_eq!(update.image(), Some(&*objects::release("5.2.0").image));
    assert!(update.accepts("SlowDisks") && !update.is_update());

    let again = document(kubeconfig, &["--mode=preflight", "--to=5.2.0", "--no-wait"])?;
    assert_eq!(
        (&again["kind"], &again["action"]),
        (&json!("PreflightRequest"), &json!("alreadyRequested"))
    );
    let other = document(kubeconfig, &["--mode=preflight", "--to=5.1.1", "--no-wait"])?;
    assert_eq!(
        (&other["replacedRequest"]["type"], &other["replacedRequest"]["version"]),
        (&json!("preflight"), &json!("5.2.0"))
    );

    let tried = upgrade(kubeconfig, &["--clear-preflight", "--dry-run"]);
    assert!(tried.contains("nothing changed"), "{tried}");
    assert!(desired(&api).await?.is_some_and(|update| update.mode.is_some()));
    insta::allow_duplicates! {
        insta::assert_snapshot!(upgrade(kubeconfig, &["--clear-preflight", "--keep-results"]), @"
        exit code: 0
        ----- stdout -----
        Withdrew the preflight of 5.1.1; its results are kept
        ");
    }
    let stored = api.get(NAME).await?;
    let kept = stored.metadata.annotations.as_ref().and_then(|all| all.get(KEEP_RESULTS));
    assert_eq!(kept.map(String::as_str), Some("true"));
    let update = stored.spec.desired_update.context("no accepted risks")?;
    assert!(update.accepts("SlowDisks") && !update.names_a_release() && update.mode.is_none());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_without_preflights_gets_no_request() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    let before = api.get(NAME).await?.metadata;
    for arguments in [
        &["--mode=preflight", "--to=5.2.0"][..],
        &["--to-latest", "--dry-run"],
        &["compare", "5.2.0", "--run"],
    ] {
        let answer = upgrade(cluster.kubeconfig(), arguments);
        assert!(answer.starts_with("exit code: 4"), "{answer}");
    }
    insta::assert_snapshot!(upgrade(cluster.kubeconfig(), &["--mode=preflight", "--to=5.2.0"]), @"
    exit code: 4
    ----- stderr -----
    error: the operator of this cluster does not support preflights, and would start an update; nothing changed
    hint: preflights require an operator that sets the condition PreflightRunning of ClusterVersion; run `fairway upgrade --include-not-recommended` to list known risks
    ");
    insta::assert_snapshot!(upgrade(cluster.kubeconfig(), &["--status-preflight"]), @"
    exit code: 4
    ----- stdout -----
    The operator of this cluster does not support preflights: ClusterVersion has no condition PreflightRunning.
    ");
    assert_eq!(api.get(NAME).await?.metadata.resource_version, before.resource_version);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn crd_without_mode_gets_no_request() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_idle_cluster(&cluster).await?;
    remove_property(&cluster, "mode").await?;
    let before = api.get(NAME).await?.metadata;
    let kubeconfig = cluster.kubeconfig();
    let answer = wait::until("the older definition to be served", || async {
        let answer = upgrade(kubeconfig, &["--mode=preflight", "--to=5.2.0", "--no-wait"]);
        if answer.starts_with("exit code: 4") {
            return Ok(Some(answer));
        }
        // The API server still had the other CRD.
        upgrade(kubeconfig, &["--clear-preflight"]);
        Ok(None)
    });
    insta::assert_snapshot!(answer.await?, @"
    exit code: 4
    ----- stderr -----
    error: this cluster does not store the mode of a request, so the request would start an update: its ClusterVersion CRD is too old; nothing changed
    hint: install the current CRD with `fairway crds | kubectl apply -f -`
    ");
    let after = api.get(NAME).await?;
    ensure!(after.spec.desired_update.is_none(), "that would have been an update");
    let dry_run = upgrade(kubeconfig, &["--to=5.2.0", "--dry-run"]);
    assert!(dry_run.starts_with("exit code: 4"), "{dry_run}");
    if cluster.as_sandbox().is_some() {
        assert_eq!(after.metadata.resource_version, before.resource_version);
    }
    assert_eq!(api.get(NAME).await?.metadata.resource_version, after.metadata.resource_version);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn request_with_dropped_mode_is_withdrawn() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_idle_cluster(&cluster).await?;
    let Some(sandbox) = cluster.fault_injection() else { return Ok(()) };
    let late = |time| Fault::delay(time).verb("patch").resource("clusterversions").times(1);
    let faults = sandbox.faults();
    faults.add(late(Duration::ZERO));
    faults.add(late(Duration::from_secs(5)));
    let asking = start(&cluster, &["--mode=preflight", "--to=5.2.0", "--no-wait"])?;
    wait::until("the request after its trial", || async { Ok(faults.is_empty().then_some(())) })
        .await?;
    remove_property(&cluster, "mode").await?;
    insta::assert_snapshot!(finish(asking).await?, @"
    exit code: 4
    error: the API server dropped the mode of the request, and the remaining update request is withdrawn: the installed ClusterVersion CRD is too old
    hint: run `fairway upgrade` to check whether an update has started; install the current CRD with `fairway crds | kubectl apply -f -`
    ");
    assert_eq!(desired(&api).await?, None);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_are_reported_and_accepted() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_idle_cluster(&cluster).await?;
    let kubeconfig = cluster.kubeconfig();
    store(&cluster, &results("5.2.0", &[("DualStack", Severity::Critical)])).await?;
    store(&cluster, &results("5.1.1", &[])).await?;
    upgrade(kubeconfig, &["--mode=preflight", "--to=5.2.0", "--no-wait"]);
    let found = [CLEAN[0], ("PreflightCompleted", true, "RisksFound"), CLEAN[2]];
    set_conditions(&api, found).await?;

    let shown = upgrade(kubeconfig, &["--status-preflight"]);
    assert!(shown.starts_with("exit code: 3"), "{shown}");
    assert!(shown.contains("DualStack: critical, from network"), "{shown}");
    let report = document(kubeconfig, &["--status-preflight"])?;
    assert_eq!(
        (&report["kind"], &report["result"]),
        (&json!("PreflightReport"), &json!("findings"))
    );
    assert_eq!(report["findings"][0]["acceptance"], "notAccepted");
    let other = document(kubeconfig, &["--status-preflight", "--to=5.1.1"])?;
    assert_eq!((&other["result"], &other["phase"]), (&json!("noFindings"), &json!("notRequested")));
    let overview = upgrade(kubeconfig, &[]);
    assert!(overview.contains("Preflight of 5.2.0: So it is."), "{overview}");

    let compared = document(kubeconfig, &["compare", "5.1.1", "5.2.0"])?;
    assert_eq!(compared["kind"], "PreflightComparison");
    let results = compared["targets"].as_array().context("no targets")?;
    let results: Vec<_> = results.iter().map(|target| &target["result"]).collect();
    assert_eq!(results, ["noFindings", "findings"]);

    upgrade(kubeconfig, &["accept", "DualStack"]);
    let mut asking = start(&cluster, &["--status-preflight"])?;
    let mut stderr = BufReader::new(asking.stderr.take().context("no standard error")?);
    let mut line = String::new();
    tokio::task::block_in_place(|| stderr.read_line(&mut line))?;
    assert_eq!(line, "Waiting for the operator…\n", "it has not seen the acceptance");
    set_conditions(&api, found).await?;
    let answer = finish(asking).await?;
    assert!(answer.starts_with("exit code: 0"), "{answer}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn update_after_preflight_requires_a_clean_result() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_idle_cluster(&cluster).await?;
    let kubeconfig = cluster.kubeconfig();
    let ask = || upgrade(kubeconfig, &["--to=5.1.1", "--require-preflight", "--no-wait"]);
    let before = api.get(NAME).await?.metadata.resource_version;
    insta::assert_snapshot!(ask(), @"
    exit code: 4
    ----- stderr -----
    error: cannot request 5.1.1: its preflight has no results
    hint: run `fairway upgrade --mode=preflight --to=5.1.1 --wait`
    ");
    store(&cluster, &results("5.1.1", &[("DualStack", Severity::Warning)])).await?;
    insta::assert_snapshot!(ask(), @"
    exit code: 3
    ----- stderr -----
    error: cannot request 5.1.1: its preflight has unaccepted findings: DualStack
    hint: run `fairway upgrade --status-preflight` for details; resolve the findings, or accept a risk with `fairway upgrade accept NAME`
    ");
    let mut old = results("5.1.1", &[]);
    old.updated = Some(objects::beginning().0);
    store(&cluster, &old).await?;
    assert!(ask().starts_with("exit code: 4"));
    assert_eq!(api.get(NAME).await?.metadata.resource_version, before);

    store(&cluster, &results("5.1.1", &[])).await?;
    let asked = ask();
    assert!(asked.contains("Requested update to 5.1.1"), "{asked}");
    assert!(desired(&api).await?.is_some_and(|update| update.is_update()));
    Ok(())
}

/// Starts a command.
fn start(cluster: &TestCluster, arguments: &[&str]) -> Result<Child> {
    let mut command = fairway();
    command.env("KUBECONFIG", cluster.kubeconfig()).arg("upgrade").args(arguments);
    Ok(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
}

/// The transcript of a started command.
async fn finish(child: Child) -> Result<String> {
    let output = tokio::task::spawn_blocking(|| child.wait_with_output()).await??;
    let code = output.status.code().unwrap_or(-1);
    let (out, err) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    Ok(format!("exit code: {code}\n{out}{err}"))
}

async fn wait_until_requested(api: &Api<ClusterVersion>, version: &str) -> Result<()> {
    wait::until("the request", || async {
        let update = desired(api).await?.unwrap_or_default();
        Ok((update.mode.is_some() && update.version() == Some(version)).then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_ends_with_the_result() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_idle_cluster(&cluster).await?;
    let asking = start(&cluster, &["--mode=preflight", "--to=5.2.0", "--wait=2m"])?;
    wait_until_requested(&api, "5.2.0").await?;
    set_conditions(&api, [("PreflightRunning", true, "Checking"), CLEAN[1], CLEAN[2]]).await?;
    store(&cluster, &results("5.2.0", &[])).await?;
    set_conditions(&api, CLEAN).await?;
    let answer = finish(asking).await?;
    assert!(answer.starts_with("exit code: 0"), "{answer}");
    assert!(answer.contains("no findings"), "{answer}");
    assert!(desired(&api).await?.is_some_and(|update| update.mode.is_some()), "it stands");

    let late = upgrade(cluster.kubeconfig(), &["--mode=preflight", "--to=5.1.1", "--wait=1s"]);
    assert!(late.starts_with("exit code: 5"), "{late}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_request_starts_another_run() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_idle_cluster(&cluster).await?;
    upgrade(cluster.kubeconfig(), &["--mode=preflight", "--to=5.2.0", "--no-wait"]);
    store(&cluster, &results("5.2.0", &[])).await?;
    set_conditions(&api, CLEAN).await?;
    let asking = start(&cluster, &["--mode=preflight", "--to=5.2.0", "--wait=2m"])?;
    wait::until("the withdrawal", || async {
        let object = api.get(NAME).await?;
        let keeps = object.metadata.annotations.unwrap_or_default().contains_key(KEEP_RESULTS);
        let asks = object.spec.desired_update.is_some_and(|update| update.mode.is_some());
        Ok((keeps && !asks).then_some(()))
    })
    .await?;
    set_conditions(&api, IDLE).await?;
    wait_until_requested(&api, "5.2.0").await?;
    set_conditions(&api, CLEAN).await?;
    let answer = finish(asking).await?;
    assert!(answer.starts_with("exit code: 0\nRequested a preflight of 5.2.0 again"), "{answer}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dry_run_leaves_no_request() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_idle_cluster(&cluster).await?;
    let running = start(&cluster, &["--to-latest", "--dry-run", "--wait=2m"])?;
    wait_until_requested(&api, "5.2.0").await?;
    store(&cluster, &results("5.2.0", &[("DualStack", Severity::Critical)])).await?;
    set_conditions(&api, [CLEAN[0], ("PreflightCompleted", true, "RisksFound"), CLEAN[2]]).await?;
    let answer = finish(running).await?;
    assert!(answer.starts_with("exit code: 3"), "{answer}");
    assert!(answer.contains("Ran a preflight of 5.2.0"), "{answer}");
    assert_eq!(desired(&api).await?, None);

    let interrupted = start(&cluster, &["--to=5.2.0", "--dry-run", "--wait=2m"])?;
    wait_until_requested(&api, "5.2.0").await?;
    kill_process(Pid::from_child(&interrupted), Signal::INT)?;
    let answer = finish(interrupted).await?;
    assert!(answer.starts_with("exit code: 1"), "{answer}");
    assert!(answer.contains("interrupted"), "{answer}");
    assert_eq!(desired(&api).await?, None);

    let late = upgrade(cluster.kubeconfig(), &["--to=5.2.0", "--dry-run", "--wait=1s"]);
    assert!(late.starts_with("exit code: 5"), "{late}");
    assert_eq!(desired(&api).await?, None);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dry_run_keeps_requests_of_other_clients() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_idle_cluster(&cluster).await?;
    let kubeconfig = cluster.kubeconfig();
    upgrade(kubeconfig, &["--mode=preflight", "--to=5.2.0", "--no-wait"]);
    store(&cluster, &results("5.2.0", &[])).await?;
    set_conditions(&api, CLEAN).await?;
    let same = upgrade(kubeconfig, &["--to=5.2.0", "--dry-run"]);
    assert!(same.starts_with("exit code: 0"), "{same}");
    assert_eq!(desired(&api).await?.unwrap_or_default().version(), Some("5.2.0"));

    let running = start(&cluster, &["--to=5.1.1", "--dry-run", "--wait=2m"])?;
    wait_until_requested(&api, "5.1.1").await?;
    upgrade(kubeconfig, &["--mode=preflight", "--to=5.2.0", "--no-wait"]);
    let answer = finish(running).await?;
    assert!(answer.starts_with("exit code: 4"), "{answer}");
    assert_eq!(desired(&api).await?.unwrap_or_default().version(), Some("5.2.0"));

    upgrade(kubeconfig, &["--to=5.1.1", "--no-wait"]);
    let waiting = upgrade(kubeconfig, &["--to=5.2.0", "--dry-run"]);
    assert!(waiting.starts_with("exit code: 3"), "{waiting}");
    assert!(desired(&api).await?.is_some_and(|update| update.is_update()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_preflights_run_and_the_request_is_restored() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_idle_cluster(&cluster).await?;
    upgrade(cluster.kubeconfig(), &["--mode=preflight", "--to=5.7.0", "--no-wait"]);
    set_conditions(&api, CLEAN).await?;
    let running = start(&cluster, &["compare", "5.1.1", "5.2.0", "--run", "--wait=2m"])?;
    for version in ["5.1.1", "5.2.0"] {
        wait_until_requested(&api, version).await?;
        store(&cluster, &results(version, &[])).await?;
        set_conditions(&api, CLEAN).await?;
    }
    let answer = finish(running).await?;
    assert!(answer.starts_with("exit code: 0"), "{answer}");
    let restored = desired(&api).await?.unwrap_or_default();
    assert_eq!((restored.version(), restored.mode.is_some()), (Some("5.7.0"), true));
    Ok(())
}

#[test]
fn all_failure_reasons_are_documented() -> Result<()> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/admin/preflight.md");
    let page = std::fs::read_to_string(page)?;
    let missing: Vec<_> = preflight_failed::CONDITION
        .reasons
        .iter()
        .map(|reason| reason.code)
        .filter(|code| !page.contains(&format!("`{code}`")))
        .collect();
    assert!(missing.is_empty(), "docs/admin/preflight.md does not name {missing:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_of_the_cronjob_example_are_sufficient() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_idle_cluster(&cluster).await?;
    store(&cluster, &results("5.2.0", &[("DualStack", Severity::Critical)])).await?;
    let example =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../deploy/examples/preflight-cronjob.yaml");
    let objects: Vec<DynamicObject> =
        read::documents("preflight-cronjob.yaml", &std::fs::read(example)?)?;
    for object in &objects {
        let types = object.types.as_ref().context("no kind")?;
        let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types)?);
        let api: Api<DynamicObject> = match &object.metadata.namespace {
            Some(namespace) => Api::namespaced_with(cluster.client(), namespace, &resource),
            None => Api::all_with(cluster.client(), &resource),
        };
        let name = object.metadata.name.as_deref().context("no name")?;
        api.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(object)).await?;
    }
    let directory = tempfile::tempdir()?;
    let kubeconfig = directory.path().join("kubeconfig");
    let token = token(&cluster, "preflight-nightly").await?;
    let mut config = Kubeconfig::read_from(cluster.kubeconfig())?;
    for user in &mut config.auth_infos {
        user.auth_info =
            Some(AuthInfo { token: Some(token.clone().into()), ..AuthInfo::default() });
    }
    std::fs::write(&kubeconfig, serde_json::to_vec(&config)?)?;

    let cron_job = objects.last().context("no objects")?;
    let container =
        &cron_job.data["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0];
    let arguments: Vec<String> = serde_json::from_value(container["args"].clone())?;
    let mut command = fairway();
    command.env("KUBECONFIG", &kubeconfig).args(arguments);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    wait_until_requested(&api, "5.2.0").await?;
    set_conditions(&api, [CLEAN[0], ("PreflightCompleted", true, "RisksFound"), CLEAN[2]]).await?;
    let answer = finish(running).await?;
    assert!(answer.starts_with("exit code: 3"), "{answer}");
    assert!(answer.contains("DualStack: critical"), "details are missing: {answer}");
    assert_eq!(desired(&api).await?, None);
    Ok(())
}

/// A token of a ServiceAccount that has the name of its namespace.
async fn token(cluster: &TestCluster, account: &str) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), account);
    let params = PostParams::default();
    let made = accounts.create_token_request(account, &params, &TokenRequest::default()).await?;
    Ok(made.status.context("no token")?.token)
}
