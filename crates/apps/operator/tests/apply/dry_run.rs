//! What the API server would say to a release: it is asked, and nothing is written.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fairway_example::payload;
use fairway_findings::{CheckReport, CheckStatus, Finding};
use fairway_install::manifests::own_manifests;
use fairway_operator::stage::preflight::dry_run::{Settings, Trial, dry_run};
use fairway_release::inclusion::{DEFAULT_PROFILE, Filter};
use fairway_release::{Manifest, Release};
use fairway_sandbox::faults::Fault;
use fairway_testkit::{AuditEvent, TestCluster, wait};
use serde_json::{Value, json};

use crate::ground::{Ground, manifest};

/// Nobody else needs the API server of a test.
const HASTE: Settings =
    Settings { between: Duration::from_millis(1), pause: Duration::from_millis(1) };

/// A manifest of an object that every cluster gets.
fn for_all(mut object: Value) -> Manifest {
    let include = format!("include.release.openshift.io/{DEFAULT_PROFILE}");
    object["metadata"]["annotations"][include] = json!("true");
    manifest(&object)
}

/// What clusters get that say nothing else.
fn filter() -> Filter {
    Filter { profile: Some(DEFAULT_PROFILE.to_owned()), ..Filter::default() }
}

impl Ground {
    async fn dry_run(&self, manifests: &[Manifest]) -> (CheckReport, Vec<Finding>) {
        self.dry_run_with(manifests, &filter()).await
    }

    async fn dry_run_with(
        &self,
        manifests: &[Manifest],
        filter: &Filter,
    ) -> (CheckReport, Vec<Finding>) {
        let trial = Trial { version: "5.1.0", manifests, filter, context: &self.context };
        dry_run(self.cluster.client(), &trial, HASTE, |_, _| {}).await
    }

    /// The same, and the writes that it asked the API server for.
    async fn audited_dry_run(
        &self,
        manifests: &[Manifest],
    ) -> Result<(CheckReport, Vec<Finding>, Vec<AuditEvent>)> {
        let user_agent = format!("dry-run-in-{}", self.namespace.name());
        let client = self.cluster.client_named(&user_agent).await?;
        let log = self.cluster.audit_log()?;
        let mark = log.mark()?;
        let trial =
            Trial { version: "5.1.0", manifests, filter: &filter(), context: &self.context };
        let (report, findings) = dry_run(client, &trial, HASTE, |_, _| {}).await;
        let is_ours = |event: &AuditEvent| event.user_agent == user_agent && event.is_write();
        Ok((report, findings, log.since(mark)?.into_iter().filter(is_ours).collect()))
    }

    fn job(&self, image: &str) -> Value {
        json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "once", "namespace": self.namespace.name()},
            "spec": {"suspend": true, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": image}],
            }}},
        })
    }

    /// An object that no server can merge.
    fn repeating(&self) -> Value {
        let twice = [json!({"name": "A", "value": "1"}), json!({"name": "A", "value": "2"})];
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "repeating", "namespace": self.namespace.name()},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "a"}},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"containers": [{"name": "c", "image": "i", "env": twice}]},
                },
            },
        })
    }
}

fn annotated(mut object: Value, annotation: &str) -> Value {
    object["metadata"]["annotations"][annotation] = json!("true");
    object
}

#[tokio::test]
async fn nothing_is_written_and_every_request_says_so() -> Result<()> {
    let ground = Ground::prepare().await?;
    ground.apply(&ground.config_map("there", &json!({"a": "1"}))).await?;
    let elsewhere = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "not-yet"},
    });
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "not-yet"}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.unheard.example.com"},
        "spec": {
            "group": "unheard.example.com", "scope": "Cluster",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    });
    let widget = json!({
        "apiVersion": "unheard.example.com/v1", "kind": "Widget", "metadata": {"name": "a"},
    });
    let only = "release.openshift.io/create-only";
    let manifests = [
        ground.config_map("there", &json!({"a": "2"})),
        ground.config_map("new", &json!({"a": "2"})),
        ground.repeating(),
        annotated(ground.config_map("new", &json!({})), only),
        annotated(ground.config_map("there", &json!({})), only),
        annotated(ground.config_map("there", &json!({})), "release.openshift.io/delete"),
        namespace.clone(),
        elsewhere,
        definition,
        widget,
    ]
    .map(for_all);
    let there = ground.config_map("there", &json!({}));
    let before = ground.live(&there).await?;
    let (report, findings, writes) = ground.audited_dry_run(&manifests).await?;
    assert_eq!(findings, []);
    assert_eq!(report.status, CheckStatus::Passed);
    insta::assert_snapshot!(report.message, @"objects tested: 6 of 10; not changed by the update: 2; dependent on objects that the release creates first: 2");

    assert_eq!(writes.len(), 8, "{writes:#?}");
    assert!(writes.iter().all(AuditEvent::is_dry_run), "{writes:#?}");
    assert_eq!(ground.live(&there).await?, before);
    let new = [ground.config_map("new", &json!({})), ground.repeating(), namespace];
    for object in new {
        assert_eq!(ground.get(&object).await?, None);
    }
    Ok(())
}

