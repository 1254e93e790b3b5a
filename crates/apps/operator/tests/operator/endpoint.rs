//! The endpoint over real connections.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use fairway_http::TlsFiles;
use fairway_operator::endpoint::{
    EndpointError, EndpointSettings, Operations, Phase, start as start_endpoint,
};
use fairway_operator::metrics::Metrics;
use fairway_testkit::wait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

struct Endpoint {
    address: SocketAddr,
    phase: watch::Sender<Phase>,
    metrics: Arc<Metrics>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl Endpoint {
    async fn start(tls: Option<TlsFiles>) -> Result<Self> {
        let (phase, told) = watch::channel(Phase::Waiting);
        let metrics = Arc::new(Metrics::default());
        let (tasks, closing) = (TaskTracker::new(), CancellationToken::new());
        let settings = EndpointSettings { listen: ([127, 0, 0, 1], 0).into(), tls };
        let stop = CancellationToken::new();
        let operations = Operations { metrics: Arc::clone(&metrics), phase: told, stop };
        let address = start_endpoint(settings, operations, &tasks, closing.clone()).await?;
        Ok(Self { address, phase, metrics, tasks, closing })
    }

    async fn get(&self, client: &reqwest::Client, path: &str) -> Result<(u16, String)> {
        let scheme = if path.starts_with("tls") { "https" } else { "http" };
        let path = path.trim_start_matches("tls");
        let url = format!("{scheme}://localhost:{}{path}", self.address.port());
        let answer = client.get(url).send().await?;
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

#[tokio::test]
async fn probes_and_metrics_over_plain_http() -> Result<()> {
    let endpoint = Endpoint::start(None).await?;
    let client = client(None)?;
    assert_eq!(endpoint.get(&client, "/healthz").await?, (200, "ok".to_owned()));
    assert_eq!(endpoint.get(&client, "/readyz").await?.0, 503);
    endpoint.phase.send_replace(Phase::Leading);
    assert_eq!(endpoint.get(&client, "/readyz").await?.0, 200);
    endpoint.metrics.queries().failed();
    let (_, metrics) = endpoint.get(&client, "/metrics").await?;
    assert!(metrics.contains("cluster_operator_promql_failed_evaluations_total 1"), "{metrics}");
    endpoint.closing.cancel();
    endpoint.tasks.close();
    endpoint.tasks.wait().await;
    assert!(endpoint.get(&client, "/healthz").await.is_err());
    Ok(())
}

#[tokio::test]
async fn endpoint_reloads_valid_certificates_only() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let files = TlsFiles {
        certificate: directory.path().join("tls.crt"),
        key: directory.path().join("tls.key"),
        every: Duration::from_millis(20),
    };
    fs::write(&files.certificate, "nonsense")?;
    fs::write(&files.key, "nonsense")?;
    assert!(matches!(Endpoint::start(Some(files.clone())).await.err(), Some(error)
        if matches!(error.downcast_ref(), Some(EndpointError::Tls(_)))));
    write_certificate(&files)?;
    let endpoint = Endpoint::start(Some(files.clone())).await?;
    let before = client(Some(&files.certificate))?;
    assert_eq!(endpoint.get(&before, "tls/healthz").await?.0, 200);

    fs::write(&files.key, "nonsense")?;
    wait::until("the error to be counted", async || {
        let metrics = endpoint.metrics.text();
        Ok((!metrics.contains("fairway_operator_tls_reload_errors_total 0")).then_some(()))
    })
    .await?;
    assert_eq!(endpoint.get(&before, "tls/healthz").await?.0, 200);

    write_certificate(&files)?;
    let after = client(Some(&files.certificate))?;
    wait::until("the new certificate", async || {
        Ok(endpoint.get(&after, "tls/healthz").await.is_ok().then_some(()))
    })
    .await?;
    assert!(endpoint.get(&before, "tls/healthz").await.is_err());
    Ok(())
}

#[tokio::test]
async fn endpoint_without_certificate_is_self_signed() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let files = TlsFiles {
        certificate: directory.path().join("tls.crt"),
        key: directory.path().join("tls.key"),
        every: Duration::from_millis(20),
    };
    let endpoint = Endpoint::start(Some(files.clone())).await?;
    // Probes do not validate certificates.
    let insecure = client_builder().tls_danger_accept_invalid_certs(true).build()?;
    assert_eq!(endpoint.get(&insecure, "tls/healthz").await?.0, 200);
    assert!(endpoint.metrics.text().contains("fairway_operator_tls_reload_errors_total 0"));

    write_certificate(&files)?;
    let issued = client(Some(&files.certificate))?;
    wait::until("the certificate that was issued", async || {
        Ok(endpoint.get(&issued, "tls/healthz").await.is_ok().then_some(()))
    })
    .await
}

#[tokio::test]
async fn endpoint_refuses_invalid_and_large_requests() -> Result<()> {
    let endpoint = Endpoint::start(None).await?;
    for (sent, expected) in [
        ("nonsense\r\n\r\n".to_owned(), "HTTP/1.1 400"),
        (format!("GET /healthz HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(64 << 10)), "HTTP/1.1 431"),
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
