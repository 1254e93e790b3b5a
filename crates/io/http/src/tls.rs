//! TLS certificates, reloaded when their files change, and the trusted CA certificates of clients.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use reqwest::ClientBuilder;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Certificate files in PEM, which are reloaded when they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, with its intermediate certificates.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Poll interval of the files.
    pub every: Duration,
}

/// Errors of TLS certificates.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is not PEM.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: pem::Error,
    },
    /// A self-signed certificate cannot be generated.
    #[error("cannot generate a certificate")]
    Make(#[from] rcgen::Error),
    /// Certificate or key is invalid.
    #[error("cannot use the certificate in {}", path.display())]
    Unusable {
        /// File of the certificate.
        path: PathBuf,
        /// The cause.
        source: rustls::Error,
    },
}

impl TlsError {
    /// Whether a file does not exist.
    fn is_missing(&self) -> bool {
        let Self::Read { source: pem::Error::Io(error), .. } = self else { return false };
        error.kind() == io::ErrorKind::NotFound
    }
}

/// The certificate of a server.
pub struct Certificate {
    files: TlsFiles,
    current: ArcSwap<Loaded>,
}

impl Certificate {
    /// Loads the certificate.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        Ok(Self { current: ArcSwap::from_pointee(load(&files)?), files })
    }

    /// Loads the certificate, or generates a self-signed one until its file exists: the issuer of
    /// certificates may need this server first.
    pub fn load_or_make(files: TlsFiles) -> Result<Self, TlsError> {
        let loaded = match load(&files) {
            Err(error) if error.is_missing() => {
                let certificate = files.certificate.display();
                tracing::warn!(%certificate, "no certificate found; using a self-signed one");
                generate(&files)?
            }
            loaded => loaded?,
        };
        Ok(Self { current: ArcSwap::from_pointee(loaded), files })
    }

    /// TLS configuration of the next connection.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.load().config)
    }

    /// Reloads the certificate until the server stops. An invalid one is counted, and the current one
    /// stays in use.
    pub async fn keep(self: Arc<Self>, stopping: CancellationToken, count_error: impl Fn() + Send) {
        while timeout(self.files.every, stopping.cancelled()).await.is_err() {
            let files = self.files.clone();
            match tokio::task::spawn_blocking(move || load(&files)).await {
                Ok(Ok(loaded)) if loaded.certificates == self.current.load().certificates => {}
                Ok(Ok(loaded)) => {
                    tracing::info!("certificate reloaded");
                    self.current.store(Arc::new(loaded));
                }
                Ok(Err(error)) if error.is_missing() && self.current.load().is_self_signed => {}
                Ok(Err(error)) => {
                    count_error();
                    tracing::error!(%error, "cannot reload certificate; keeping the previous one");
                }
                Err(error) => tracing::error!(%error, "certificate reload task failed"),
            }
        }
    }
}

struct Loaded {
    /// Whether it is self-signed.
    is_self_signed: bool,
    certificates: Vec<CertificateDer<'static>>,
    config: Arc<ServerConfig>,
}

fn load(files: &TlsFiles) -> Result<Loaded, TlsError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::Read { path, source }
    };
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(at(&files.certificate))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(at(&files.key))?;
    secured(files, certificates, key, false)
}

/// Generates a self-signed certificate: it encrypts without authentication.
fn generate(files: &TlsFiles) -> Result<Loaded, TlsError> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    secured(files, vec![made.cert.der().clone()], key.into(), true)
}

fn secured(
    files: &TlsFiles,
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    is_self_signed: bool,
) -> Result<Loaded, TlsError> {
    let unusable = |source| TlsError::Unusable { path: files.certificate.clone(), source };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(certificates.clone(), key)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Loaded { is_self_signed, certificates, config: Arc::new(config) })
}

/// A client that trusts the CA certificates of the host. On a host without any, the client trusts
/// none: plain HTTP works, and TLS connections fail, while `reqwest` would fail to build the client.
pub fn with_host_ca_bundle(client: ClientBuilder) -> ClientBuilder {
    if rustls_native_certs::load_native_certs().certs.is_empty() {
        client.tls_certs_only([])
    } else {
        client
    }
}
