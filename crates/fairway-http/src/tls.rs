//! Certificates, loaded again when their files change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
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
    /// Certificate and key are of no use.
    #[error("the certificate in {} cannot be used", path.display())]
    Unusable {
        /// The file of the certificate.
        path: PathBuf,
        /// Why.
        source: rustls::Error,
    },
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
                    tracing::info!("a new certificate is in use");
                    self.current.store(Arc::new(loaded));
                }
                Ok(Err(error)) => {
                    count_error();
                    tracing::error!(%error, "the certificate before stays in use");
                }
                Err(error) => tracing::error!(%error, "no certificate was loaded"),
            }
        }
    }
}

struct Loaded {
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
    let unusable = |source| TlsError::Unusable { path: files.certificate.clone(), source };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(certificates.clone(), key)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Loaded { certificates, config: Arc::new(config) })
}
