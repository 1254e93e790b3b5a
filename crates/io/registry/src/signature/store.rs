//! Where signatures are.

use std::io;
use std::path::PathBuf;

use reqwest::Client;
use tokio::io::AsyncReadExt as _;
use url::Url;

use super::keyring::MAX_SIGNATURE;
use crate::Digest;
use crate::pull::{self, Backoff, Body, Options, PullError};

/// As many as stores are asked for: signatures of one image begin with `signature-1`.
const MOST_SIGNATURES: usize = 9;

/// A place with signatures of images: `sha256=DIGEST/signature-1` and so on below it.
#[derive(Debug)]
pub struct Store(Place);

#[derive(Debug)]
enum Place {
    Directory(PathBuf),
    Web { base: Url, client: Client, attempts: u32 },
}

/// Why a store has no signatures to give.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The place cannot be reached, or answers something else.
    #[error("cannot read the signatures of an image")]
    Web(#[from] PullError),
}

impl Store {
    /// A directory, or an address that begins with `https://`, `file://` (or `http://`, where that
    /// is allowed).
    pub fn open(place: &str, options: &Options) -> Result<Self, PullError> {
        if !place.contains("://") {
            return Ok(Self(Place::Directory(place.into())));
        }
        let refused = || PullError::Address { address: pull::without_password(place) };
        let base = Url::parse(place).map_err(|_| refused())?;
        let secret = !base.username().is_empty() || base.password().is_some();
        match base.scheme() {
            _ if secret || base.cannot_be_a_base() => return Err(refused()),
            "https" => {}
            "file" => {
                let path = base.to_file_path().map_err(|()| refused())?;
                return Ok(Self(Place::Directory(path)));
            }
            "http" if pull::may_be_plain(&base, options.allow_plain_http) => {}
            "http" => {
                let host = base.host_str().unwrap_or_default().to_owned();
                return Err(PullError::Plain { host });
            }
            _ => return Err(refused()),
        }
        let client = pull::client(options)?;
        Ok(Self(Place::Web { base, client, attempts: options.attempts }))
    }

    /// The signature of an image with that number, from one on; `None` after the last.
    pub async fn signature(
        &self,
        image: &Digest,
        number: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        if number > MOST_SIGNATURES {
            return Ok(None);
        }
        let (directory, file) = (format!("sha256={}", image.hex()), format!("signature-{number}"));
        match &self.0 {
            Place::Directory(path) => read(path.join(directory).join(file)).await,
            Place::Web { base, client, attempts } => {
                let mut url = base.clone();
                if let Ok(mut path) = url.path_segments_mut() {
                    path.pop_if_empty().extend([directory, file]);
                }
                Ok(fetch(client, &url, Backoff::new(*attempts)).await?)
            }
        }
    }
}

/// A byte more than a signature may have: whoever verifies it refuses that.
const LIMIT: u64 = MAX_SIGNATURE as u64 + 1;

async fn read(path: PathBuf) -> Result<Option<Vec<u8>>, StoreError> {
    let mut bytes = Vec::new();
    let read = async {
        // Whoever opens a pipe waits for somebody to write to it.
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

async fn fetch(
    client: &Client,
    url: &Url,
    mut backoff: Backoff,
) -> Result<Option<Vec<u8>>, PullError> {
    loop {
        let fetched = async {
            let response = client.get(url.clone()).send().await;
            let response = response.map_err(|error| PullError::network(url, &error))?;
            Body::Response(pull::checked(response, url)?).read(LIMIT).await
        };
        match fetched.await {
            Ok(bytes) => return Ok(Some(bytes)),
            Err(PullError::NotFound { .. }) => return Ok(None),
            Err(error) if backoff.retry(&error).await => {}
            Err(error) => return Err(error),
        }
    }
}
