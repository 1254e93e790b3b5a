//! A registry behind TLS, with an authority that only we know.

use std::net::SocketAddr;
use std::sync::Arc;

use fairway_registry::pull::Options;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::releases::images::{Style, release};
use crate::releases::server::Server;
use crate::releases::{found, scan_once, source};

/// Passes on what comes by TLS. Returns where it listens, and the certificate to trust.
pub(crate) async fn protect(server: &Server) -> (SocketAddr, String) {
    protect_as("127.0.0.1", server).await
}

/// The same under another name.
pub(crate) async fn protect_as(name: &str, server: &Server) -> (SocketAddr, String) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let certificate = CertificateDer::from(made.cert.der().to_vec());
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, behind) = (listener.local_addr().unwrap(), server.address());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Who does not trust the certificate hangs up.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            tokio::spawn(async move {
                let mut behind = TcpStream::connect(behind).await.unwrap();
                copy_bidirectional(&mut stream, &mut behind).await
            });
        }
    });
    (address, made.cert.pem())
}

#[tokio::test]
async fn a_certificate_has_to_be_trusted() {
    let server = Server::start().await;
    server.add("4.1.0", &release(Style::Oci, "amd64", "4.1.0"));
    let (address, authority) = protect(&server).await;
    let name = format!("https://{address}/releases");
    let options = Options { attempts: 1, ..Options::default() };
    let error = scan_once(&source(&name, &options)).await.unwrap_err();
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert!(why.contains("invalid peer certificate"), "{why}");

    let options = Options { authorities: authority.into_bytes(), ..options };
    let scan = scan_once(&source(&name, &options)).await.unwrap();
    assert_eq!(found(&scan), ["4.1.0 amd64"]);
    assert!(scan.releases[0].image.starts_with(&format!("{address}/releases@sha256:")));
}
