//! Update between real releases.

use std::collections::BTreeMap;

use anyhow::Result;
use fairway_release::{Manifest, ObjectId};
use fairway_testkit::real::{
    MissingKind, RealPayload, StubComponents, missing_objects, prepare_cluster,
};
use fairway_testkit::{AuditObject, OperatorOptions, TestCluster, TestOperator, environment};
use serde_json::Value;

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

/// The fields of a manifest that the operator applies.
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

/// Whether an entry of the audit log, which has the plural of a kind, is about an object.
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
    let cluster = TestCluster::start_sandbox(&[]).await?;
    prepare_cluster(&cluster, &[&from, &to], &MISSING).await?;
    let (before, after) = (from.included(), to.included());
    let components = StubComponents::start(&cluster.client(), &before);
    let layouts = tempfile::tempdir()?;
    to.write_layout(layouts.path())?;
    let options = OperatorOptions {
        image_layouts: Some(layouts.path().to_owned()),
        ..OperatorOptions::new(&from.image, &from.directory())
    };
    let operator = TestOperator::start(cluster, options)?;
    operator.wait_until_completed(&from.version()).await?;

    let log = operator.cluster.audit_log()?;
    let mark = log.mark()?;
    components.update(&after);
    operator.cluster_version().force(&to.image).await?;
    operator.wait_until_completed(&to.version()).await?;

    let client = operator.client();
    let lost = missing_objects(&client, &after).await?;
    let lost: Vec<String> = lost.iter().map(|it| it.id.to_string()).collect();
    assert_eq!(lost, [OPERATOR]);
    // The operator does not delete objects that the new release does not have.
    let left: Vec<&Manifest> = before.iter().copied().filter(|it| !is_in(&after, it)).collect();
    assert!(left.len() > 10, "{}", left.len());
    let gone = missing_objects(&client, &left).await?;
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
