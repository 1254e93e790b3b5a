//! The generated CRDs on a real API server.

use anyhow::{Context, Result, bail, ensure};
use fairway_api::cluster_version::{AcceptRisk, Update, UpdateMode};
use fairway_api::{ClusterOperator, ClusterVersion, Conditions};
use fairway_fixtures::vectors::{self, Expected, Vector};
use fairway_testkit::{TestCluster, objects, wait};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
};
use serde_json::{Value, json};

const NAME: &str = fairway_api::CLUSTER_VERSION_NAME;

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn status_update_does_not_change_the_generation_of_the_spec() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let versions: Api<ClusterVersion> = Api::all(cluster.client());
    versions.create(&PostParams::default(), &objects::cluster_version()).await?;
    let update = Update {
        mode: Some(UpdateMode::Preflight),
        accept_risks: vec![AcceptRisk { name: "A".into(), ..AcceptRisk::default() }],
        ..objects::update_to("5.2.0")
    };
    let request = json!({ "spec": { "desiredUpdate": update.merge_patch()? } });
    let patched = versions.patch(NAME, &PatchParams::default(), &Patch::Merge(request)).await?;
    assert_eq!(patched.spec.desired_update, Some(update));
    assert_eq!(patched.metadata.generation, Some(2));

    let with_status = ClusterVersion { status: Some(objects::status_at("5.1.0")), ..patched };
    let written = versions.replace_status(NAME, &PostParams::default(), &with_status).await?;
    assert_eq!(written.status, with_status.status);
    assert_eq!(written.metadata.generation, Some(2), "a status update is no new generation");

    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn audit_log_lists_requests_on_a_control_plane_of_its_own() -> Result<()> {
    let cluster = TestCluster::start().await?;
    cluster.install_crds().await?;
    let versions: Api<ClusterVersion> = Api::all(cluster.client());
    let mark = cluster.audit_log()?.mark()?;

    let mut version = versions.create(&PostParams::default(), &objects::cluster_version()).await?;
    versions.get(NAME).await?;
    version.status = Some(objects::status_at("5.1.0"));
    versions.replace_status(NAME, &PostParams::default(), &version).await?;
    versions.delete("another", &DeleteParams::default()).await.ok();

    let events = cluster.audit_log()?.since(mark)?;
    let about_versions = events.iter().filter(|event| event.is_about("clusterversions"));
    let requests: Vec<_> =
        about_versions.map(|event| (event.is_write(), event.to_string())).collect();
    let expected = [
        (true, "admin create clusterversions/version: 201"),
        (false, "admin get clusterversions/version: 200"),
        (true, "admin update clusterversions/version/status: 200"),
        (true, "admin delete clusterversions/another: 404"),
    ];
    assert_eq!(requests, expected.map(|(write, text)| (write, text.to_owned())));
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn kubectl_get_prints_the_columns() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let versions: Api<ClusterVersion> = Api::all(cluster.client());
    let mut version = versions.create(&PostParams::default(), &objects::cluster_version()).await?;
    version.status = Some(objects::status_at("5.1.0"));
    versions.replace_status(NAME, &PostParams::default(), &version).await?;
    let operators: Api<ClusterOperator> = Api::all(cluster.client());
    operators.create(&PostParams::default(), &objects::cluster_operator("dns")).await?;
    let status = json!({ "status": objects::working_at("5.1.0") });
    operators.patch_status("dns", &PatchParams::default(), &Patch::Merge(status)).await?;

    let printed = |resource: &str| -> Result<Vec<Vec<String>>> {
        let output = cluster.kubectl().args(["get", resource]).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout)?;
        Ok(text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect())
    };
    let lines = printed("clusterversions")?;
    assert_eq!(lines[0], ["NAME", "VERSION", "AVAILABLE", "PROGRESSING", "SINCE", "STATUS"]);
    assert_eq!(lines[1][..4], ["version", "5.1.0", "True", "False"]);
    assert_eq!(lines[1][5..].join(" "), "Cluster version is 5.1.0");

    let lines = printed("co")?;
    assert_eq!(lines[0], ["NAME", "VERSION", "AVAILABLE", "PROGRESSING", "DEGRADED", "SINCE"]);
    assert_eq!(lines[1][..5], ["dns", "5.1.0", "True", "False", "False"]);
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn desired_version_has_to_be_empty_or_semantic() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let versions: Api<ClusterVersion> = Api::all(cluster.client());
    for (text, legal) in [
        ("", true),
        ("5.1.0", true),
        ("5.1.0-rc.1+amd64", true),
        ("5.1", false),
        ("v5.1.0", false),
        ("5.01.0", false),
        ("latest", false),
    ] {
        let mut object = objects::cluster_version();
        object.spec.desired_update = Some(objects::update_to(text));
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        let answer = versions.create(&dry, &object).await;
        assert_eq!(answer.is_ok(), legal, "{text:?}: {answer:?}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn control_plane_of_its_own_starts_empty_and_serves_both_kinds() -> Result<()> {
    let cluster = TestCluster::start().await?;
    cluster.install_crds().await?;
    let operators: Api<ClusterOperator> = Api::all(cluster.client());
    assert!(operators.list(&ListParams::default()).await?.items.is_empty());
    let mut created =
        operators.create(&PostParams::default(), &objects::cluster_operator("dns")).await?;
    created.status = Some(objects::working_at("5.1.0"));
    let written = operators.replace_status("dns", &PostParams::default(), &created).await?;
    let status = written.status.context("a status")?;
    assert!(status.conditions.is_true("Available"));
    assert_eq!(status.version_of("operator"), Some("5.1.0"));
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn vectors_are_accepted_or_refused_as_expected() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let resource = ApiResource::erase::<ClusterVersion>(&());
    let api: Api<DynamicObject> = Api::all_with(cluster.client(), &resource);
    let supports_cel = supports_cel(&cluster).await?;
    for vector in vectors::all() {
        // API servers without CEL do not validate list types in a status either.
        let needs_cel = matches!(&vector.expected, Expected::StatusRefused(why)
            if why.contains("must contain") || why.contains("Duplicate value"));
        if supports_cel || !needs_cel {
            apply(&api, &vector).await.with_context(|| vector.name.clone())?;
        }
        api.delete(NAME, &DeleteParams::default()).await.ok();
        wait::until("the object to be deleted", || async {
            Ok(api.get_opt(NAME).await?.is_none().then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// Creates, updates and compares like the test harness of the OpenShift API project.
async fn apply(api: &Api<DynamicObject>, vector: &Vector) -> Result<()> {
    let created = api.create(&PostParams::default(), &named(&vector.initial)?).await;
    let mut object = match (&vector.expected, created) {
        (Expected::Refused(why), created) if vector.updated.is_none() => {
            return refused(created, why);
        }
        (_, created) => created?,
    };
    if let Some(updated) = &vector.updated {
        let mut wanted = named(updated)?;
        wanted.metadata = object.metadata.clone();
        object = match (&vector.expected, api.replace(NAME, &PostParams::default(), &wanted).await)
        {
            (Expected::Refused(why), answer) => return refused(answer, why),
            (_, answer) => answer?,
        };
        if updated.get("status").is_some() {
            wanted.metadata = object.metadata.clone();
            let answer = api.replace_status(NAME, &PostParams::default(), &wanted).await;
            object = match &vector.expected {
                Expected::StatusRefused(why) => return refused(answer, why),
                _ => answer?,
            };
        }
    }
    let Expected::Accepted(expected) = &vector.expected else {
        bail!("the vector expects a refusal of nothing");
    };
    let stored = serde_json::to_value(&object)?;
    for part in ["spec", "status"] {
        ensure!(stored.get(part) == expected.get(part), "{part} was stored as {stored}");
    }
    Ok(())
}

/// Whether the API server supports CEL; an older one drops the rules from CRDs.
async fn supports_cel(cluster: &TestCluster) -> Result<bool> {
    let crds: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let stored = crds.get("clusterversions.config.openshift.io").await?;
    Ok(serde_json::to_string(&stored)?.contains("x-kubernetes-validations"))
}

fn named(object: &Value) -> Result<DynamicObject> {
    let mut object = object.clone();
    object["metadata"] = json!({ "name": NAME });
    Ok(serde_json::from_value(object)?)
}

/// Checks the text of a refusal, which differs between versions of the API server.
fn refused(answer: kube::Result<DynamicObject>, why: &str) -> Result<()> {
    let older = match why {
        why if why.starts_with("Too long") => "should be at most 256 chars long",
        why => why,
    };
    let error = answer.err().context("the server accepted an invalid object")?.to_string();
    ensure!(error.contains(why) || error.contains(older), "refused with another reason: {error}");
    Ok(())
}
