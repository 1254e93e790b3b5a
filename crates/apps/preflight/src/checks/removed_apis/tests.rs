use anyhow::Result;
use fairway_testkit::TestCluster;
use fairway_testkit::releases::TestRelease;
use serde_json::{Value, json};

use super::*;
use crate::testing::{create, define, define_as, hide, reader, render, target};

const BACKUPS: Resource = Resource::new("example.dev", "v1beta1", "Backup", "backups");

fn count(api: &str, removed_in: &str, requests: u64) -> Count {
    let removed_in = KubernetesMinor::parse(removed_in);
    Count { api: api.to_owned(), removed_in, requests, clients: vec!["helm/3 of ci".to_owned()] }
}

fn gone_in(kubernetes: &str) -> ReadState {
    let kubernetes = KubernetesMinor::parse(kubernetes).unwrap();
    let served = ["batch/v1beta1", "batch/v1", "policy/v1beta1"].map(str::to_owned).into();
    let gone = built_in(kubernetes, &served);
    ReadState {
        kubernetes: Some(kubernetes),
        gone,
        counts: Some(Vec::new()),
        ..ReadState::default()
    }
}

#[test]
fn built_in_returns_served_apis_that_target_removes() {
    let apis = |kubernetes: &str| -> Vec<String> {
        gone_in(kubernetes).gone.into_iter().map(|gone| gone.api).collect()
    };
    assert!(apis("1.24").is_empty());
    let expected = [
        "cronjobs.v1beta1.batch",
        "poddisruptionbudgets.v1beta1.policy",
        "podsecuritypolicies.v1beta1.policy",
    ];
    assert_eq!(apis("1.25"), expected);
    let through: Vec<_> =
        gone_in("1.25").gone.into_iter().map(|gone| gone.through.api_version).collect();
    assert_eq!(through, ["batch/v1", "policy/v1beta1", "policy/v1beta1"]);
}

#[test]
fn finding_of_requests_for_removed_apis() {
    for (kubernetes, count, is_found) in [
        ("1.25", count("cronjobs.v1beta1.batch", "1.25", 1), true),
        ("1.24", count("cronjobs.v1beta1.batch", "1.25", 1), false),
        ("1.40", count("things.v1.new.k8s.io", "1.39", 1), true),
        ("1.38", count("things.v1.new.k8s.io", "1.39", 1), false),
        ("1.25", count("cronjobs.v1.batch", "", 9), false),
    ] {
        let render = format!("{kubernetes} {count:?}");
        let state = ReadState { counts: Some(vec![count]), ..gone_in(kubernetes) };
        assert_eq!(evaluate(&state).findings.len() == 1, is_found, "{render}");
    }
    let unknown = ReadState {
        counts: Some(vec![count("cronjobs.v1beta1.batch", "1.25", 1)]),
        ..ReadState::default()
    };
    assert!(evaluate(&unknown).findings.is_empty());
}

