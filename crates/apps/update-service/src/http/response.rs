//! Answers with the headers they need.

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONTENT_ENCODING,
    CONTENT_TYPE, ETAG, VARY,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::Full;

use super::{Answer, accept, conditional};
use crate::document::{Coding, Document};
use crate::state::State;

pub(super) const JSON: &str = "application/json";

/// What may be done with any path.
pub(super) const METHODS: &str = "GET, HEAD, OPTIONS";

/// What an answer depends on besides its path.
const DEPENDS_ON: HeaderValue = HeaderValue::from_static("accept, accept-encoding");

/// Browsers may remember for a day what they may do.
const REMEMBER: HeaderValue = HeaderValue::from_static("86400");

/// A document, compressed if the client likes that; or that the client has it already.
pub(super) async fn document(
    state: &State,
    headers: &HeaderMap,
    document: &Document,
    media_type: &'static str,
) -> Answer {
    let coding = document.coding(accept::gzip(headers));
    if conditional::has(headers, document.tag(coding)) {
        return unchanged(state, document.tag(coding));
    }
    if coding == Coding::Gzip
        && let Some(bytes) = document.gzip().await
    {
        let mut answer = whole(state, bytes, document.tag(coding), media_type);
        answer.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        return answer;
    }
    whole(state, document.body().clone(), document.tag(Coding::Identity), media_type)
}

fn whole(state: &State, bytes: Bytes, tag: &HeaderValue, media_type: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(bytes));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    validated(state, answer, tag)
}

fn unchanged(state: &State, tag: &HeaderValue) -> Answer {
    validated(state, empty(StatusCode::NOT_MODIFIED), tag)
}

fn validated(state: &State, mut answer: Answer, tag: &HeaderValue) -> Answer {
    let headers = answer.headers_mut();
    headers.insert(ETAG, tag.clone());
    headers.insert(VARY, DEPENDS_ON);
    headers.insert(CACHE_CONTROL, state.settings.cache_control.clone());
    answer
}

/// An answer without a body.
pub(super) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}

/// Something that nobody should keep.
pub(super) fn momentary(
    status: StatusCode,
    media_type: &'static str,
    text: impl Into<Bytes>,
) -> Answer {
    let mut answer = Response::new(Full::new(text.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// What a browser may do: read, from everywhere.
pub(super) fn preflight() -> Answer {
    let mut answer = empty(StatusCode::NO_CONTENT);
    let headers = answer.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    let allowed = HeaderValue::from_static("accept, if-none-match");
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    headers.insert(ACCESS_CONTROL_MAX_AGE, REMEMBER);
    answer
}

/// Whatever is served is public.
pub(super) fn allow_all_origins(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("etag"));
}
