//! Downloads blobs and resumes broken transfers with range requests.

use bytes::{Buf, Bytes};
use reqwest::header::{CONTENT_RANGE, HeaderMap};
use reqwest::{Method, Response, StatusCode};
use url::Url;

use super::{Backoff, PullError, Repository, error};
use crate::manifest::Descriptor;

/// Bytes after which a response counts as progress and resets the backoff. Large layers arrive over
/// unreliable connections, and a server that sends single bytes is abandoned after a few attempts.
const MIN_PROGRESS_BYTES: u64 = 1 << 20;

/// A blob that is being downloaded.
pub(crate) struct Download<'a> {
    repository: &'a Repository,
    url: Url,
    size: u64,
    received: u64,
    response: Option<PartialResponse>,
    backoff: Backoff,
}

/// A response with a part of the blob.
struct PartialResponse {
    response: Response,
    /// Leading bytes to skip: a server may ignore the range or start earlier.
    known: u64,
    received: u64,
}

impl Repository {
    /// Starts the download of a blob. The caller verifies the digest.
    pub(crate) fn download(&self, blob: &Descriptor) -> Download<'_> {
        Download {
            repository: self,
            url: self.url("blobs", blob.digest.as_str()),
            size: blob.size,
            received: 0,
            response: None,
            backoff: self.backoff(),
        }
    }
}

impl Download<'_> {
    /// The next chunk; `None` after the announced size.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, PullError> {
        while self.received < self.size {
            match self.chunk_once().await {
                Ok(chunk) if chunk.is_empty() => {}
                Ok(chunk) => return Ok(Some(chunk)),
                Err(error) if self.backoff.retry(&error).await => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Reads from the current response, or requests the rest. A response that fails is dropped, and
    /// the next call resumes behind the last byte.
    async fn chunk_once(&mut self) -> Result<Bytes, PullError> {
        let mut part = match self.response.take() {
            Some(part) => part,
            None => self.request_rest().await?,
        };
        let interrupted =
            |why: String| PullError::Network { url: error::display_url(&self.url), why };
        let mut chunk = match part.response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Err(interrupted("the response ended early".to_owned())),
            Err(error) => return Err(interrupted(fairway_text::root_cause(&error))),
        };
        part.skip_known(&mut chunk);
        self.received += chunk.len() as u64;
        if part.received >= MIN_PROGRESS_BYTES {
            self.backoff = self.repository.backoff();
        }
        self.response = Some(part);
        Ok(chunk)
    }

    /// Requests the missing part.
    async fn request_rest(&self) -> Result<PartialResponse, PullError> {
        let sent = self.repository.send_from(Method::GET, &self.url, "*/*", self.received);
        let response = sent.await?;
        let begin = match response.status() {
            StatusCode::PARTIAL_CONTENT => begin(response.headers()),
            _ => Some(0),
        };
        match begin.and_then(|begin| self.received.checked_sub(begin)) {
            Some(known) => Ok(PartialResponse { response, known, received: 0 }),
            None => Err(PullError::Malformed {
                what: error::display_url(&self.url),
                why: format!("the response does not start at the requested byte {}", self.received),
            }),
        }
    }
}

impl PartialResponse {
    fn skip_known(&mut self, chunk: &mut Bytes) {
        let known = usize::try_from(self.known).unwrap_or(usize::MAX).min(chunk.len());
        chunk.advance(known);
        self.known -= known as u64;
        self.received += chunk.len() as u64;
    }
}

/// The first byte of a `Content-Range` header: `bytes 7-9/10`.
fn begin(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    range.split_once('-')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begin_parses_content_range() {
        for (header, expected) in [
            ("bytes 7-9/10", Some(7)),
            ("bytes 0-9/*", Some(0)),
            ("bytes */10", None),
            ("bytes -1-9/10", None),
            ("lines 7-9/10", None),
            ("", None),
        ] {
            let headers = HeaderMap::from_iter([(CONTENT_RANGE, header.parse().unwrap())]);
            assert_eq!(begin(&headers), expected, "{header}");
        }
        assert_eq!(begin(&HeaderMap::new()), None);
    }
}
