//! The endpoints over real connections.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_http::{TlsFiles, TlsProfile};
use fairway_operator::endpoint::{
    EndpointError, EndpointSettings, EndpointTasks, MetricsAuth, MetricsContent, Operations, Phase,
    start as start_endpoint, start_probes,
};
use fairway_operator::metrics::Metrics;
use fairway_sandbox::faults::Fault;
use fairway_testkit::{ConnectionFlood, TestCluster, TestNamespace, wait};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Timeout of the kubelet's probes, and less than that of scrapes.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

struct Endpoint {
    address: SocketAddr,
    metrics: Arc<Metrics>,
    tls_profile: watch::Sender<Option<TlsProfile>>,
    tasks: EndpointTasks,
}

fn loopback() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn settings(tls: Option<TlsFiles>) -> EndpointSettings {
    EndpointSettings { listen: loopback(), tls, client_ca: None, auth: MetricsAuth::None }
}

/// A client of no cluster, for endpoints that review no tokens.
fn no_cluster() -> Client {
    let unused = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("no cluster"))
    });
    Client::new(unused, "default")
}

impl Endpoint {
    async fn start(tls: Option<TlsFiles>) -> Result<Self> {
        Self::start_with(settings(tls), no_cluster()).await
    }

    async fn start_with(settings: EndpointSettings, client: Client) -> Result<Self> {
        let (tls_profile, profiles) = watch::channel(None);
        let metrics = Arc::new(Metrics::default());
        let tasks = EndpointTasks::default();
        let content =
            MetricsContent { metrics: Arc::clone(&metrics), client, tls_profile: profiles };
        let mut bound = start_endpoint(settings, content, tasks.clone())?;
        let address = bound.wait_for(Option::is_some).await?.context("no address")?;
        Ok(Self { address, metrics, tls_profile, tasks })
    }

    async fn get(&self, client: &reqwest::Client, path: &str) -> Result<(u16, String)> {
        self.get_with_token(client, path, None).await
    }

    async fn get_with_token(
        &self,
        client: &reqwest::Client,
        path: &str,
        token: Option<&str>,
    ) -> Result<(u16, String)> {
        let scheme = if path.starts_with("tls") { "https" } else { "http" };
        let path = path.trim_start_matches("tls");
        let mut request = client.get(format!("{scheme}://localhost:{}{path}", self.address.port()));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }
}

fn client(authority: Option<&Path>) -> Result<reqwest::Client> {
    let builder = client_builder();
    Ok(match authority {
        None => builder.build()?,
        Some(path) => {
            let authority = reqwest::Certificate::from_pem(&fs::read(path)?)?;
            builder.tls_certs_only([authority]).build()?
        }
    })
}

fn client_builder() -> reqwest::ClientBuilder {
    // An error means that another test of this process has installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0)
}

fn write_certificate(files: &TlsFiles) -> Result<()> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    fs::write(&files.key, made.signing_key.serialize_pem())?;
    fs::write(&files.certificate, made.cert.pem())?;
    Ok(())
}

/// Paths of a certificate in a directory.
fn files(directory: &TempDir) -> TlsFiles {
    TlsFiles {
        certificate: directory.path().join("tls.crt"),
        key: directory.path().join("tls.key"),
        every: Duration::from_millis(20),
    }
}

#[tokio::test]
async fn metrics_over_plain_http() -> Result<()> {
    let endpoint = Endpoint::start(None).await?;
    let client = client(None)?;
    endpoint.metrics.queries().failed();
    let (_, metrics) = endpoint.get(&client, "/metrics").await?;
    assert!(metrics.contains("cluster_operator_promql_failed_evaluations_total 1"), "{metrics}");
    assert_eq!(endpoint.get(&client, "/healthz").await?.0, 404, "probes have their own listener");
    endpoint.tasks.closing.cancel();
    endpoint.tasks.tasks.close();
    endpoint.tasks.tasks.wait().await;
    assert!(endpoint.get(&client, "/metrics").await.is_err());
    Ok(())
}

