//! Dry run of a release against an API server.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fairway_example::payload;
use fairway_findings::{CheckReport, CheckStatus, Finding};
use fairway_install::manifests::own_manifests;
use fairway_operator::stage::preflight::dry_run::{DryRunSettings, DryRunTarget, dry_run};
use fairway_release::inclusion::{DEFAULT_PROFILE, ManifestFilter};
use fairway_release::{Manifest, Release};
use fairway_sandbox::faults::Fault;
use fairway_testkit::{AuditEvent, TestCluster, wait};
use serde_json::{Value, json};

use crate::fixture::{ApplyFixture, manifest};

/// Without rate limit: no other client uses the API server of a test.
const WITHOUT_RATE_LIMIT: DryRunSettings =
    DryRunSettings { between: Duration::from_millis(1), pause: Duration::from_millis(1) };

/// A manifest of an object for every cluster profile.
fn for_all(mut object: Value) -> Manifest {
    let include = format!("include.release.openshift.io/{DEFAULT_PROFILE}");
    object["metadata"]["annotations"][include] = json!("true");
    manifest(&object)
}

/// The filter of a cluster without special settings.
fn filter() -> ManifestFilter {
    ManifestFilter { profile: Some(DEFAULT_PROFILE.to_owned()), ..ManifestFilter::default() }
}

impl ApplyFixture {
    async fn dry_run(&self, manifests: &[Manifest]) -> (CheckReport, Vec<Finding>) {
        self.dry_run_with(manifests, &filter()).await
    }

    async fn dry_run_with(
        &self,
        manifests: &[Manifest],
        filter: &ManifestFilter,
    ) -> (CheckReport, Vec<Finding>) {
        let trial = DryRunTarget { version: "5.1.0", manifests, filter, context: &self.context };
        dry_run(self.cluster.client(), &trial, WITHOUT_RATE_LIMIT, |_, _| {}).await
    }

    /// A dry run, with the write requests that it sent.
    async fn audited_dry_run(
        &self,
        manifests: &[Manifest],
    ) -> Result<(CheckReport, Vec<Finding>, Vec<AuditEvent>)> {
        let user_agent = format!("dry-run-in-{}", self.namespace.name());
        let client = self.cluster.client_named(&user_agent).await?;
        let log = self.cluster.audit_log()?;
        let mark = log.mark()?;
        let trial =
            DryRunTarget { version: "5.1.0", manifests, filter: &filter(), context: &self.context };
        let (report, findings) = dry_run(client, &trial, WITHOUT_RATE_LIMIT, |_, _| {}).await;
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

    /// An object that no API server can merge.
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
async fn dry_run_writes_nothing() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    fixture.apply(&fixture.config_map("there", &json!({"a": "1"}))).await?;
    let elsewhere = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "not-yet"},
    });
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "not-yet"}});
    let crd = json!({
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
        fixture.config_map("there", &json!({"a": "2"})),
        fixture.config_map("new", &json!({"a": "2"})),
        fixture.repeating(),
        annotated(fixture.config_map("new", &json!({})), only),
        annotated(fixture.config_map("there", &json!({})), only),
        annotated(fixture.config_map("there", &json!({})), "release.openshift.io/delete"),
        namespace.clone(),
        elsewhere,
        crd,
        widget,
    ]
    .map(for_all);
    let there = fixture.config_map("there", &json!({}));
    let before = fixture.live(&there).await?;
    let (report, findings, writes) = fixture.audited_dry_run(&manifests).await?;
    assert_eq!(findings, []);
    assert_eq!(report.status, CheckStatus::Passed);
    insta::assert_snapshot!(report.message, @"objects tested: 6 of 10; not changed by the update: 2; dependent on objects that the release creates first: 2");

    assert_eq!(writes.len(), 8, "{writes:#?}");
    assert!(writes.iter().all(AuditEvent::is_dry_run), "{writes:#?}");
    assert_eq!(fixture.live(&there).await?, before);
    let new = [fixture.config_map("new", &json!({})), fixture.repeating(), namespace];
    for object in new {
        assert_eq!(fixture.get(&object).await?, None);
    }
    Ok(())
}

