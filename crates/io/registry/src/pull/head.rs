//! Asking a registry about content without fetching it.

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH};
use reqwest::{Method, Response};
use serde::Deserialize;
use url::Url;

use super::{Body, MANIFESTS, PullError, Repository, error};
use crate::Digest;
use crate::manifest::Descriptor;

/// As much is read of what a registry says: its errors are a few hundred bytes.
const LONGEST_ANSWER: u64 = 64 << 10;

/// How registries say what is wrong.
#[derive(Deserialize)]
struct Errors {
    errors: Vec<Complaint>,
}

#[derive(Deserialize)]
struct Complaint {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl Repository {
    /// Whether a blob is there, in its full size.
    pub(crate) async fn has(&self, blob: &Descriptor) -> Result<(), PullError> {
        let url = self.url("blobs", blob.digest.as_str());
        let mut backoff = self.backoff();
        loop {
            match self.has_once(&url, blob).await {
                Err(error) if backoff.retry(&error).await => {}
                done => return done,
            }
        }
    }

    /// Some registries do not like to be asked: there, the answer is begun and not read.
    async fn has_once(&self, url: &Url, blob: &Descriptor) -> Result<(), PullError> {
        let asked = match self.send(Method::HEAD, url, "*/*").await {
            Err(PullError::Status { status: 405 | 501, .. }) => {
                self.send(Method::GET, url, "*/*").await?
            }
            asked => asked?,
        };
        match stated_size(&asked) {
            Some(size) => sized(error::place(url), size, blob),
            None => Ok(()),
        }
    }

    /// What the registry says about a manifest that it does not give.
    pub(crate) async fn words_about(&self, manifest: &Digest) -> Option<String> {
        let url = self.url("manifests", manifest.as_str());
        let request = self.client.request(Method::GET, url).header(ACCEPT, MANIFESTS);
        let request = match self.auth.current().await {
            Some(authorization) => request.header(AUTHORIZATION, authorization),
            None => request,
        };
        let response =
            request.send().await.ok().filter(|response| !response.status().is_success())?;
        let bytes = Body::Response(response).read(LONGEST_ANSWER).await.ok()?;
        complaint(&bytes)
    }
}

/// The first complaint of a registry, in its words.
fn complaint(bytes: &[u8]) -> Option<String> {
    let Errors { errors } = serde_json::from_slice(bytes).ok()?;
    let Complaint { code, message } = errors.into_iter().next()?;
    Some(if message.is_empty() { code } else { message }).filter(|words| !words.is_empty())
}

/// How much there is. Who answers without a body may say that it has nothing, which means nothing.
fn stated_size(response: &Response) -> Option<u64> {
    let size = response.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()?;
    (size > 0).then_some(size)
}

/// Whether a blob has the size that was announced.
pub(crate) fn sized(what: String, size: u64, blob: &Descriptor) -> Result<(), PullError> {
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
    fn a_registry_is_quoted() {
        for (body, expected) in [
            (
                r#"{"errors": [{"code": "DENIED", "message": "no access to team"}]}"#,
                Some("no access to team"),
            ),
            (r#"{"errors": [{"code": "MANIFEST_UNKNOWN"}]}"#, Some("MANIFEST_UNKNOWN")),
            (r#"{"errors": []}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(complaint(body.as_bytes()).as_deref(), expected, "{body}");
        }
    }
}