/// Starts the endpoint for probes.
async fn probes() -> Result<(SocketAddr, watch::Sender<Phase>, EndpointTasks)> {
    let (phase, receiver) = watch::channel(Phase::Waiting);
    let operations = Operations { phase: receiver, stop: CancellationToken::new() };
    let tasks = EndpointTasks::default();
    let mut bound = start_probes(loopback(), operations, tasks.clone());
    let address = bound.wait_for(Option::is_some).await?.context("no address")?;
    Ok((address, phase, tasks))
}

/// Sends a probe; the error is that of the kubelet.
async fn probe(client: &reqwest::Client, address: SocketAddr, path: &str) -> Result<u16> {
    let request = client.get(format!("http://{address}{path}")).timeout(PROBE_TIMEOUT);
    Ok(request.send().await?.status().as_u16())
}

#[tokio::test]
async fn probes_report_the_phase() -> Result<()> {
    let (address, phase, _tasks) = probes().await?;
    let client = client(None)?;
    assert_eq!(probe(&client, address, "/healthz").await?, 200);
    assert_eq!(probe(&client, address, "/readyz").await?, 503);
    phase.send_replace(Phase::Leading);
    assert_eq!(probe(&client, address, "/readyz").await?, 200);
    Ok(())
}

#[tokio::test]
async fn endpoint_on_taken_port_starts_when_it_is_free() -> Result<()> {
    let taken = TcpListener::bind("127.0.0.1:0").await?;
    let listen = taken.local_addr()?;
    let settings = EndpointSettings { listen, ..settings(None) };
    let starting = tokio::spawn(Endpoint::start_with(settings, no_cluster()));
    // The first attempt fails.
    tokio::task::yield_now().await;
    assert!(!starting.is_finished());
    drop(taken);
    let endpoint = starting.await??;
    assert_eq!(endpoint.address, listen);
    assert_eq!(endpoint.get(&client(None)?, "/metrics").await?.0, 200);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_of_idle_connections_delays_neither_probes_nor_scrapes() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let files = files(&directory);
    write_certificate(&files)?;
    let endpoint = Endpoint::start(Some(files.clone())).await?;
    let (probe_address, _phase, _tasks) = probes().await?;
    let flood = ConnectionFlood::start(endpoint.address, 500).await?;
    let probe_flood = ConnectionFlood::start(probe_address, 500).await?;
    let (scraper, prober) = (client(Some(&files.certificate))?, client(None)?);
    flood
        .withstand(async || {
            let answer = timeout(PROBE_TIMEOUT, endpoint.get(&scraper, "tls/metrics")).await;
            assert_eq!(answer.context("the scrape timed out")??.0, 200);
            assert_eq!(probe(&prober, probe_address, "/healthz").await?, 200);
            Ok(())
        })
        .await?;
    // Evicted connections were opened again, so the flood has lasted.
    assert!(flood.opened() > 500 && probe_flood.opened() > 500);
    Ok(())
}

#[tokio::test]
async fn endpoint_reloads_valid_certificates_only() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let files = files(&directory);
    fs::write(&files.certificate, "nonsense")?;
    fs::write(&files.key, "nonsense")?;
    assert!(matches!(Endpoint::start(Some(files.clone())).await.err(), Some(error)
        if matches!(error.downcast_ref(), Some(EndpointError::Tls(_)))));
    write_certificate(&files)?;
    let endpoint = Endpoint::start(Some(files.clone())).await?;
    let before = client(Some(&files.certificate))?;
    assert_eq!(endpoint.get(&before, "tls/metrics").await?.0, 200);

    fs::write(&files.key, "nonsense")?;
    wait::until("the error to be counted", async || {
        let metrics = endpoint.metrics.text();
        Ok((!metrics.contains("fairway_operator_tls_reload_errors_total 0")).then_some(()))
    })
    .await?;
    assert_eq!(endpoint.get(&before, "tls/metrics").await?.0, 200);

    write_certificate(&files)?;
    let after = client(Some(&files.certificate))?;
    wait::until("the new certificate", async || {
        Ok(endpoint.get(&after, "tls/metrics").await.is_ok().then_some(()))
    })
    .await?;
    assert!(endpoint.get(&before, "tls/metrics").await.is_err());
    Ok(())
}

