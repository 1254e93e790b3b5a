//! An HTTP client for the cluster's metrics, made anew when what it depends on changes.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Certificate;
use reqwest::redirect::Policy;

/// Making a connection inside a cluster takes milliseconds, or does not work.
const CONNECT: Duration = Duration::from_secs(5);

/// Queries of risks read few series. One that takes longer costs the cluster more than it tells.
const ANSWER: Duration = Duration::from_secs(30);

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{} contains no certificates", path.display())]
    NoCertificates { path: PathBuf },
    #[error("cannot use the CA bundle {}", path.display())]
    BadCertificates { path: PathBuf, source: reqwest::Error },
    #[error("cannot create an HTTP client")]
    Unmakeable(#[source] reqwest::Error),
}

/// What a client depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Basis {
    /// The authorities to trust, as PEM, and the file they are from.
    pub(super) authorities: Option<(PathBuf, Vec<u8>)>,
    /// A name whose address is known.
    pub(super) resolved: Option<(String, IpAddr)>,
}

impl Basis {
    pub(super) fn client(&self) -> Result<reqwest::Client, ClientError> {
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .timeout(ANSWER)
            // The token is for this server and for nobody it may name.
            .redirect(Policy::none())
            // Queries stay in the cluster.
            .no_proxy();
        if let Some((path, pem)) = &self.authorities {
            builder = builder.tls_certs_only(certificates(path, pem)?);
        }
        if let Some((name, address)) = &self.resolved {
            builder = builder.resolve(name, (*address, 0).into());
        }
        builder.build().map_err(ClientError::Unmakeable)
    }
}

fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<Certificate>, ClientError> {
    let bad = |source| ClientError::BadCertificates { path: path.to_owned(), source };
    let certificates = Certificate::from_pem_bundle(pem).map_err(bad)?;
    if certificates.is_empty() {
        return Err(ClientError::NoCertificates { path: path.to_owned() });
    }
    Ok(certificates)
}

/// The content of a file that is read again and again because somebody renews it.
pub(super) async fn read(path: &Path) -> Result<Vec<u8>, ClientError> {
    tokio::fs::read(path)
        .await
        .map_err(|source| ClientError::Unreadable { path: path.to_owned(), source })
}
