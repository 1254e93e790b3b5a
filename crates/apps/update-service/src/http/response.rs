//! Responses and their headers, and error responses in the format of Cincinnati.

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONTENT_ENCODING,
    CONTENT_TYPE, ETAG, RETRY_AFTER, VARY,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;

use super::{HttpResponse, negotiation};
use crate::body::{Coding, ResponseBody};
use crate::state::State;

pub(super) const JSON: &str = "application/json";

/// Methods of all paths.
pub(super) const METHODS: &str = "GET, HEAD, OPTIONS";

/// Request headers that select the response.
const VARY_ON: HeaderValue = HeaderValue::from_static("accept, accept-encoding");

/// Browsers may cache a CORS preflight for a day.
const PREFLIGHT_MAX_AGE: HeaderValue = HeaderValue::from_static("86400");

/// Responds with a body, compressed if the client accepts it, or with 304.
pub(super) async fn document(
    state: &State,
    headers: &HeaderMap,
    document: &ResponseBody,
    media_type: &'static str,
) -> HttpResponse {
    let coding = document.coding(negotiation::gzip(headers));
    if negotiation::matches_etag(headers, document.tag(coding)) {
        return unchanged(state, document.tag(coding));
    }
    if coding == Coding::Gzip
        && let Some(bytes) = document.gzip().await
    {
        let mut response = whole(state, bytes, document.tag(coding), media_type);
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        return response;
    }
    whole(state, document.body().clone(), document.tag(Coding::Identity), media_type)
}

fn whole(state: &State, bytes: Bytes, tag: &HeaderValue, media_type: &'static str) -> HttpResponse {
    let mut response = Response::new(Full::new(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    validated(state, response, tag)
}

fn unchanged(state: &State, tag: &HeaderValue) -> HttpResponse {
    validated(state, empty(StatusCode::NOT_MODIFIED), tag)
}

fn validated(state: &State, mut response: HttpResponse, tag: &HeaderValue) -> HttpResponse {
    let headers = response.headers_mut();
    headers.insert(ETAG, tag.clone());
    headers.insert(VARY, VARY_ON);
    headers.insert(CACHE_CONTROL, state.settings.cache_control.clone());
    response
}

/// A response without a body.
pub(super) fn empty(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

/// A response that must not be cached.
pub(super) fn uncached(
    status: StatusCode,
    media_type: &'static str,
    text: impl Into<Bytes>,
) -> HttpResponse {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Response to a CORS preflight: reads from all origins.
pub(super) fn preflight() -> HttpResponse {
    let mut response = empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    let allowed = HeaderValue::from_static("accept, if-none-match");
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    headers.insert(ACCESS_CONTROL_MAX_AGE, PREFLIGHT_MAX_AGE);
    response
}

/// Allows all origins: everything that is served is public.
pub(super) fn allow_all_origins(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("etag"));
}

/// Seconds until a retry: clients poll every few minutes, and a first graph takes seconds.
const RETRY_AFTER_SECONDS: &str = "5";

/// A request that gets an error response.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    #[error("mandatory client parameters missing: {0}")]
    Missing(&'static str),
    #[error("invalid client parameters: {name} '{value}' does not match regex '{pattern}'")]
    Invalid { name: &'static str, value: String, pattern: &'static str },
    #[error("invalid client parameters: version '{0}' is not a version")]
    InvalidVersion(String),
    #[error("invalid Content-Type requested")]
    NotAcceptable,
    #[error("not found: {0}")]
    DoesNotExist(String),
    #[error("no update graph available yet")]
    NoGraph,
    #[error("too many connections")]
    Busy,
    #[error("the path is longer than {} characters", super::MAX_URI)]
    UriTooLong,
    #[error("cannot read the requested file")]
    File,
    /// Unknown path: the response has no body.
    #[error("no such path")]
    NotFound,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    kind: &'a str,
    value: String,
}

impl RequestError {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Missing(_) => "missing_params",
            Self::Invalid { .. } | Self::InvalidVersion(_) => "invalid_params",
            Self::NotAcceptable => "invalid_content_type",
            Self::DoesNotExist(_) => "does_not_exist",
            Self::NoGraph => "no_graph",
            Self::Busy => "busy",
            Self::UriTooLong => "uri_too_long",
            Self::File => "file_open_err",
            Self::NotFound => "not_found",
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Missing(_) | Self::Invalid { .. } | Self::InvalidVersion(_) => {
                StatusCode::BAD_REQUEST
            }
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::DoesNotExist(_) | Self::NotFound => StatusCode::NOT_FOUND,
            Self::NoGraph | Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::UriTooLong => StatusCode::URI_TOO_LONG,
            Self::File => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    pub(super) fn to_response(&self) -> HttpResponse {
        if matches!(self, Self::NotFound) {
            return empty(self.status());
        }
        let body = ErrorBody { kind: self.kind(), value: self.to_string() };
        let body = serde_json::to_vec(&body).expect("strings always serialize");
        let mut response = Response::new(Full::new(body.into()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status() == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS));
        }
        response
    }
}
