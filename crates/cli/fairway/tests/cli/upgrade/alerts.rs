//! Alerts and queries of a live cluster.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use fairway_testkit::{TestCluster, wait};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::status::{begin, component};
use super::{create_cluster_version, document, upgrade};

/// An address without a listener.
const UNREACHABLE: &str = "127.0.0.1:1";

/// The token for the monitoring stack.
const TOKEN: &str = "a-token-of-this-session";

/// The ServiceAccount of the monitoring stack, for which tokens are requested.
const READER: &str = "prometheus-k8s";

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_alerts_are_reported() -> Result<()> {
    let cluster = platform(UNREACHABLE).await?;
    let printed = upgrade(cluster.kubeconfig(), &["recommend", "--version=5.1.1"]);
    insta::assert_snapshot!(printed, @r#"
    exit code: 4
    ----- stdout -----
    Issues for any update:
      FailedToCompletePrecheck
        cannot read the alerts: the current credentials contain no token, the metrics service does not accept client certificates, and no token can be created for ServiceAccount openshift-monitoring/prometheus-k8s: serviceaccounts "prometheus-k8s" not found; run `oc login` to get a token

    Upstream is unset, so the cluster will use an appropriate default.
    Channel: stable-5.1

    No known issues with 5.1.1.
      Image: registry.example/release@sha256:4ccec3fd47ee5162962804420d4b53c8ee5ecfc827f79ffd21e679b305742003

    Not accepted: FailedToCompletePrecheck
    To ignore these issues, add --accept=FailedToCompletePrecheck.
    ----- stderr -----
    warning: cannot read the alerts of the cluster: the current credentials contain no token, the metrics service does not accept client certificates, and no token can be created for ServiceAccount openshift-monitoring/prometheus-k8s: serviceaccounts "prometheus-k8s" not found; run `oc login` to get a token
    "#);

    let session = with_token(cluster.kubeconfig())?;
    let gone = document(session.path(), &["recommend", "--version=5.1.1"])?;
    assert_eq!(gone["unaccepted"], json!(["FailedToCompletePrecheck"]));
    let why = gone["alerts"]["message"].as_str().context("no reason")?;
    assert!(why.starts_with(UNREACHABLE), "{why}");
    let graph = graph_with_query()?;
    let graph = format!("--graph={}", graph.path().display());
    let plan = document(session.path(), &["plan", "--to=5.3.0", &graph])?;
    let limitations = plan["limitations"].as_array().context("no limitations")?;
    assert!(limitations.iter().any(|it| it["type"] == "queries"), "{limitations:?}");
    assert_eq!(exposure(&plan, "Asked"), Some("notEvaluated"));
    Ok(())
}

/// The exposure to a risk of the first hop of a plan.
fn exposure<'a>(plan: &'a Value, risk: &str) -> Option<&'a str> {
    let risks = plan["leastRisk"]["hops"][0]["risks"].as_array()?;
    risks.iter().find(|it| it["name"] == risk)?["exposure"].as_str()
}

#[tokio::test(flavor = "multi_thread")]
async fn alerts_are_read_with_session_or_requested_token() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let cluster = platform(&listener.local_addr()?.to_string()).await?;
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])?;
    create_ca_bundle(&cluster, &made.cert.pem()).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), "openshift-monitoring");
    let account = serde_json::from_value(json!({"metadata": {"name": READER}}))?;
    accounts.create(&PostParams::default(), &account).await?;
    let server = tokio::spawn(serve(listener, made, cluster.client()));

    let graph = graph_with_query()?;
    let graph = format!("--graph={}", graph.path().display());
    let with_token = with_token(cluster.kubeconfig())?;
    for session in [with_token.path(), cluster.kubeconfig()] {
        let printed = document(session, &["recommend", "--version=5.1.1"])?;
        assert_eq!(printed["alerts"], json!({"available": true, "message": null}));
        assert_eq!(printed["unaccepted"], json!(["Fire"]));
        let plan = document(session, &["plan", "--to=5.3.0", &graph])?;
        assert_eq!(exposure(&plan, "Asked"), Some("notExposed"));
    }
    component(&cluster).await?;
    begin(&Api::all(cluster.client()), "5.1.1").await?;
    let printed = document(cluster.kubeconfig(), &["status"])?;
    assert_eq!(printed["alerts"], json!({"available": true, "message": null}));
    let insight = &printed["insights"][0];
    assert_eq!(insight["resources"], json!(["alerts.config.openshift.io: Fire"]), "{printed}");
    assert_eq!(insight["level"], "Critical");
    server.abort();
    Ok(())
}

/// A graph in which the risk of 5.3.0 has a PromQL rule.
fn graph_with_query() -> Result<NamedTempFile> {
    let risk = json!({
        "name": "Asked", "message": "It may happen.", "url": "https://example.com/asked",
        "matchingRules": [{"type": "PromQL", "promql": {"promql": "max(some_metric)"}}],
    });
    let node = |version: &str| json!({"version": version, "payload": format!("release:{version}")});
    let graph = json!({
        "nodes": [node("5.1.0"), node("5.3.0")],
        "conditionalEdges": [{"edges": [{"from": "5.1.0", "to": "5.3.0"}], "risks": [risk]}],
    });
    let file = NamedTempFile::new()?;
    std::fs::write(file.path(), graph.to_string())?;
    Ok(file)
}