#[tokio::test]
async fn what_the_update_cannot_write_is_found() -> Result<()> {
    let ground = Ground::prepare().await?;
    ground.apply(&ground.job("before")).await?;
    let invalid = ground.config_map("a", &json!({"no key!": "1"}));
    let manifests = [ground.job("after"), invalid, ground.config_map("b", &json!({}))].map(for_all);
    let (report, findings) = ground.dry_run(&manifests).await;
    assert_eq!(report.status, CheckStatus::Found);
    let names: Vec<&str> = findings.iter().map(|finding| finding.name.as_str()).collect();
    assert_eq!(names, ["ManifestImmutable", "ManifestInvalid"], "{findings:#?}");
    let all = findings.iter().all(|it| it.check == "dry-run" && it.target_version == "5.1.0");
    assert!(all, "{findings:#?}");

    let mut overridden = filter();
    for (group, kind, name) in [("batch", "Job", "once"), ("", "ConfigMap", "a")] {
        overridden.overrides.push(serde_json::from_value(json!({
            "group": group, "kind": kind, "name": name, "namespace": ground.namespace.name(),
            "unmanaged": true,
        }))?);
    }
    let (report, findings) = ground.dry_run_with(&manifests, &overridden).await;
    assert_eq!((report.status, findings), (CheckStatus::Passed, vec![]));
    insta::assert_snapshot!(report.message, @"objects tested: 1 of 1");
    Ok(())
}

#[tokio::test]
async fn dry_run_with_failing_api_server_in_the_sandbox_retries() -> Result<()> {
    let ground = Ground::prepare().await?;
    // Only a sandbox breaks on demand.
    let Some(sandbox) = ground.cluster.failing_on_demand() else { return Ok(()) };
    let manifests = [for_all(ground.config_map("a", &json!({})))];
    let fault = || Fault::refuse(503).verb("patch").resource("configmaps");
    sandbox.faults().add(fault().times(2));
    let (report, findings) = ground.dry_run(&manifests).await;
    assert_eq!((report.status, findings), (CheckStatus::Passed, vec![]));
    sandbox.faults().add(fault());
    let (report, findings) = ground.dry_run(&manifests).await;
    assert_eq!((report.status, findings), (CheckStatus::CannotTell, vec![]), "{report:?}");
    Ok(())
}

/// A release of the example platform.
fn platform(version: &str) -> Result<Vec<Manifest>> {
    let image = format!("registry.example/operators@sha256:{:0>64}", version.replace('.', ""));
    let release = fairway_example::Release::find(version).context("no such release")?;
    let files = payload::files(&release, &image, &own_manifests(), None)?;
    Ok(Release::load(&files, "registry.example/release", DEFAULT_PROFILE)?.manifests)
}

#[tokio::test]
async fn a_platform_on_a_cluster_of_its_own_has_nothing_against_its_next_release() -> Result<()> {
    let cluster = TestCluster::own().await?;
    cluster.install_crds().await?;
    let ground = Ground::on(cluster).await?;
    let (before, after) = (platform("5.0.0")?, platform("5.1.0")?);
    let (report, findings) = ground.dry_run(&before).await;
    assert_eq!(findings, [], "a cluster that has nothing of it");
    assert_eq!(report.status, CheckStatus::Passed);
    let selected = filter();
    for manifest in selected.select(&before).included {
        // Kinds are served a moment after they are defined.
        wait::until(&format!("{} to be there", manifest.id), || async {
            Ok(ground.applier.apply(manifest, &ground.context).await.ok())
        })
        .await?;
    }
    let mut told = Vec::new();
    let trial =
        Trial { version: "5.1.0", manifests: &after, filter: &selected, context: &ground.context };
    let tell = |done, total| told.push((done, total));
    let (report, findings) = dry_run(ground.cluster.client(), &trial, HASTE, tell).await;
    assert_eq!(findings, []);
    assert_eq!(report.status, CheckStatus::Passed, "{report:?}");
    let (done, total) = *told.last().context("nothing was told")?;
    ensure!(done == total && told.len() == total, "{told:?}");
    Ok(())
}
