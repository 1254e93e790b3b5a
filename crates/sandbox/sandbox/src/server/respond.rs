//! Answers as HTTP: documents, refusals and texts.

use axum::body::Body;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WARNING};
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;
use serde_json::Value;

use super::negotiate::{Accepted, Syntax};
use crate::api::Refusal;

/// What the audit log wants to know of an answer.
#[derive(Clone, Debug)]
pub(super) struct Reason(pub(super) &'static str);

/// Marks an answer that is not complete when it begins, and logs its end itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct GoesOn;

/// A document.
pub(super) fn document<T: Serialize>(
    code: u16,
    document: &T,
    accepted: Accepted,
) -> Response<Body> {
    let text = match (accepted.syntax, accepted.pretty) {
        (Syntax::Json, false) => serde_json::to_vec(document).map_err(|error| error.to_string()),
        (Syntax::Json, true) => {
            serde_json::to_vec_pretty(document).map_err(|error| error.to_string())
        }
        (Syntax::Yaml, _) => serde_saphyr::to_string(document)
            .map(String::into_bytes)
            .map_err(|error| error.to_string()),
    };
    match text {
        Ok(text) => body(code, accepted.syntax.media_type(), Body::from(text)),
        Err(problem) => text_plain(500, problem),
    }
}

/// A refusal, as the `Status` that says so.
pub(super) fn refusal(refusal: &Refusal, accepted: Accepted) -> Response<Body> {
    let mut response = document(refusal.code, &refusal.body(), accepted);
    let seconds = refusal.details.as_ref().and_then(|details| details.retry_after_seconds);
    if let Some(seconds) = seconds {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response.extensions_mut().insert(Reason(refusal.reason));
    response
}

/// A text for people.
pub(super) fn text_plain(code: u16, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = body(code, "text/plain; charset=utf-8", Body::from(text.into()));
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert("x-content-type-options", nosniff);
    response
}

/// Whatever else.
pub(super) fn body(code: u16, media_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// Adds what the client should know.
pub(super) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    for warning in warnings {
        let quoted = Value::from(warning.as_str()).to_string();
        if let Ok(value) = HeaderValue::from_str(&format!("299 - {quoted}")) {
            response.headers_mut().append(WARNING, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Details;

    #[test]
    fn a_refusal_says_when_to_come_back() {
        let details = Details { retry_after_seconds: Some(3), ..Details::default() };
        let busy = Refusal::new(429, "TooManyRequests", "later").about(details);
        let response = refusal(&busy, Accepted::default());
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()[RETRY_AFTER], "3");
    }

    #[test]
    fn warnings_are_quoted() {
        let mut response = text_plain(200, "");
        warn(&mut response, &["say \"no\"".to_owned(), "two\nlines".to_owned()]);
        let warnings: Vec<_> = response.headers().get_all(WARNING).iter().collect();
        assert_eq!(warnings, [r#"299 - "say \"no\"""#, r#"299 - "two\nlines""#]);
    }
}
