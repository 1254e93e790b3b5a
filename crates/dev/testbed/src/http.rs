//! A minimal HTTP client for readiness endpoints.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Timeout of a response. A ready component responds at once; one that is starting may accept the
/// connection and not respond.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_RESPONSE_BYTES: u64 = 1024 * 1024;

/// An HTTP response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Sends a GET over plain HTTP.
pub(crate) fn get(address: SocketAddr, path: &str) -> Result<HttpResponse> {
    exchange(connect(address)?, address, path)
}

/// A client with a certificate that trusts one CA.
#[derive(Debug, Clone)]
pub(crate) struct TlsClient {
    config: Arc<ClientConfig>,
}

impl TlsClient {
    /// A client with PEM texts.
    pub(crate) fn new(ca: &str, certificate: &str, key: &str) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca.as_bytes())?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_client_auth_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes())?],
                PrivateKeyDer::from_pem_slice(key.as_bytes())?,
            )?;
        Ok(Self { config: Arc::new(config) })
    }

    /// Sends a GET over TLS.
    pub(crate) fn get(&self, address: SocketAddr, path: &str) -> Result<HttpResponse> {
        let name = ServerName::IpAddress(address.ip().into());
        let connection = ClientConnection::new(Arc::clone(&self.config), name)?;
        exchange(StreamOwned::new(connection, connect(address)?), address, path)
    }
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, RESPONSE_TIMEOUT)?;
    stream.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
    stream.set_write_timeout(Some(RESPONSE_TIMEOUT))?;
    Ok(stream)
}

/// Uses HTTP/1.0, whose responses end with the connection and are not chunked.
fn exchange(
    mut stream: impl Read + Write,
    address: SocketAddr,
    path: &str,
) -> Result<HttpResponse> {
    // In one write: a server may respond and close after it has read the first part.
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept: */*\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut response = Vec::new();
    match stream.take(MAX_RESPONSE_BYTES).read_to_end(&mut response) {
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => return Err(error.into()),
        _ => {}
    }
    parse(&String::from_utf8_lossy(&response)).context("not an HTTP response")
}

fn parse(response: &str) -> Option<HttpResponse> {
    let (head, body) = response.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split_whitespace().nth(1)?.parse().ok()?;
    Some(HttpResponse { status, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_splits_status_and_body() {
        let response = parse("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        assert_eq!(response, HttpResponse { status: 200, body: "ok".to_owned() });
        assert_eq!(parse("SSH-2.0-server\r\n"), None);
    }

    #[test]
    fn get_returns_the_response() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            let mut request = [0; 512];
            let length = stream.read(&mut request).unwrap();
            stream.write_all(b"HTTP/1.0 404 Not Found\r\n\r\nno").unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let response = get(address, "/v2/").unwrap();
        assert_eq!(response, HttpResponse { status: 404, body: "no".to_owned() });
        assert!(serving.join().unwrap().starts_with("GET /v2/ HTTP/1.0\r\n"));
    }
}
