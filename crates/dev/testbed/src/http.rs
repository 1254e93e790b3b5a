//! Just enough of HTTP to ask a component whether it is ready.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A component that is ready answers at once; one that is not may accept and stay silent.
const PATIENCE: Duration = Duration::from_secs(5);
const LONGEST_ANSWER: u64 = 1024 * 1024;

/// A server's answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Reads a path over plain HTTP.
pub(crate) fn get(address: SocketAddr, path: &str) -> Result<Answer> {
    exchange(connect(address)?, address, path)
}

/// A client that shows a certificate and trusts one authority.
#[derive(Debug, Clone)]
pub(crate) struct TlsClient {
    config: Arc<ClientConfig>,
}

impl TlsClient {
    /// A client from PEM texts.
    pub(crate) fn new(authority: &str, certificate: &str, key: &str) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
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

    /// Reads a path over TLS.
    pub(crate) fn get(&self, address: SocketAddr, path: &str) -> Result<Answer> {
        let name = ServerName::IpAddress(address.ip().into());
        let connection = ClientConnection::new(Arc::clone(&self.config), name)?;
        exchange(StreamOwned::new(connection, connect(address)?), address, path)
    }
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// HTTP/1.0, whose answers end with the connection and come in one piece.
fn exchange(mut stream: impl Read + Write, address: SocketAddr, path: &str) -> Result<Answer> {
    // In one piece: a server may answer and close as soon as it has read the first.
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept: */*\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut answer = Vec::new();
    match stream.take(LONGEST_ANSWER).read_to_end(&mut answer) {
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => return Err(error.into()),
        _ => {}
    }
    parse(&String::from_utf8_lossy(&answer)).context("not an HTTP response")
}

fn parse(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split_whitespace().nth(1)?.parse().ok()?;
    Some(Answer { status, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_and_body_are_told_apart() {
        let answer = parse("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        assert_eq!(answer, Answer { status: 200, body: "ok".to_owned() });
        assert_eq!(parse("SSH-2.0-server\r\n"), None);
    }

    #[test]
    fn a_path_is_read_from_a_server() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            let mut request = [0; 512];
            let length = stream.read(&mut request).unwrap();
            stream.write_all(b"HTTP/1.0 404 Not Found\r\n\r\nno").unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let answer = get(address, "/v2/").unwrap();
        assert_eq!(answer, Answer { status: 404, body: "no".to_owned() });
        assert!(serving.join().unwrap().starts_with("GET /v2/ HTTP/1.0\r\n"));
    }
}
