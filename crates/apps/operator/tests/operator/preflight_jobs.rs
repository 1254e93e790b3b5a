//! Jobs of a preflight: requested, created, reported and removed.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use fairway_findings::jobs::{FORMAT, JobAnswers, JobRequest, JobRequests};
use fairway_findings::labels::{self, RunOwner};
use fairway_findings::vet::{self, AccessPolicy};
use fairway_operator::election::{Leadership, TermSender};
use fairway_operator::stage::preflight::PreflightWriter;
use fairway_operator::stage::preflight::jobs::{Jobs, ReleaseChecks, sweep};
use fairway_testkit::TestCluster;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

const RUN: &str = "0123456789abcdef0123456789abcdef";
const INGRESS: &str = "openshift-ingress";

/// A cluster with the namespaces of checks, and the permission to write.
struct JobCluster {
    cluster: TestCluster,
    leadership: Leadership,
    _term: TermSender,
}

impl JobCluster {
    async fn new() -> Result<Self> {
        let cluster = TestCluster::start().await?;
        let (term, leadership) = Leadership::until(Instant::now() + Duration::from_hours(1));
        let fixture = Self { cluster, leadership, _term: term };
        for name in [vet::NAMESPACE, INGRESS] {
            fixture.namespace(name).await?;
        }
        Ok(fixture)
    }

    async fn namespace(&self, name: &str) -> Result<()> {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        Api::all(self.client()).create(&PostParams::default(), &namespace).await?;
        Ok(())
    }

    fn client(&self) -> Client {
        self.cluster.client()
    }

    fn writer(&self) -> PreflightWriter {
        PreflightWriter { client: self.client(), leadership: self.leadership.clone() }
    }

    fn jobs(&self, id: &str) -> Jobs {
        self.jobs_by(RunOwner::Operator, id)
    }

    fn jobs_by(&self, by: RunOwner, id: &str) -> Jobs {
        let run = vet::RunParameters {
            id: id.to_owned(),
            by,
            source_version: "5.0.0".to_owned(),
            target_version: "5.2.0".to_owned(),
            target_image: "registry.example/release@sha256:1".to_owned(),
            ..vet::RunParameters::default()
        };
        Jobs::new(self.writer(), run)
    }

    /// Kind and name of all objects of runs.
    async fn objects(&self) -> Result<String> {
        let client = self.client();
        let mut objects = names(Api::<Job>::namespaced(client.clone(), vet::NAMESPACE)).await?;
        objects.extend(
            names(Api::<ServiceAccount>::namespaced(client.clone(), vet::NAMESPACE)).await?,
        );
        objects.extend(names(Api::<Role>::all(client.clone())).await?);
        objects.extend(names(Api::<RoleBinding>::all(client.clone())).await?);
        objects.extend(names(Api::<ClusterRole>::all(client.clone())).await?);
        objects.extend(names(Api::<ClusterRoleBinding>::all(client)).await?);
        Ok(objects.join("\n"))
    }
}

/// Objects of a kind that belong to a run and are not being deleted.
async fn names<K>(api: Api<K>) -> Result<Vec<String>>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let listed = api.list(&ListParams::default().labels(labels::RUN)).await?;
    let stays =
        listed.items.into_iter().filter(|object| object.meta().deletion_timestamp.is_none());
    let name = |object: K| match object.namespace() {
        Some(namespace) => format!("{} {namespace}/{}", K::kind(&()), object.name_any()),
        None => format!("{} {}", K::kind(&()), object.name_any()),
    };
    Ok(stays.map(name).collect())
}

fn check(name: &str, suffix: &str) -> JobRequest {
    let manifest = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": format!("{name}-preflight"), "namespace": "openshift-operators",
            "annotations": {vet::ANNOTATION: "true"},
        },
        "spec": {"template": {"spec": {"containers": [
            {"name": name, "image": "registry.example/operator@sha256:2", "command": ["/bin/preflight"]},
        ]}}},
    });
    let (check, name) = (name.to_owned(), format!("{name}-preflight-{suffix}"));
    JobRequest { name, check, manifest, access: Vec::new() }
}