#[test]
fn findings_have_remediation() {
    let written = |object: &str, by: &str| ManifestWrite {
        object: object.to_owned(),
        api_version: "batch/v1beta1".to_owned(),
        by: by.to_owned(),
    };
    let crd =
        |name: &str| DeletedCrd { crd: name.to_owned(), resource: ApiResource::from(BACKUPS) };
    let state = ReadState {
        counts: Some(vec![
            count("cronjobs.v1beta1.batch", "1.25", 120),
            count("podsecuritypolicies.v1beta1.policy", "1.25", 1),
        ]),
        written: vec![
            written("CronJob a/nightly", "helm"),
            written("CronJob b/hourly", "kubectl apply"),
        ],
        stored: vec![StoredVersions {
            crd: "backups.example.dev".to_owned(),
            lost: vec!["v1alpha1".to_owned(), "v1beta1".to_owned()],
            storage: "v1".to_owned(),
        }],
        deleted: vec![(crd("old.example.dev"), 1), (crd("empty.example.dev"), 0)],
        ..gone_in("1.25")
    };
    insta::assert_snapshot!(render(&evaluate(&state).findings), @r#"
    RemovedApisInManifests (info): 2 objects were written through APIs that the target release does not serve: CronJob a/nightly (batch/v1beta1, by helm), CronJob b/hourly (batch/v1beta1, by kubectl apply). Further writes through these APIs will fail.
      Replace batch/v1beta1 with batch/v1 in the manifests of these objects, do the same for the other APIs, and apply the manifests before the update: kubectl apply -f FILE
      https://kubernetes.io/docs/reference/using-api/deprecation-guide/
    RemovedApisInUse (warning): The target release does not serve APIs that clients requested within the last 24 hours: cronjobs.v1beta1.batch (120 requests by helm/3 of ci; use batch/v1), podsecuritypolicies.v1beta1.policy (1 request by helm/3 of ci). Requests for these APIs will fail.
      Migrate these clients to the replacement of each API. To list all clients: kubectl get apirequestcounts.apiserver.openshift.io cronjobs.v1beta1.batch -o yaml
      https://kubernetes.io/docs/reference/using-api/deprecation-guide/
    RemovedKindsHaveObjects (critical): The target release deletes CRDs and all their objects: old.example.dev (1 object).
      Migrate the clients of these CRDs, and save the objects that you need: kubectl get old.example.dev -A -o yaml > old.example.dev.yaml
    StoredVersionsRemoved (critical): Custom resources may be stored in versions that the CRDs of the target release do not contain: backups.example.dev (v1alpha1, v1beta1). The API server will reject these CRDs, and the update will stop.
      Rewrite all objects in the storage version, then remove the old version from status.storedVersions: kubectl get backups.example.dev -A -o json | kubectl replace -f -; kubectl patch crd backups.example.dev --subresource=status --type=merge -p '{"status":{"storedVersions":["v1"]}}'
      https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#upgrade-existing-objects-to-a-new-stored-version
    "#);
    let uncounted = ReadState { counts: None, ..state };
    let severities: Vec<_> =
        evaluate(&uncounted).findings.iter().map(|finding| finding.severity.to_string()).collect();
    assert_eq!(severities, ["warning", "critical", "critical"]);
}

#[test]
fn result_reports_what_is_unknown() {
    let render = |state: ReadState| {
        let BuiltInResult { unknown, not_covered, .. } = evaluate(&state);
        format!("unknown: {}\nleft out: {not_covered}", unknown.join(" "))
    };
    let render = [
        render(ReadState::default()),
        render(gone_in("1.25")),
        render(ReadState { counts: None, ..gone_in("1.25") }),
        render(ReadState {
            unread: vec!["cronjobs cannot be read.".to_owned()],
            ..gone_in("1.40")
        }),
    ];
    insta::assert_snapshot!(render.join("\n"), @"
    unknown: The target release does not declare its Kubernetes version, so the check did not examine the APIs of Kubernetes.
    left out: 
    unknown: 
    left out: 
    unknown: 
    left out: The cluster does not count API requests, so the check cannot detect clients that only read.
    unknown: The target release contains Kubernetes 1.40. This check covers removed APIs up to Kubernetes 1.34; for later versions it relies on the APIRequestCounts of the cluster. cronjobs cannot be read.
    left out: 
    ");
}

fn backups(versions: &[&str]) -> Value {
    let last = versions.len() - 1;
    let version = |(index, name): (usize, &&str)| {
        json!({
            "name": name, "served": true, "storage": index == last,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        })
    };
    let versions: Vec<Value> = versions.iter().enumerate().map(version).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "backups.example.dev"},
        "spec": {
            "group": "example.dev", "scope": "Cluster",
            "names": {"kind": "Backup", "plural": "backups"}, "versions": versions,
        },
    })
}

