//! Why a request does not get what it asks for, in the words that clients know.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;

use super::{Answer, reply};

/// Clients ask every few minutes; a first graph takes seconds.
const COME_BACK: &str = "5";

#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
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
    #[error("cannot read a file")]
    File,
    /// No path of this service: the answer has no body.
    #[error("no such path")]
    NotFound,
}

#[derive(Serialize)]
struct Body<'a> {
    kind: &'a str,
    value: String,
}

impl Refusal {
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

    pub(super) fn answer(&self) -> Answer {
        if matches!(self, Self::NotFound) {
            return reply::empty(self.status());
        }
        let body = Body { kind: self.kind(), value: self.to_string() };
        let body = serde_json::to_vec(&body).expect("texts can be written");
        let mut answer = Response::new(Full::new(body.into()));
        *answer.status_mut() = self.status();
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(reply::JSON));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status() == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(COME_BACK));
        }
        answer
    }
}
