//! Checks of content in a registry without fetching it.

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH};
use reqwest::{Method, Response};
use serde::Deserialize;
use url::Url;

use super::{Body, MANIFESTS, PullError, Repository, error};
use crate::Digest;
use crate::manifest::Descriptor;

/// Bytes of an error response; real ones have a few hundred.
const MAX_ERROR_BYTES: u64 = 64 << 10;

/// Error response of a registry (distribution specification).
#[derive(Deserialize)]
struct Errors {
    errors: Vec<RegistryError>,
}

#[derive(Deserialize)]
struct RegistryError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl Repository {
    /// Succeeds if a blob exists with its announced size.
    pub(crate) async fn check_blob(&self, blob: &Descriptor) -> Result<(), PullError> {
        let url = self.url("blobs", blob.digest.as_str());
        self.backoff().run(|| self.check_blob_once(&url, blob)).await
    }

    /// Some registries do not support HEAD: then GET, without reading the body.
    async fn check_blob_once(&self, url: &Url, blob: &Descriptor) -> Result<(), PullError> {
        let response = match self.send(Method::HEAD, url, "*/*").await {
            Err(PullError::Status { status: 405 | 501, .. }) => {
                self.send(Method::GET, url, "*/*").await?
            }
            response => response?,
        };
        match stated_size(&response) {
            Some(size) => check_size(error::display_url(url), size, blob),
            None => Ok(()),
        }
    }

    /// The error message of a registry for a manifest that it refuses.
    pub(crate) async fn error_message(&self, manifest: &Digest) -> Option<String> {
        let url = self.url("manifests", manifest.as_str());
        let request = self.client.request(Method::GET, url).header(ACCEPT, MANIFESTS);
        let request = match self.auth.current().await {
            Some(authorization) => request.header(AUTHORIZATION, authorization),
            None => request,
        };
        let response =
            request.send().await.ok().filter(|response| !response.status().is_success())?;
        let bytes = Body::Response(response).read(MAX_ERROR_BYTES).await.ok()?;
        first_error(&bytes)
    }
}

/// The message, or else the code, of the first error.
fn first_error(bytes: &[u8]) -> Option<String> {
    let Errors { errors } = serde_json::from_slice(bytes).ok()?;
    let RegistryError { code, message } = errors.into_iter().next()?;
    Some(if message.is_empty() { code } else { message }).filter(|words| !words.is_empty())
}

/// The `Content-Length`. 0 is ignored: some servers send it with every HEAD response.
fn stated_size(response: &Response) -> Option<u64> {
    let size = response.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()?;
    (size > 0).then_some(size)
}

/// Checks the size of a blob.
pub(crate) fn check_size(what: String, size: u64, blob: &Descriptor) -> Result<(), PullError> {
    if size == blob.size {
        return Ok(());
    }
    let why = format!("it has {size} bytes, expected {}", blob.size);
    Err(PullError::Malformed { what, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_error_returns_message_or_code() {
        for (body, expected) in [
            (
                r#"{"errors": [{"code": "DENIED", "message": "no access to team"}]}"#,
                Some("no access to team"),
            ),
            (r#"{"errors": [{"code": "MANIFEST_UNKNOWN"}]}"#, Some("MANIFEST_UNKNOWN")),
            (r#"{"errors": []}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(first_error(body.as_bytes()).as_deref(), expected, "{body}");
        }
    }
}
