//! `fairway olm-guard`, deployed.

use std::net::TcpListener;

use anyhow::{Context as _, Result};
use fairway_api::read;
use fairway_registry::LayerBuilder;
use fairway_registry::base::{BaseImage, LayerCompression};
use fairway_testkit::{TestCluster, environment, olm, wait};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use super::{OPERATORS, install, prepare, run, up_to};

/// The deployed manifests.
const MANIFESTS: [&str; 2] = [
    include_str!("../../../../../../deploy/olm-guard/rbac.yaml"),
    include_str!("../../../../../../deploy/olm-guard/deployment.yaml"),
];

#[tokio::test(flavor = "multi_thread")]
async fn deployed_guard_is_reached_through_its_service() -> Result<()> {
    let cluster = TestCluster::start_sandbox(&["node-1"]).await?;
    prepare(&cluster).await?;
    let namespaces = Api::<Namespace>::all(cluster.client());
    let namespace =
        serde_json::from_value(json!({"metadata": {"name": "openshift-cluster-version"}}))?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    install(&cluster, "default", "silent.v1", json!({})).await?;
    deploy(&cluster).await?;

    let rehearsal = PostParams { dry_run: true, ..PostParams::default() };
    let too_old = olm::object(OPERATORS, "old.v1", json!({"metadata": up_to("5.0"), "spec": {}}))?;
    let api = olm::objects(&cluster.client(), OPERATORS, "default")?;
    let printed = wait::until("the webhook to refuse", || async {
        match api.create(&rehearsal, &too_old).await {
            Err(kube::Error::Api(status)) => Ok(Some(status.message)),
            _ => Ok(None),
        }
    })
    .await?;
    insta::assert_snapshot!(printed, @r#"admission webhook "olm-guard.fairway.dev" denied the request: the operator default/old.v1 supports OpenShift up to 5.0, but this cluster runs 5.1: choose a version of the operator that supports 5.1"#);
    install(&cluster, "default", "same.v1", up_to("5.1")).await?;

    // The report names the operator without a maximum version.
    let notes = wait::until("the guard to note what it does not know", || async {
        let text = run(cluster.kubeconfig(), &["upgrade", "-o", "json"]);
        let document = text.split_once("stdout -----\n").context("no document")?.1;
        let document: Value = serde_json::from_str(document)?;
        let notes = document["notes"].as_array().context("no notes")?;
        Ok((!notes.is_empty()).then(|| json!(notes)))
    })
    .await?;
    insta::assert_snapshot!(notes, @r#"[{"component":"operator-lifecycle-manager","message":"These operators may not run on the target, because they declare no valid maximum version: default/silent.v1","updates":["5.3.0","5.2.0"]}]"#);
    Ok(())
}

/// Deploys the guard. Pods of a sandbox share the network of the host, so there is one replica, on an
/// unused port.
async fn deploy(cluster: &TestCluster) -> Result<()> {
    let program = environment::fairway_program()?;
    let base = BaseImage::from_binary(&program, LayerCompression::Plain)?;
    let image = base.with(LayerBuilder::new().build_uncompressed()?, [], None);
    let image = cluster.publish(&image, "olm-guard", "test").await?;
    let unused = || Ok::<_, std::io::Error>(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port());
    let (port, probe_port) = (unused()?.to_string(), unused()?.to_string());
    for manifests in MANIFESTS {
        let manifests = manifests
            .replace("image: IMAGE", &format!("image: {image}"))
            .replace("replicas: 2", "replicas: 1")
            .replace("9443", &port)
            .replace("9444", &probe_port);
        for object in read::documents::<DynamicObject>("manifests", manifests.as_bytes())? {
            let types = object.types.as_ref().context("no kind")?;
            let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types)?);
            let api = match object.namespace() {
                Some(namespace) => {
                    Api::<DynamicObject>::namespaced_with(cluster.client(), &namespace, &resource)
                }
                None => Api::all_with(cluster.client(), &resource),
            };
            api.create(&PostParams::default(), &object).await?;
        }
    }
    Ok(())
}