/// A cluster with updates, and with a Route to the monitoring stack.
async fn platform(host: &str) -> Result<TestCluster> {
    let cluster = TestCluster::start().await?;
    cluster.install_crds().await?;
    create_cluster_version(&cluster).await?;
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": "routes.route.openshift.io"},
        "spec": {
            "group": "route.openshift.io",
            "scope": "Namespaced",
            "names": {"kind": "Route", "plural": "routes", "singular": "route"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    }))?;
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
    definitions.create(&PostParams::default(), &definition).await?;
    namespace(&cluster, "openshift-monitoring").await?;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("route.openshift.io", "v1", "Route"));
    let routes: Api<DynamicObject> =
        Api::namespaced_with(cluster.client(), "openshift-monitoring", &kind);
    let route: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "route.openshift.io/v1",
        "kind": "Route",
        "metadata": {"name": "thanos-querier"},
        "status": {"ingress": [{"host": host}]},
    }))?;
    wait::until("the Route to be taken", || async {
        Ok(routes.create(&PostParams::default(), &route).await.ok())
    })
    .await?;
    Ok(cluster)
}

async fn namespace(cluster: &TestCluster, name: &str) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    Ok(())
}

/// Creates the CA bundle of Routes.
async fn create_ca_bundle(cluster: &TestCluster, bundle: &str) -> Result<()> {
    namespace(cluster, "openshift-config-managed").await?;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "openshift-config-managed");
    let map = serde_json::from_value(json!({
        "metadata": {"name": "default-ingress-cert"}, "data": {"ca-bundle.crt": bundle},
    }))?;
    maps.create(&PostParams::default(), &map).await?;
    Ok(())
}

/// A kubeconfig with an additional token. The API server authenticates its certificate.
fn with_token(kubeconfig: &Path) -> Result<NamedTempFile> {
    let name = kubeconfig.display().to_string();
    let mut document: Value = fairway_api::read::document(&name, &std::fs::read(kubeconfig)?)?;
    document["users"][0]["user"]["token"] = TOKEN.into();
    let file = NamedTempFile::new()?;
    std::fs::write(file.path(), document.to_string())?;
    Ok(file)
}

/// Serves one firing alert to requests with a valid token.
async fn serve(
    listener: TcpListener,
    made: rcgen::CertifiedKey<rcgen::KeyPair>,
    reviewer: Client,
) -> Result<()> {
    // An error means that another test of this process has installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let key =
        PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(anyhow::Error::msg)?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    loop {
        let (stream, _) = listener.accept().await?;
        let Ok(mut stream) = acceptor.accept(stream).await else { continue };
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") && stream.read_buf(&mut request).await? > 0 {}
        let request = String::from_utf8_lossy(&request);
        let answer = respond(&request);
        let known = answer.is_some() && is_valid(&bearer(&request), &reviewer).await;
        let body = json!({"status": "success", "data": answer}).to_string();
        let status = if known { "200 OK" } else { "401 Unauthorized" };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await?;
        stream.shutdown().await?;
    }
}

/// The response to an authenticated request. Every query returns 0.
fn respond(request: &str) -> Option<Value> {
    let labels = json!({"alertname": "Fire", "severity": "critical"});
    let alert = json!({"labels": labels, "state": "firing", "activeAt": "2100-01-01T00:00:00Z"});
    if request.starts_with("GET /api/v1/alerts HTTP/1.1") {
        return Some(json!({"alerts": [alert]}));
    }
    let queried = request.starts_with("GET /api/v1/query?query=");
    queried.then(|| json!({"resultType": "vector", "result": [{"metric": {}, "value": [0, "0"]}]}))
}

/// The token of a request, or empty.
fn bearer(request: &str) -> String {
    let headers = request.lines().filter_map(|line| line.split_once(": "));
    let mut named = headers.filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let value = named.next().and_then(|(_, value)| value.strip_prefix("Bearer "));
    value.unwrap_or_default().to_owned()
}

/// Whether a token is valid: that of the test, or one of the ServiceAccount.
async fn is_valid(token: &str, reviewer: &Client) -> bool {
    let reviews: Api<TokenReview> = Api::all(reviewer.clone());
    let spec = TokenReviewSpec { token: Some(token.to_owned()), ..TokenReviewSpec::default() };
    let review = TokenReview { spec, ..TokenReview::default() };
    let Ok(review) = reviews.create(&PostParams::default(), &review).await else { return false };
    let user = review.status.and_then(|status| status.user).and_then(|user| user.username);
    let own = format!("system:serviceaccount:openshift-monitoring:{READER}");
    token == TOKEN || user == Some(own)
}
