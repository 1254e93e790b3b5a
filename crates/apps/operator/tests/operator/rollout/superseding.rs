//! Handover to the operator of another release, and resumption after a crash.

use anyhow::Result;
use fairway_testkit::objects;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use super::stage::{Stage, cluster_operator};

const NAMESPACE: &str = "openshift-cluster-version";

/// Creates the operator's namespace, which stays for other tests.
async fn operators_namespace(client: Client) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(client);
    let namespace = serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } }))?;
    match namespaces.create(&PostParams::default(), &namespace).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        created => Ok(created.map(drop)?),
    }
}

/// Sets a target with an operator of an image, and a later manifest.
async fn aim_at_operator(stage: &Stage, image: &str) -> Result<()> {
    operators_namespace(stage.cluster.client()).await?;
    let labels = json!({ "app": "cluster-version-operator" });
    let spec = json!({
                // The Pods do not have to run.
        "replicas": 0,
        "selector": { "matchLabels": labels },
        "template": {
            "metadata": { "labels": labels },
            "spec": { "containers": [{ "name": "operator", "image": image }] },
        },
    });
    let mut operator =
        stage.object("apps/v1", "Deployment", "cluster-version-operator", json!({ "spec": spec }));
    operator["metadata"]["namespace"] = json!(NAMESPACE);
    stage.aim(
        "5.1.0",
        &[
            ("0000_00_cluster-version-operator_1", operator),
            ("0000_10_a_1", stage.config_map("a", "new")),
        ],
    );
    Ok(())
}

#[tokio::test]
async fn operator_of_new_release_takes_over() -> Result<()> {
    let stage = Stage::updating().await?;
    aim_at_operator(&stage, &objects::release("5.1.0").image).await?;
    stage.until_superseded().await?;
    assert!(stage.written().await?.is_empty(), "nothing is begun behind it");
    Ok(())
}

#[tokio::test]
async fn operator_with_other_image_does_not_take_over() -> Result<()> {
    let stage = Stage::updating().await?;
    aim_at_operator(&stage, "registry.example/some/operator:latest").await?;
    let rollout = stage.until_failing(&["UpdatePayloadFailed"]).await?;
    let message = rollout.failures[0].message.replace(&objects::release("5.1.0").image, "IMAGE");
    insta::assert_snapshot!(message, @r#"deployment "openshift-cluster-version/cluster-version-operator" (1 of 2): not applied: the object does not run the release image IMAGE, so no operator would continue the rollout. Request another release, or list the object as unmanaged in spec.overrides of ClusterVersion"#);
    assert!(stage.written().await?.is_empty(), "nothing is begun behind it");
    Ok(())
}

const MAPS: usize = 12;

/// Manifests of the release: the maps, a ClusterOperator, and one to delete.
const MANIFESTS: usize = MAPS + 2;

/// Maps on several levels, with a ClusterOperator in the middle, and a deletion at the beginning.
fn release(stage: &Stage) -> Vec<(String, Value)> {
    let mut manifests: Vec<(String, Value)> = (0..MAPS)
        .map(|number| {
            let (level, component) = (10 * (1 + number / 4), number % 2);
            let map = stage.config_map(&format!("map-{number}"), "new");
            (format!("0000_{level}_part-{component}_{number:02}"), map)
        })
        .collect();
    manifests.push(("0000_20_part-0_99".to_owned(), cluster_operator("network", "5.1.0")));
    let mut old = stage.config_map("old", "new");
    old["metadata"]["annotations"]["release.openshift.io/delete"] = json!("true");
    manifests.push(("0000_10_part-0_99".to_owned(), old));
    manifests
}

#[tokio::test]
async fn rollout_resumes_after_a_crash_at_any_point() -> Result<()> {
    let mut stage = Stage::updating().await?;
    let release = release(&stage);
    let release: Vec<(&str, Value)> =
        release.iter().map(|(file, object)| (file.as_str(), object.clone())).collect();
    stage.aim("5.1.0", &release);
    let mut done = 0;
    for least in [0, 1, 2, 3, 5, 6, 7, 8, 9] {
        let rollout = stage.until(|rollout| rollout.done >= least).await?;
        assert!(rollout.done >= done, "{} after {done}", rollout.done);
        done = rollout.done;
        stage.start();
        let first = stage.until(|_| true).await?;
        assert!(first.done >= done, "{first:?} begins with less than {done}");
    }
    let before = revisions(&stage).await?;
    stage.report("network", &objects::working_at("5.1.0")).await?;
    let rollout = stage.until_complete().await?;
    assert_eq!((rollout.done, rollout.total), (MANIFESTS, MANIFESTS));
    let after = revisions(&stage).await?;
    assert!(before.iter().all(|map| after.contains(map)), "nothing is written twice");
    Ok(())
}

async fn revisions(stage: &Stage) -> Result<Vec<(String, Option<String>)>> {
    let maps = stage.config_maps().list(&ListParams::default()).await?;
    Ok(maps.iter().map(|map| (map.name_any(), map.resource_version())).collect())
}
