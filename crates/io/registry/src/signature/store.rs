//! Signature stores.

use std::io;
use std::path::PathBuf;

use reqwest::Client;
use tokio::io::AsyncReadExt as _;
use url::Url;

use super::keyring::MAX_SIGNATURE;
use crate::Digest;
use crate::pull::{self, Backoff, Body, PullError, PullOptions};

/// Signatures of one image in a store, which start with `signature-1`.
const MAX_STORE_SIGNATURES: usize = 9;

/// A signature store: a directory or URL with `sha256=DIGEST/signature-1` and so on below it.
#[derive(Debug)]
pub struct Store(StoreLocation);

#[derive(Debug)]
enum StoreLocation {
    Directory(PathBuf),
    Web { base: Url, client: Client, attempts: u32 },
}

/// A store that cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum StoreError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The URL cannot be fetched.
    #[error("cannot read the signatures of an image")]
    Web(#[from] PullError),
}

impl Store {
    /// Opens a directory or a URL with `https://` or `file://`. `http://` is accepted for the
    /// loopback interface, or if the options allow it.
    pub fn open(location: &str, options: &PullOptions) -> Result<Self, PullError> {
        if !location.contains("://") {
            return Ok(Self(StoreLocation::Directory(location.into())));
        }
        let refused = || PullError::Address { address: pull::without_password(location) };
        let base = Url::parse(location).map_err(|_| refused())?;
        let secret = !base.username().is_empty() || base.password().is_some();
        match base.scheme() {
            _ if secret || base.cannot_be_a_base() => return Err(refused()),
            "https" => {}
            "file" => {
                let path = base.to_file_path().map_err(|()| refused())?;
                return Ok(Self(StoreLocation::Directory(path)));
            }
            "http" if pull::allows_plain_http(&base, options.allow_plain_http) => {}
            "http" => {
                let host = base.host_str().unwrap_or_default().to_owned();
                return Err(PullError::Plain { host });
            }
            _ => return Err(refused()),
        }
        let client = pull::client(options)?;
        Ok(Self(StoreLocation::Web { base, client, attempts: options.attempts }))
    }

    /// Fetches a signature of an image by number, starting with 1; `None` after the last.
    pub async fn signature(
        &self,
        image: &Digest,
        number: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        if number > MAX_STORE_SIGNATURES {
            return Ok(None);
        }
        let (directory, file) = (format!("sha256={}", image.hex()), format!("signature-{number}"));
        match &self.0 {
            StoreLocation::Directory(path) => read(path.join(directory).join(file)).await,
            StoreLocation::Web { base, client, attempts } => {
                let mut url = base.clone();
                if let Ok(mut path) = url.path_segments_mut() {
                    path.pop_if_empty().extend([directory, file]);
                }
                Ok(fetch(client, &url, Backoff::new(*attempts)).await?)
            }
        }
    }
}

/// One byte more than the limit: verification reports the excess.
const LIMIT: u64 = MAX_SIGNATURE as u64 + 1;

async fn read(path: PathBuf) -> Result<Option<Vec<u8>>, StoreError> {
    let mut bytes = Vec::new();
    let read = async {
        // Opening a named pipe would block until another process writes to it.
        if !tokio::fs::metadata(&path).await?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let file = tokio::fs::File::open(&path).await?;
        file.take(LIMIT).read_to_end(&mut bytes).await
    };
    match read.await {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::File { path, source }),
    }
}

async fn fetch(client: &Client, url: &Url, backoff: Backoff) -> Result<Option<Vec<u8>>, PullError> {
    let fetch = async || {
        let response = client.get(url.clone()).send().await;
        let response = response.map_err(|error| PullError::network(url, &error))?;
        Body::Response(pull::check_status(response, url)?).read(LIMIT).await
    };
    match backoff.run(fetch).await {
        Err(PullError::NotFound { .. }) => Ok(None),
        fetched => fetched.map(Some),
    }
}
