//! Certificates, loaded again when their files change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Files in PEM, which are loaded again when they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and those that lead to its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The time between two looks at the files.
    pub every: Duration,
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read, or is not PEM.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: pem::Error,
    },
    /// A certificate of one's own cannot be made.
    #[error("cannot generate a certificate")]
    Make(#[from] rcgen::Error),
    /// Certificate and key are of no use.
    #[error("cannot use the certificate in {}", path.display())]
    Unusable {
        /// The file of the certificate.
        path: PathBuf,
        /// Why.
        source: rustls::Error,
    },
}

impl TlsError {
    /// Whether a file is not there.
    fn is_missing(&self) -> bool {
        let Self::Read { source: pem::Error::Io(error), .. } = self else { return false };
        error.kind() == io::ErrorKind::NotFound
    }
}

/// The certificate in use.
pub struct Certificate {
    files: TlsFiles,
    current: ArcSwap<Loaded>,
}

impl Certificate {
    /// Loads it for the first time.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        Ok(Self { current: ArcSwap::from_pointee(load(&files)?), files })
    }

    /// Loads it for the first time; where there is none yet, one that nobody issued takes its place
    /// until there is. Whoever issues certificates may need this very server first.
    pub fn load_or_make(files: TlsFiles) -> Result<Self, TlsError> {
        let loaded = match load(&files) {
            Err(error) if error.is_missing() => {
                let certificate = files.certificate.display();
                tracing::warn!(%certificate, "no certificate found; using a self-signed one");
                make(&files)?
            }
            loaded => loaded?,
        };
        Ok(Self { current: ArcSwap::from_pointee(loaded), files })
    }

    /// How the next connection is to be secured.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.load().config)
    }

    /// Loads new certificates until the server stops. One that cannot be used replaces none, and
    /// is counted.
    pub async fn keep(self: Arc<Self>, stopping: CancellationToken, count_error: impl Fn() + Send) {
        while timeout(self.files.every, stopping.cancelled()).await.is_err() {
            let files = self.files.clone();
            match tokio::task::spawn_blocking(move || load(&files)).await {
                Ok(Ok(loaded)) if loaded.certificates == self.current.load().certificates => {}
                Ok(Ok(loaded)) => {
                    tracing::info!("certificate reloaded");
                    self.current.store(Arc::new(loaded));
                }
                Ok(Err(error)) if error.is_missing() && self.current.load().is_made => {}
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
    /// Nobody issued it.
    is_made: bool,
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

/// A certificate that nobody issued: it hides what is said, and proves nothing.
fn make(files: &TlsFiles) -> Result<Loaded, TlsError> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    secured(files, vec![made.cert.der().clone()], key.into(), true)
}

fn secured(
    files: &TlsFiles,
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    is_made: bool,
) -> Result<Loaded, TlsError> {
    let unusable = |source| TlsError::Unusable { path: files.certificate.clone(), source };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(certificates.clone(), key)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Loaded { is_made, certificates, config: Arc::new(config) })
}