#[tokio::test]
async fn dry_run_reports_objects_that_cannot_be_written() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    fixture.apply(&fixture.job("before")).await?;
    let invalid = fixture.config_map("a", &json!({"no key!": "1"}));
    let manifests =
        [fixture.job("after"), invalid, fixture.config_map("b", &json!({}))].map(for_all);
    let (report, findings) = fixture.dry_run(&manifests).await;
    assert_eq!(report.status, CheckStatus::Found);
    let names: Vec<&str> = findings.iter().map(|finding| finding.name.as_str()).collect();
    assert_eq!(names, ["ManifestImmutable", "ManifestInvalid"], "{findings:#?}");
    let all = findings.iter().all(|it| it.check == "dry-run" && it.target_version == "5.1.0");
    assert!(all, "{findings:#?}");

    let mut overridden = filter();
    for (group, kind, name) in [("batch", "Job", "once"), ("", "ConfigMap", "a")] {
        overridden.overrides.push(serde_json::from_value(json!({
            "group": group, "kind": kind, "name": name, "namespace": fixture.namespace.name(),
            "unmanaged": true,
        }))?);
    }
    let (report, findings) = fixture.dry_run_with(&manifests, &overridden).await;
    assert_eq!((report.status, findings), (CheckStatus::Passed, vec![]));
    insta::assert_snapshot!(report.message, @"objects tested: 1 of 1");
    Ok(())
}

#[tokio::test]
async fn dry_run_with_failing_api_server_in_the_sandbox_retries() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    // Only a sandbox fails on demand.
    let Some(sandbox) = fixture.cluster.fault_injection() else { return Ok(()) };
    let manifests = [for_all(fixture.config_map("a", &json!({})))];
    let fault = || Fault::refuse(503).verb("patch").resource("configmaps");
    sandbox.faults().add(fault().times(2));
    let (report, findings) = fixture.dry_run(&manifests).await;
    assert_eq!((report.status, findings), (CheckStatus::Passed, vec![]));
    sandbox.faults().add(fault());
    let (report, findings) = fixture.dry_run(&manifests).await;
    assert_eq!((report.status, findings), (CheckStatus::CannotTell, vec![]), "{report:?}");
    Ok(())
}

/// The manifests of a release of the example platform.
fn platform(version: &str) -> Result<Vec<Manifest>> {
    let image = format!("registry.example/operators@sha256:{:0>64}", version.replace('.', ""));
    let release = fairway_example::Release::find(version).context("no such release")?;
    let files = payload::files(&release, &image, &own_manifests(), None)?;
    Ok(Release::load(&files, "registry.example/release", DEFAULT_PROFILE)?.manifests)
}

#[tokio::test]
async fn dry_run_of_next_release_on_a_cluster_of_its_own_passes() -> Result<()> {
    let cluster = TestCluster::start().await?;
    cluster.install_crds().await?;
    let fixture = ApplyFixture::on(cluster).await?;
    let (before, after) = (platform("5.0.0")?, platform("5.1.0")?);
    let (report, findings) = fixture.dry_run(&before).await;
    assert_eq!(findings, [], "on an empty cluster");
    assert_eq!(report.status, CheckStatus::Passed);
    let selected = filter();
    for manifest in selected.select(&before).included {
        // Kinds are served a moment after their CRD is established.
        wait::until(&format!("{} to be there", manifest.id), || async {
            Ok(fixture.applier.apply(manifest, &fixture.context).await.ok())
        })
        .await?;
    }
    let mut progress = Vec::new();
    let trial = DryRunTarget {
        version: "5.1.0",
        manifests: &after,
        filter: &selected,
        context: &fixture.context,
    };
    let report_progress = |done, total| progress.push((done, total));
    let (report, findings) =
        dry_run(fixture.cluster.client(), &trial, WITHOUT_RATE_LIMIT, report_progress).await;
    assert_eq!(findings, []);
    assert_eq!(report.status, CheckStatus::Passed, "{report:?}");
    let (done, total) = *progress.last().context("no progress")?;
    ensure!(done == total && progress.len() == total, "{progress:?}");
    Ok(())
}
