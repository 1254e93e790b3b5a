//! Updating a real release.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_api::cluster_version::{Update, UpdateState};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use fairway_release::{Manifest, ObjectId};
use fairway_testkit::real::{
    Components, MissingKind, OperatorProcess, RealPayload, absent, prepare,
};
use fairway_testkit::{AuditObject, TestCluster, environment, wait};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

/// How long a release may take on two busy cores, in an unoptimised build.
const RELEASE_TIMEOUT: Duration = Duration::from_mins(6);

/// Kinds that the sandbox does not serve, and without which no release is complete.
const MISSING: [MissingKind; 5] = [
    missing("image.openshift.io", "ImageStream", "imagestreams", true),
    missing("flowcontrol.apiserver.k8s.io", "FlowSchema", "flowschemas", false),
    missing(
        "flowcontrol.apiserver.k8s.io",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        false,
    ),
    missing(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        false,
    ),
    missing(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        false,
    ),
];

const fn missing(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
) -> MissingKind {
    MissingKind { group, kind, plural, namespaced }
}

async fn completed(cluster: &TestCluster, payload: &RealPayload) -> Result<()> {
    let api: Api<ClusterVersion> = Api::all(cluster.client());
    let what = format!("{} to be completed", payload.version());
    let done = wait::until_within(RELEASE_TIMEOUT, &what, async || {
        let status = api.get(CLUSTER_VERSION_NAME).await?.status.unwrap_or_default();
        let newest = status.history.first();
        Ok(newest
            .is_some_and(|it| it.image == payload.image && it.state == UpdateState::Completed)
            .then_some(()))
    });
    let ended = done.await;
    if ended.is_err() {
        let status = api.get(CLUSTER_VERSION_NAME).await?.status.unwrap_or_default();
        let conditions =
            status.conditions.iter().map(|it| format!("{}: {:?}", it.type_, it.message));
        return ended.with_context(|| conditions.collect::<Vec<_>>().join("\n"));
    }
    ended
}

/// What a manifest says, without what is not applied.
fn content(manifest: &Manifest) -> Value {
    let mut object = manifest.object();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    object
}

/// The operator's own Deployment: `spec.overrides` excludes it.
const OPERATOR: &str = r#"deployment "openshift-cluster-version/cluster-version-operator""#;

fn is_in(manifests: &[&Manifest], manifest: &Manifest) -> bool {
    manifests.iter().any(|it| it.id == manifest.id)
}

/// Whether an entry of the audit log is about an object. It names the plural of the kind.
fn is_about(object: &AuditObject, id: &ObjectId) -> bool {
    let kind = id.kind.to_lowercase();
    let plurals = [
        kind.clone(),
        format!("{kind}s"),
        format!("{kind}es"),
        format!("{}ies", kind.trim_end_matches('y')),
    ];
    plurals.contains(&object.resource)
        && (&object.namespace, &object.name) == (&id.namespace, &id.name)
}

#[tokio::test(flavor = "multi_thread")]
async fn update_between_real_releases_in_the_sandbox_writes_only_what_changed() -> Result<()> {
    let Some(payloads) = environment::payloads() else { return Ok(()) };
    let (from, to) =
        (RealPayload::unpack(&payloads, "4.20")?, RealPayload::unpack(&payloads, "5.0")?);
    let cluster = TestCluster::nodes(&[]).await?;
    prepare(&cluster, &[&from, &to], &MISSING).await?;
    let (before, after) = (from.included(), to.included());
    let components = Components::start(&cluster.client(), &before);
    let layouts = tempfile::tempdir()?;
    to.write_layout(layouts.path())?;
    let operator = OperatorProcess::start(&cluster, &from, layouts.path())?;
    let installed = completed(&cluster, &from).await;
    installed.with_context(|| operator.log().unwrap_or_default())?;

    let log = cluster.audit_log()?;
    let mark = log.mark()?;
    components.update(&after);
    let update = Update { image: Some(to.image.clone()), force: Some(true), ..Update::default() };
    let patch = Patch::Merge(json!({"spec": {"desiredUpdate": update}}));
    let api: Api<ClusterVersion> = Api::all(cluster.client());
    api.patch(CLUSTER_VERSION_NAME, &PatchParams::default(), &patch).await?;
    let updated = completed(&cluster, &to).await;
    updated.with_context(|| operator.log().unwrap_or_default())?;

    let lost = absent(&cluster.client(), &after).await?;
    let lost: Vec<String> = lost.iter().map(|it| it.id.to_string()).collect();
    assert_eq!(lost, [OPERATOR]);
    // Objects that the new release does not have are left alone.
    let left: Vec<&Manifest> = before.iter().copied().filter(|it| !is_in(&after, it)).collect();
    assert!(left.len() > 10, "{}", left.len());
    let gone = absent(&cluster.client(), &left).await?;
    assert_eq!(gone.iter().map(|it| it.id.to_string()).collect::<Vec<_>>(), [] as [&str; 0]);
    let known: BTreeMap<&ObjectId, Value> = before.iter().map(|it| (&it.id, content(it))).collect();
    let unchanged: Vec<&ObjectId> = after
        .iter()
        .filter(|it| known.get(&it.id) == Some(&content(it)))
        .map(|it| &it.id)
        .collect();
    let needless: Vec<String> = log
        .since(mark)?
        .iter()
        .filter(|event| event.is_write() && event.user_agent.starts_with("fairway/"))
        .filter(|event| {
            let object = event.object_ref.as_ref().filter(|object| object.subresource.is_empty());
            object.is_some_and(|object| unchanged.iter().any(|id| is_about(object, id)))
        })
        .map(ToString::to_string)
        .collect();
    assert_eq!(needless, [] as [&str; 0], "objects that are the same in both releases");
    Ok(())
}