#[tokio::test]
async fn endpoint_without_certificate_is_self_signed() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let files = files(&directory);
    let endpoint = Endpoint::start(Some(files.clone())).await?;
    let unverified = client_builder().tls_danger_accept_invalid_certs(true).build()?;
    assert_eq!(endpoint.get(&unverified, "tls/metrics").await?.0, 200);
    assert!(endpoint.metrics.text().contains("fairway_operator_tls_reload_errors_total 0"));

    write_certificate(&files)?;
    let issued = client(Some(&files.certificate))?;
    wait::until("the certificate that was issued", async || {
        Ok(endpoint.get(&issued, "tls/metrics").await.is_ok().then_some(()))
    })
    .await
}

#[tokio::test]
async fn endpoint_refuses_invalid_and_large_requests() -> Result<()> {
    let endpoint = Endpoint::start(None).await?;
    for (sent, expected) in [
        ("nonsense\r\n\r\n".to_owned(), "HTTP/1.1 400"),
        (format!("GET /metrics HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(64 << 10)), "HTTP/1.1 431"),
        ("POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n".to_owned(), "HTTP/1.1 405"),
    ] {
        let mut stream = TcpStream::connect(endpoint.address).await?;
        // The connection may be closed before all of it is sent.
        let _ = stream.write_all(sent.as_bytes()).await;
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).await?;
        assert_eq!(String::from_utf8_lossy(&begin), expected);
    }
    Ok(())
}

/// A ServiceAccount, and its token.
async fn token(namespace: &TestNamespace, name: &str) -> Result<String> {
    let account = serde_json::from_value(json!({"metadata": {"name": name}}))?;
    let accounts: Api<ServiceAccount> = namespace.api();
    accounts.create(&PostParams::default(), &account).await?;
    let (request, parameters) = (TokenRequest::default(), PostParams::default());
    let issued = accounts.create_token_request(name, &parameters, &request).await?;
    Ok(issued.status.context("no token")?.token)
}

/// Lets a ServiceAccount read metrics. The objects have the name of the namespace.
async fn allow(client: &Client, namespace: &str, account: &str) -> Result<()> {
    let metadata = json!({"name": namespace});
    let rules = json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]);
    let role = serde_json::from_value(json!({"metadata": metadata, "rules": rules}))?;
    Api::<ClusterRole>::all(client.clone()).create(&PostParams::default(), &role).await?;
    let binding = serde_json::from_value(json!({
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": namespace},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }))?;
    Api::<ClusterRoleBinding>::all(client.clone()).create(&PostParams::default(), &binding).await?;
    Ok(())
}

/// Removes the permission.
async fn forbid(client: &Client, namespace: &str) -> Result<()> {
    let parameters = DeleteParams::default();
    Api::<ClusterRole>::all(client.clone()).delete(namespace, &parameters).await?;
    Api::<ClusterRoleBinding>::all(client.clone()).delete(namespace, &parameters).await?;
    Ok(())
}

#[tokio::test]
async fn metrics_with_auth_need_the_token_of_an_allowed_user() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("metrics").await?;
    let (reader, other) = (token(&namespace, "reader").await?, token(&namespace, "other").await?);
    let late = token(&namespace, "late").await?;
    allow(&cluster.client(), namespace.name(), "reader").await?;
    let settings = EndpointSettings { auth: MetricsAuth::Token, ..settings(None) };
    let endpoint = Endpoint::start_with(settings, cluster.client()).await?;
    let http = client(None)?;
    let get = async |token: Option<&str>| endpoint.get_with_token(&http, "/metrics", token).await;
    // The API server may need a moment to see the new role.
    wait::until("the reader to be allowed", async || {
        Ok((get(Some(&reader)).await?.0 == 200).then_some(()))
    })
    .await?;
    assert!(get(Some(&reader)).await?.1.ends_with("# EOF\n"));
    let mut printed = Vec::new();
    for token in [None, Some("nonsense"), Some(&other)] {
        let (status, text) = get(token).await?;
        printed.push(format!("{status} {text}"));
    }
    insta::assert_snapshot!(printed.join("\n"), @r"
    401 authentication required: send a bearer token
    401 the bearer token is invalid
    403 the user of the token may not get the non-resource URL /metrics
    ");
    if let Some(sandbox) = cluster.as_sandbox() {
        for resource in ["tokenreviews", "subjectaccessreviews"] {
            sandbox.faults().add(Fault::refuse(500).verb("create").resource(resource));
            let (status, text) = get(Some(&late)).await?;
            assert_eq!(status, 503, "{resource}");
            insta::allow_duplicates! {
                insta::assert_snapshot!(text, @"cannot verify the bearer token with the API server; retry later");
            }
            assert_eq!(get(Some(&reader)).await?.0, 200, "the decision is cached");
            sandbox.faults().clear();
        }
        assert_eq!(get(Some(&late)).await?.0, 403);
    }
    forbid(&cluster.client(), namespace.name()).await
}

/// Writes a CA, and returns the identity of a client.
fn issue(ca: &Path) -> Result<reqwest::Identity> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    fs::write(ca, params.self_signed(&key)?.pem())?;
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate()?;
    let certificate =
        CertificateParams::new(["prometheus".to_owned()])?.signed_by(&key, &issuer)?;
    Ok(reqwest::Identity::from_pem((key.serialize_pem() + &certificate.pem()).as_bytes())?)
}

#[tokio::test]
async fn metrics_with_auth_accept_client_certificates_of_the_ca() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let files = files(&directory);
    write_certificate(&files)?;
    let ca = directory.path().join("ca.crt");
    let settings = EndpointSettings {
        auth: MetricsAuth::Token,
        client_ca: Some(ca.clone()),
        ..settings(Some(files.clone()))
    };
    let endpoint = Endpoint::start_with(settings, no_cluster()).await?;
    let server = reqwest::Certificate::from_pem(&fs::read(&files.certificate)?)?;
    let with = |identity: Option<reqwest::Identity>| -> Result<reqwest::Client> {
        let builder = client_builder().tls_certs_only([server.clone()]);
        Ok(match identity {
            Some(identity) => builder.identity(identity).build()?,
            None => builder.build()?,
        })
    };
    assert_eq!(endpoint.get(&with(None)?, "tls/metrics").await?.0, 401);
    // The file may be created while the operator runs.
    let prometheus = with(Some(issue(&ca)?))?;
    wait::until("the certificate to be accepted", async || {
        Ok((endpoint.get(&prometheus, "tls/metrics").await?.0 == 200).then_some(()))
    })
    .await?;
    assert_eq!(endpoint.get(&with(None)?, "tls/metrics").await?.0, 401);
    let stranger = with(Some(issue(&directory.path().join("other.crt"))?))?;
    let refused = endpoint.get(&stranger, "tls/metrics").await;
    assert!(refused.is_err() || refused.is_ok_and(|(status, _)| status == 401));
    // A token that cannot be reviewed opens nothing.
    let unreviewed = endpoint.get_with_token(&with(None)?, "tls/metrics", Some("token")).await?;
    assert_eq!(unreviewed.0, 503);
    Ok(())
}

#[tokio::test]
async fn endpoint_follows_the_tls_profile() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let files = files(&directory);
    write_certificate(&files)?;
    let endpoint = Endpoint::start(Some(files.clone())).await?;
    let ca = reqwest::Certificate::from_pem(&fs::read(&files.certificate)?)?;
    let old = client_builder()
        .tls_certs_only([ca.clone()])
        .tls_version_max(reqwest::tls::Version::TLS_1_2)
        .build()?;
    let new = client_builder().tls_certs_only([ca]).build()?;
    assert_eq!(endpoint.get(&old, "tls/metrics").await?.0, 200);
    let modern = TlsProfile { min_version: "VersionTLS13".to_owned(), cipher_suites: Vec::new() };
    endpoint.tls_profile.send_replace(Some(modern));
    wait::until("TLS 1.2 to be refused", async || {
        Ok(endpoint.get(&old, "tls/metrics").await.is_err().then_some(()))
    })
    .await?;
    assert_eq!(endpoint.get(&new, "tls/metrics").await?.0, 200);
    Ok(())
}