#[tokio::test]
async fn run_finds_version_that_is_stored_written_and_requested() -> Result<()> {
    let cluster = TestCluster::start().await?;
    define_as(&cluster, backups(&["v1beta1"])).await?;
    let applied = json!({"apiVersion": "example.dev/v1beta1", "kind": "Backup"}).to_string();
    let backup = json!({
        "apiVersion": "example.dev/v1beta1", "kind": "Backup",
        "metadata": {
            "name": "nightly",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied},
        },
    });
    create(&cluster, BACKUPS, backup).await?;
    let release = TestRelease::new("5.2.0").object("0000_10_backups", backups(&["v1"]));
    let target = target("5.1.0", &release)?;
    let run = async || Ok::<_, NoResult>(RemovedApis.run(&reader(&cluster), &target).await?);
    let names = |answer: &BuiltInResult| -> Vec<String> {
        answer.findings.iter().map(|finding| finding.name.clone()).collect()
    };
    assert_eq!(names(&run().await?), ["RemovedApisInManifests", "StoredVersionsRemoved"]);
    assert_eq!(RemovedApis.watched_at_run_time(&reader(&cluster), &target).await, [BACKUPS]);

    define(&cluster, COUNTS, "Cluster").await?;
    let count = json!({
        "apiVersion": "apiserver.openshift.io/v1", "kind": "APIRequestCount",
        "metadata": {"name": "backups.v1beta1.example.dev"}, "status": {"requestCount": 3},
    });
    create(&cluster, COUNTS, count).await?;
    let answer = run().await?;
    assert_eq!(
        names(&answer),
        ["RemovedApisInManifests", "RemovedApisInUse", "StoredVersionsRemoved"]
    );
    insta::assert_snapshot!(answer.unknown.join(" "), @"The target release does not declare its Kubernetes version, so the check did not examine the APIs of Kubernetes.");
    Ok(())
}

#[tokio::test]
async fn run_finds_deleted_crd_with_objects() -> Result<()> {
    let cluster = TestCluster::start().await?;
    define_as(&cluster, backups(&["v1beta1"])).await?;
    let mut gone = backups(&["v1beta1"]);
    gone["metadata"]["annotations"]["release.openshift.io/delete"] = json!("true");
    let target = target("5.1.0", &TestRelease::new("5.2.0").object("0000_10_backups", gone))?;
    let run =
        async || Ok::<_, NoResult>(RemovedApis.run(&reader(&cluster), &target).await?.findings);
    assert_eq!(run().await?, []);
    let backup = json!({
        "apiVersion": "example.dev/v1beta1", "kind": "Backup", "metadata": {"name": "nightly"},
    });
    create(&cluster, BACKUPS, backup).await?;
    insta::assert_snapshot!(render(&run().await?), @"
    RemovedKindsHaveObjects (critical): The target release deletes CRDs and all their objects: backups.example.dev (1 object).
      Migrate the clients of these CRDs, and save the objects that you need: kubectl get backups.example.dev -A -o yaml > backups.example.dev.yaml
    ");
    Ok(())
}

#[tokio::test]
async fn run_with_unreadable_objects_has_no_result() -> Result<()> {
    let cluster = TestCluster::start().await?;
    define_as(&cluster, backups(&["v1beta1"])).await?;
    let release = TestRelease::new("5.2.0").object("0000_10_backups", backups(&["v1"]));
    let target = target("5.1.0", &release)?;
    if !hide(&cluster, "backups") {
        return Ok(());
    }
    let BuiltInResult { findings, unknown, .. } =
        RemovedApis.run(&reader(&cluster), &target).await?;
    let names: Vec<&str> = findings.iter().map(|finding| finding.name.as_str()).collect();
    assert_eq!(names, ["StoredVersionsRemoved"], "what is sure stays");
    assert!(unknown.iter().any(|why| why.starts_with("cannot read backups")), "{unknown:?}");
    Ok(())
}
