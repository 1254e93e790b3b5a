//! TLS certificates, reloaded when their files change, and the trusted CA certificates of clients.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use reqwest::ClientBuilder;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::TlsProfile;

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

/// The certificate of a server, with the TLS settings of its connections.
pub struct Certificate {
    files: TlsFiles,
    /// CA bundle of client certificates.
    client_ca: Option<PathBuf>,
    current: ArcSwap<Loaded>,
}

impl Certificate {
    /// Loads the certificate.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let loaded = Loaded::new(&files, ServerTls::read(&files)?, false)?;
        Ok(Self { current: ArcSwap::from_pointee(loaded), client_ca: None, files })
    }

    /// Loads the certificate, or generates a self-signed one until its file exists: the issuer of
    /// certificates may need this server first.
    ///
    /// `client_ca` is the file with the CA bundle of client certificates. Clients may present one and
    /// need not. Without the file, the server requests none.
    pub fn load_or_make(files: TlsFiles, client_ca: Option<PathBuf>) -> Result<Self, TlsError> {
        let (mut server, is_self_signed) = match ServerTls::read(&files) {
            Err(error) if error.is_missing() => {
                let certificate = files.certificate.display();
                tracing::warn!(%certificate, "no certificate found; using a self-signed one");
                (ServerTls::generate()?, true)
            }
            loaded => (loaded?, false),
        };
        // Clients without a certificate must not lose the server because of this file.
        server.client_ca = read_client_ca(client_ca.as_deref()).unwrap_or_else(|error| {
            tracing::error!(%error, "cannot read CA bundle; ignoring client certificates");
            Vec::new()
        });
        let loaded = Loaded::new(&files, server, is_self_signed)?;
        Ok(Self { current: ArcSwap::from_pointee(loaded), client_ca, files })
    }

    /// TLS configuration of the next connection.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.load().config)
    }

    /// Reloads the files until the server stops, and applies the latest TLS profile. An invalid file
    /// is counted, and the current configuration stays in use.
    pub async fn keep(
        self: Arc<Self>,
        stopping: CancellationToken,
        mut profile: Option<watch::Receiver<Option<TlsProfile>>>,
        count_error: impl Fn() + Send,
    ) {
        loop {
            // Dropping the wait for a profile loses nothing: the receiver stays changed until it is
            // read.
            let due = timeout(self.files.every, changed(&mut profile));
            if stopping.run_until_cancelled(due).await.is_none() {
                return;
            }
            let latest = profile.as_mut().and_then(|it| it.borrow_and_update().clone());
            match self.reload(latest).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    count_error();
                    tracing::error!(%error, "cannot reload certificate; keeping the previous one");
                }
                Err(error) => tracing::error!(%error, "certificate reload task failed"),
            }
        }
    }

    async fn reload(
        self: &Arc<Self>,
        profile: Option<TlsProfile>,
    ) -> Result<Result<(), TlsError>, JoinError> {
        let this = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            let current = this.current.load();
            let (mut server, is_self_signed) = match ServerTls::read(&this.files) {
                Err(error) if error.is_missing() && current.is_self_signed => {
                    (current.server.clone(), true)
                }
                read => (read?, false),
            };
            server.client_ca = read_client_ca(this.client_ca.as_deref())?;
            server.profile = profile;
            if server != current.server {
                let loaded = Loaded::new(&this.files, server, is_self_signed)?;
                tracing::info!("TLS configuration reloaded");
                this.current.store(Arc::new(loaded));
            }
            Ok(())
        })
        .await
    }
}

/// Waits for a new profile, for ever if there is none.
async fn changed(profile: &mut Option<watch::Receiver<Option<TlsProfile>>>) {
    if let Some(receiver) = profile
        && receiver.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

/// CA certificates of a bundle; none without the file.
fn read_client_ca(path: Option<&Path>) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    match read_certificates(path) {
        Err(error) if error.is_missing() => Ok(Vec::new()),
        read => read,
    }
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

struct Loaded {
    /// Whether the certificate is self-signed.
    is_self_signed: bool,
    server: ServerTls,
    config: Arc<ServerConfig>,
}

impl Loaded {
    fn new(files: &TlsFiles, server: ServerTls, is_self_signed: bool) -> Result<Self, TlsError> {
        let unusable = |source| TlsError::Unusable { path: files.certificate.clone(), source };
        let config = Arc::new(server.config().map_err(unusable)?);
        Ok(Self { is_self_signed, server, config })
    }
}

/// TLS settings of a server.
#[derive(Debug, PartialEq)]
pub struct ServerTls {
    /// The certificate, with its intermediate certificates.
    pub certificates: Vec<CertificateDer<'static>>,
    /// Its private key.
    pub key: PrivateKeyDer<'static>,
    /// CA certificates of clients. Clients may present a certificate and need not; without CA
    /// certificates, the server requests none.
    pub client_ca: Vec<CertificateDer<'static>>,
    /// TLS versions and cipher suites; `None` allows all that are secure.
    pub profile: Option<TlsProfile>,
}

impl Clone for ServerTls {
    fn clone(&self) -> Self {
        Self {
            certificates: self.certificates.clone(),
            key: self.key.clone_key(),
            client_ca: self.client_ca.clone(),
            profile: self.profile.clone(),
        }
    }
}

impl ServerTls {
    fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        let certificates = read_certificates(&files.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&files.key)
            .map_err(|source| TlsError::Read { path: files.key.clone(), source })?;
        Ok(Self { certificates, key, client_ca: Vec::new(), profile: None })
    }

    /// Generates a self-signed certificate: it encrypts without authentication.
    fn generate() -> Result<Self, TlsError> {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
        let certificates = vec![made.cert.der().clone()];
        Ok(Self { certificates, key, client_ca: Vec::new(), profile: None })
    }

    /// Configuration of connections.
    pub fn config(&self) -> Result<ServerConfig, rustls::Error> {
        let default = TlsProfile::default();
        let profile = self.profile.as_ref().unwrap_or(&default);
        let provider = Arc::new(profile.provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(profile.versions())?;
        let builder = if self.client_ca.is_empty() {
            builder.with_no_client_auth()
        } else {
            let mut roots = RootCertStore::empty();
            for certificate in &self.client_ca {
                roots.add(certificate.clone())?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .allow_unauthenticated()
                .build()
                .map_err(|error| rustls::Error::General(error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        };
        let mut config =
            builder.with_single_cert(self.certificates.clone(), self.key.clone_key())?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// A client that trusts the CA certificates of the host. On a host without any, the client trusts
/// none: plain HTTP works, and TLS connections fail, while `reqwest` would fail to build the client.
pub fn trusting_this_machine(client: ClientBuilder) -> ClientBuilder {
    if rustls_native_certs::load_native_certs().certs.is_empty() {
        client.tls_certs_only([])
    } else {
        client
    }
}
