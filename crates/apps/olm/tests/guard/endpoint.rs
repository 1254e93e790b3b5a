//! The endpoints of a guard: floods of connections, and TLS profiles.

use anyhow::Result;
use fairway_testkit::{ConnectionFlood, wait};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use serde_json::json;
use tokio::net::TcpListener;

use crate::support::{Platform, http_client, up_to};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_of_idle_connections_does_not_silence_the_webhook() -> Result<()> {
    let platform = Platform::begin(Some("4.7.2")).await?;
    // The kernel does not reuse a port that soon.
    let probes = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    let mut settings = platform.settings()?;
    settings.probes = Some(probes);
    let guard = platform.start(settings)?;
    platform.until_refused("4.6").await?;
    let flood = ConnectionFlood::start(platform.address()?, 500).await?;
    let http = http_client().build()?;
    flood
        .withstand(async || {
            // The API server ignores a webhook that does not respond in time.
            let installed = platform.install_dry_run("too-old", up_to("4.6")).await;
            assert!(installed.is_err(), "the webhook did not respond");
            let probe = http.get(format!("http://{probes}/readyz")).send().await?;
            assert_eq!(probe.status(), 200);
            Ok(())
        })
        .await?;
    // Evicted connections were opened again, so the flood has lasted.
    assert!(flood.opened() > 500);
    drop(flood);
    guard.stop().await
}

#[tokio::test]
async fn webhook_follows_the_tls_profile() -> Result<()> {
    let platform = Platform::begin(Some("4.7.2")).await?;
    let guard = platform.start(platform.settings()?)?;
    platform.until_refused("4.6").await?;
    let old = http_client()
        .tls_danger_accept_invalid_certs(true)
        .tls_version_max(reqwest::tls::Version::TLS_1_2)
        .build()?;
    let url = format!("https://{}/metrics", platform.address()?);
    assert_eq!(old.get(&url).send().await?.status(), 200);

    let crds = Api::<CustomResourceDefinition>::all(platform.client());
    let crd = json!({
        "metadata": {"name": "apiservers.config.openshift.io"},
        "spec": {
            "group": "config.openshift.io", "scope": "Cluster",
            "names": {"plural": "apiservers", "singular": "apiserver", "kind": "APIServer", "listKind": "APIServerList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    crds.create(&PostParams::default(), &serde_json::from_value(crd)?).await?;
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "APIServer");
    let resource = ApiResource::from_gvk(&kind);
    let api = Api::<DynamicObject>::all_with(platform.client(), &resource);
    let modern = serde_json::from_value(json!({
        "apiVersion": "config.openshift.io/v1", "kind": "APIServer",
        "metadata": {"name": "cluster"},
        "spec": {"tlsSecurityProfile": {"type": "Modern"}},
    }))?;
    wait::until("the kind to be served", || async {
        Ok(api.create(&PostParams::default(), &modern).await.ok())
    })
    .await?;
    let refused = wait::until("TLS 1.2 to be refused", || async {
        Ok(old.get(&url).send().await.is_err().then_some(()))
    })
    .await;
    crds.delete("apiservers.config.openshift.io", &DeleteParams::default()).await?;
    refused?;
    platform.until_refused("4.6").await?;
    guard.stop().await
}