/// A check that reads a Secret and Nodes.
fn check_with_access(suffix: &str, verb: &str) -> JobRequest {
    let object = |kind: &str, namespace: Option<&str>, rest: Value| {
        let version = if kind == "ServiceAccount" { "v1" } else { "rbac.authorization.k8s.io/v1" };
        let mut object = rest;
        object["apiVersion"] = json!(version);
        object["kind"] = json!(kind);
        let annotations = json!({vet::ANNOTATION: "true"});
        object["metadata"] =
            json!({"name": "reader", "namespace": namespace, "annotations": annotations});
        object
    };
    let binding = |kind: &str| {
        let subject =
            json!({"kind": "ServiceAccount", "name": "reader", "namespace": "openshift-operators"});
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "reader"});
        json!({"roleRef": role, "subjects": [subject]})
    };
    let secrets = json!({"rules": [{
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["router-certs"], "verbs": [verb],
    }]});
    let nodes =
        json!({"rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}]});
    let mut check = check("ingress", suffix);
    check.manifest["spec"]["template"]["spec"]["serviceAccountName"] = json!("reader");
    check.access = vec![
        object("RoleBinding", Some(INGRESS), binding("Role")),
        object("ClusterRoleBinding", None, binding("ClusterRole")),
        object("Role", Some(INGRESS), secrets),
        object("ClusterRole", None, nodes),
        object("ServiceAccount", Some("openshift-operators"), json!({})),
    ];
    check
}

fn requests(jobs: &[JobRequest]) -> JobRequests {
    let (format, preflight_id) = (FORMAT.to_owned(), RUN.to_owned());
    JobRequests { format, preflight_id, jobs: jobs.to_vec() }
}

/// A verified release with exactly these Jobs, and consent for their Secrets.
fn release(jobs: &[JobRequest]) -> ReleaseChecks {
    let objects = |job: &JobRequest| {
        let (check, objects) =
            (job.check.clone(), [std::slice::from_ref(&job.manifest), &job.access[..]].concat());
        objects.into_iter().map(move |object| (check.clone(), object))
    };
    let secrets = ["openshift-ingress", "nowhere"].map(|place| format!("{place}/router-certs"));
    let policy = AccessPolicy { is_verified: true, secrets: Some(secrets.into()) };
    jobs.iter().flat_map(objects).collect::<ReleaseChecks>().with_policy(policy)
}

/// Requests Jobs of the release.
async fn ask(run: &mut Jobs, jobs: &[JobRequest]) -> JobAnswers {
    run.reconcile(&requests(jobs), &release(jobs)).await
}

fn render(answers: &JobAnswers) -> String {
    let lines =
        answers.jobs.iter().map(|job| format!("{}: {} {}", job.name, job.state, job.message));
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn requested_jobs_exist_until_withdrawn() -> Result<()> {
    let fixture = JobCluster::new().await?;
    let mut jobs = fixture.jobs(RUN);
    let dns = check("dns", "x1y2z");
    let mut greedy = check("storage", "x1y2z");
    greedy.manifest["spec"]["template"]["spec"]["hostPID"] = json!(true);
    let requested = [dns.clone(), check_with_access("x1y2z", "get"), greedy, check("dns", "again")];
    let answers = ask(&mut jobs, &requested).await;
    insta::assert_snapshot!(render(&answers), @r"
    dns-preflight-again: notCreated another check of this component is running
    dns-preflight-x1y2z: created 
    ingress-preflight-x1y2z: created 
    storage-preflight-x1y2z: refused spec.template.spec.hostPID: a check must not use the host PID namespace
    ");
    insta::assert_snapshot!(fixture.objects().await?, @r"
    Job openshift-cluster-version-preflight/dns-preflight-x1y2z
    Job openshift-cluster-version-preflight/ingress-preflight-x1y2z
    ServiceAccount openshift-cluster-version-preflight/reader-x1y2z
    Role openshift-ingress/reader-x1y2z
    RoleBinding openshift-ingress/reader-x1y2z
    ClusterRole reader-x1y2z
    ClusterRoleBinding reader-x1y2z
    ");

    // A restarted operator adopts the requested Job and removes the other.
    let mut restarted = fixture.jobs(RUN);
    let answers = ask(&mut restarted, std::slice::from_ref(&dns)).await;
    insta::assert_snapshot!(render(&answers), @"dns-preflight-x1y2z: created");
    insta::assert_snapshot!(fixture.objects().await?, @"Job openshift-cluster-version-preflight/dns-preflight-x1y2z");

    let answers = ask(&mut restarted, &[]).await;
    assert_eq!(render(&answers), "");
    assert_eq!(fixture.objects().await?, "");
    Ok(())
}

#[tokio::test]
async fn refused_jobs_report_message_of_api_server() -> Result<()> {
    let fixture = JobCluster::new().await?;
    let mut jobs = fixture.jobs(RUN);
    let taken = ServiceAccount {
        metadata: ObjectMeta { name: Some("reader-taken".to_owned()), ..ObjectMeta::default() },
        ..ServiceAccount::default()
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(fixture.client(), vet::NAMESPACE);
    accounts.create(&PostParams::default(), &taken).await?;
    let mut elsewhere = check_with_access("nowhere", "get");
    elsewhere.check = "elsewhere".to_owned();
    for index in [0, 2] {
        elsewhere.access[index]["metadata"]["namespace"] = json!("nowhere");
    }
    let mut writer = check_with_access("writer", "update");
    writer.check = "writer".to_owned();
    let requested = [check_with_access("taken", "get"), elsewhere, writer];
    let answers = ask(&mut jobs, &requested).await;
    insta::assert_snapshot!(render(&answers), @r#"
    ingress-preflight-nowhere: notCreated namespaces "nowhere" not found
    ingress-preflight-taken: notCreated ServiceAccount reader-taken in openshift-cluster-version-preflight already exists and does not belong to this run
    ingress-preflight-writer: accessRefused Role reader: rules[0].verbs[0]: a check may only get, list and watch
    "#);
    // The next reconciliation removes what was created before the error.
    ask(&mut jobs, &requested).await;
    assert_eq!(fixture.objects().await?, "");
    assert!(accounts.get_opt("reader-taken").await?.is_some(), "not created by the operator");
    Ok(())
}

#[tokio::test]
async fn jobs_outside_of_release_are_refused() -> Result<()> {
    let fixture = JobCluster::new().await?;
    let of_release = [check("dns", "x1y2z"), check_with_access("x1y2z", "get")];
    let mut other_image = of_release[0].clone();
    other_image.manifest["spec"]["template"]["spec"]["containers"][0]["image"] =
        json!("registry.example/other@sha256:3");
    let mut other_access = of_release[1].clone();
    other_access.access[2]["rules"][0]["resourceNames"] = json!(["crown-jewels"]);
    let requested = [other_image, other_access, check("storage", "x1y2z")];
    let mut jobs = fixture.jobs(RUN);
    let answers = jobs.reconcile(&requests(&requested), &release(&of_release)).await;
    insta::assert_snapshot!(render(&answers), @r"
    dns-preflight-x1y2z: refused Job dns-preflight: not a Job of the release
    ingress-preflight-x1y2z: accessRefused Role reader: not part of the check in the release
    storage-preflight-x1y2z: refused the release contains no check for this component
    ");
    assert_eq!(fixture.objects().await?, "");
    Ok(())
}

#[tokio::test]
async fn access_without_verification_or_consent_is_refused() -> Result<()> {
    let fixture = JobCluster::new().await?;
    let requested = [check("dns", "x1y2z"), check_with_access("x1y2z", "get")];
    let cases = [
        AccessPolicy::default(),
        AccessPolicy {
            is_verified: false,
            secrets: Some(["openshift-ingress/router-certs".to_owned()].into()),
        },
        AccessPolicy::verified(),
        AccessPolicy {
            is_verified: true,
            secrets: Some(["openshift-ingress/other".to_owned()].into()),
        },
    ];
    let mut rendered = Vec::new();
    for policy in cases {
        let mut jobs = fixture.jobs(RUN);
        let release = release(&requested).with_policy(policy);
        rendered.push(render(&jobs.reconcile(&requests(&requested), &release).await));
        let left = "Job openshift-cluster-version-preflight/dns-preflight-x1y2z";
        assert_eq!(fixture.objects().await?, left, "no permissions are created");
        jobs.end().await?;
    }
    insta::assert_snapshot!(rendered.join("\n"), @"
    dns-preflight-x1y2z: created 
    ingress-preflight-x1y2z: accessRefused RoleBinding reader: the release is not verified, so its checks get no ServiceAccounts, roles or role bindings; use a release with a valid signature
    dns-preflight-x1y2z: created 
    ingress-preflight-x1y2z: accessRefused RoleBinding reader: the release is not verified, so its checks get no ServiceAccounts, roles or role bindings; use a release with a valid signature
    dns-preflight-x1y2z: created 
    ingress-preflight-x1y2z: accessRefused the check reads Secrets without consent: openshift-ingress/router-certs; to allow it, run the operator with --preflight-grant-secrets and repeat the preflight with --allow-secrets=openshift-ingress/router-certs
    dns-preflight-x1y2z: created 
    ingress-preflight-x1y2z: accessRefused the check reads Secrets without consent: openshift-ingress/router-certs; to allow it, repeat the preflight with --allow-secrets=openshift-ingress/router-certs
    ");
    Ok(())
}

#[tokio::test]
async fn jobs_beyond_rate_limit_are_delayed() -> Result<()> {
    let fixture = JobCluster::new().await?;
    let mut jobs = fixture.jobs(RUN);
    for n in 0..200 {
        let requested = check("dns", &format!("n{n:04}"));
        let answers = ask(&mut jobs, std::slice::from_ref(&requested)).await;
        match render(&answers).as_str() {
            "" => {
                assert!(n >= 64, "{n}");
                return jobs.end().await.map_err(Into::into);
            }
            render => assert_eq!(render, format!("{}: created ", requested.name)),
        }
    }
    anyhow::bail!("no rate limit")
}

#[tokio::test]
async fn jobs_use_pull_secret_of_cluster() -> Result<()> {
    let fixture = JobCluster::new().await?;
    let known = |data: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret"},
            "type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": data},
        })
    };
    fixture.namespace("openshift-config").await?;
    let originals: Api<Secret> = Api::namespaced(fixture.client(), "openshift-config");
    let copies: Api<Secret> = Api::namespaced(fixture.client(), vet::NAMESPACE);
    let checks: Api<Job> = Api::namespaced(fixture.client(), vet::NAMESPACE);
    let name = format!("preflight-pull-secret-{RUN}");
    let mut jobs = fixture.jobs(RUN);
    for (data, suffix) in [("e30=", "first"), ("eyJhdXRocyI6e319", "second")] {
        let apply = PatchParams::apply("test").force();
        originals.patch("pull-secret", &apply, &Patch::Apply(known(data))).await?;
        ask(&mut jobs, &[check("dns", suffix)]).await;
        let copy = serde_json::to_value(copies.get(&name).await?)?;
        assert_eq!(copy["data"][".dockerconfigjson"], data);
        let job = serde_json::to_value(checks.get(&format!("dns-preflight-{suffix}")).await?)?;
        assert_eq!(job["spec"]["template"]["spec"]["imagePullSecrets"], json!([{"name": name}]));
    }
    // A restarted operator keeps the Secret for later Jobs.
    ask(&mut fixture.jobs(RUN), &[]).await;
    assert!(copies.get_opt(&name).await?.is_some());
    jobs.end().await?;
    assert!(copies.get_opt(&name).await?.is_none());
    Ok(())
}

#[tokio::test]
async fn follow_answers_requests_until_channel_closes() -> Result<()> {
    let fixture = JobCluster::new().await?;
    let (asks, requested) = watch::channel(requests(&[check("dns", "x1y2z")]));
    let (answers, mut answered) = watch::channel(JobAnswers::default());
    let (read, checks) = watch::channel(None);
    let following = tokio::spawn(fixture.jobs(RUN).follow(requested, checks, answers));
    read.send_replace(Some(Arc::new(release(&[check("dns", "x1y2z"), check("etcd", "x1y2z")]))));
    answered.wait_for(|answers| render(answers) == "dns-preflight-x1y2z: created ").await?;
    asks.send_replace(requests(&[check("etcd", "x1y2z")]));
    answered.wait_for(|answers| render(answers) == "etcd-preflight-x1y2z: created ").await?;
    let left = "Job openshift-cluster-version-preflight/etcd-preflight-x1y2z";
    assert_eq!(fixture.objects().await?, left);
    drop(asks);
    following.await?;
    Ok(())
}

#[tokio::test]
async fn sweep_removes_other_runs() -> Result<()> {
    let fixture = JobCluster::new().await?;
    let other = "f".repeat(32);
    ask(&mut fixture.jobs(&other), &[check_with_access("other", "get")]).await;
    let mut jobs = fixture.jobs(RUN);
    ask(&mut jobs, &[check("dns", "x1y2z")]).await;
    assert!(sweep(fixture.writer(), Some(RUN)).await? >= 6);
    insta::assert_snapshot!(fixture.objects().await?, @"Job openshift-cluster-version-preflight/dns-preflight-x1y2z");
    jobs.end().await?;
    assert_eq!(fixture.objects().await?, "");
    sweep(fixture.writer(), None).await?;
    Ok(())
}

#[tokio::test]
async fn sweep_keeps_runs_of_commands() -> Result<()> {
    let fixture = JobCluster::new().await?;
    let mut command = fixture.jobs_by(RunOwner::Command, RUN);
    ask(&mut command, &[check_with_access("byhand", "get")]).await;
    let before = fixture.objects().await?;
    assert_ne!(before, "");
    assert_eq!(sweep(fixture.writer(), None).await?, 0);
    assert_eq!(fixture.objects().await?, before);
    Ok(())
}
