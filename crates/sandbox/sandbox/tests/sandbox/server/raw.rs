//! Hand-written HTTP/1.1, for requests that no library sends.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use fairway_sandbox::rbac::User;
use fairway_sandbox::sandbox::Sandbox;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Timeout of a response, longer than any takes.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The message of a `Status`.
    pub(crate) fn message(&self) -> String {
        self.json()["message"].as_str().unwrap_or(&self.body).to_owned()
    }
}

/// A TLS connection with or without a client certificate.
pub(crate) async fn connect(
    sandbox: &Sandbox,
    user: Option<&User>,
) -> Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(sandbox.authority().as_bytes())?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    let config = match user {
        None => builder.with_no_client_auth(),
        Some(user) => {
            let identity = sandbox.client_certificate(user)?;
            let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes())?;
            let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
            builder.with_client_auth_cert(vec![certificate], key)?
        }
    };
    let stream = TcpStream::connect(sandbox.address()).await?;
    let name = ServerName::try_from("localhost")?;
    Ok(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
}

/// Sends bytes as administrator and returns the response until the connection ends.
pub(crate) async fn send(sandbox: &Sandbox, request: &[u8]) -> Result<Response> {
    send_as(sandbox, Some(&super::admin()), request).await
}

pub(crate) async fn send_as(
    sandbox: &Sandbox,
    user: Option<&User>,
    request: &[u8],
) -> Result<Response> {
    let mut stream = connect(sandbox, user).await?;
    // A server that responds early closes the connection, so the rest may fail.
    let _ = stream.write_all(request).await;
    let _ = stream.flush().await;
    receive(&mut stream).await
}

/// The response until the connection ends.
pub(crate) async fn receive(stream: &mut TlsStream<TcpStream>) -> Result<Response> {
    let mut bytes = Vec::new();
    // A missing TLS close_notify is an error, but the received bytes count.
    let _ = timeout(RESPONSE_TIMEOUT, stream.read_to_end(&mut bytes)).await.context("no answer")?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").context("the connection broke")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(Response {
        status: status.context("no status")?,
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    })
}

/// A request with the required headers.
pub(crate) fn request(method: &str, path: &str, headers: &[&str], body: &str) -> Vec<u8> {
    let headers: String = headers.iter().flat_map(|header| [header, "\r\n"]).collect();
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Length: {length}\r\n{headers}\r\n{body}"
    )
    .into_bytes()
}
