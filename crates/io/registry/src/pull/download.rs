//! A blob that is asked for again from where it broke off.

use bytes::{Buf, Bytes};
use reqwest::header::{CONTENT_RANGE, HeaderMap};
use reqwest::{Method, Response, StatusCode};
use url::Url;

use super::{Backoff, PullError, Repository, error};
use crate::manifest::Descriptor;

/// An answer that brought so much was a good one, whatever became of it: over a bad line, all of a
/// large layer arrives in the end, and who gives a byte at a time is left after a few attempts.
const WORTHWHILE: u64 = 1 << 20;

/// A blob while it arrives.
pub(crate) struct Download<'a> {
    repository: &'a Repository,
    url: Url,
    size: u64,
    received: u64,
    under_way: Option<Answer>,
    backoff: Backoff,
}

/// One answer, of possibly several.
struct Answer {
    response: Response,
    /// What is known already: not everybody begins where they are asked to.
    known: u64,
    gained: u64,
}

impl Repository {
    /// The blob that a descriptor names; it is for the reader to check it.
    pub(crate) fn download(&self, blob: &Descriptor) -> Download<'_> {
        Download {
            repository: self,
            url: self.url("blobs", blob.digest.as_str()),
            size: blob.size,
            received: 0,
            under_way: None,
            backoff: self.backoff(),
        }
    }
}

impl Download<'_> {
    /// The next piece; `None` once there is as much as was announced.
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

    /// What comes next of the answer that is under way. It is given up where it breaks off.
    async fn chunk_once(&mut self) -> Result<Bytes, PullError> {
        let mut answer = match self.under_way.take() {
            Some(answer) => answer,
            None => self.ask().await?,
        };
        let broken_off = |why: String| PullError::Network { url: error::place(&self.url), why };
        let mut chunk = match answer.response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Err(broken_off("the response ended early".to_owned())),
            Err(error) => return Err(broken_off(fairway_text::root_cause(&error))),
        };
        answer.pass_over_known(&mut chunk);
        self.received += chunk.len() as u64;
        if answer.gained >= WORTHWHILE {
            self.backoff = self.repository.backoff();
        }
        self.under_way = Some(answer);
        Ok(chunk)
    }

    /// Asks for what is missing.
    async fn ask(&self) -> Result<Answer, PullError> {
        let sent = self.repository.send_from(Method::GET, &self.url, "*/*", self.received);
        let response = sent.await?;
        let begin = match response.status() {
            StatusCode::PARTIAL_CONTENT => begin(response.headers()),
            _ => Some(0),
        };
        match begin.and_then(|begin| self.received.checked_sub(begin)) {
            Some(known) => Ok(Answer { response, known, gained: 0 }),
            None => Err(PullError::Malformed {
                what: error::place(&self.url),
                why: format!("the response does not start at the requested byte {}", self.received),
            }),
        }
    }
}

impl Answer {
    fn pass_over_known(&mut self, chunk: &mut Bytes) {
        let known = usize::try_from(self.known).unwrap_or(usize::MAX).min(chunk.len());
        chunk.advance(known);
        self.known -= known as u64;
        self.gained += chunk.len() as u64;
    }
}

/// Where a part begins: `bytes 7-9/10`.
fn begin(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    range.split_once('-')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_says_where_it_begins() {
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
