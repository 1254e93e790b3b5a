//! Request bodies: size and time limits, media types and syntax.

use std::time::Duration;

use axum::body::Body as Incoming;
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::Value;
use serde_json::error::Category;
use tokio::time::timeout;

use super::protobuf::{self, ProtobufError};
use crate::api::{ApiResult, PatchType, RequestBody, StatusError};
use crate::catalog::Verb;

/// Bytes of an invalid body that error messages quote, as in the API server.
const MAX_QUOTED_BYTES: usize = 30;

/// Size and time limit of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyLimit {
    pub(super) bytes: usize,
    pub(super) time: Duration,
}

/// Reads a body within its limits.
pub(super) async fn read(
    body: Incoming,
    headers: &HeaderMap,
    limit: BodyLimit,
) -> ApiResult<Bytes> {
    let declared = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let declared = declared.and_then(|length| length.parse::<usize>().ok());
    if declared.is_some_and(|length| length > limit.bytes) {
        return Err(too_large(limit.bytes));
    }
    let collected = timeout(limit.time, Limited::new(body, limit.bytes).collect()).await;
    match collected {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limit.bytes)),
        Ok(Err(error)) => {
            Err(StatusError::bad_request(format!("the request body is incomplete: {error}")))
        }
        Err(_) => {
            let message = "Timeout: request did not complete within the allotted timeout";
            Err(StatusError::new(504, "Timeout", message))
        }
    }
}

fn too_large(limit: usize) -> StatusError {
    let message = format!("Request entity too large: limit is {limit}");
    StatusError::new(413, "RequestEntityTooLarge", message)
}

/// Parses a body by its media type. `kind` is the expected kind.
pub(super) fn parse(
    bytes: &[u8],
    headers: &HeaderMap,
    verb: Verb,
    kind: &str,
    is_custom: bool,
) -> ApiResult<RequestBody> {
    let media_type = media_type(headers);
    match verb {
        Verb::Get | Verb::List | Verb::Watch => Ok(RequestBody::None),
        Verb::Delete | Verb::DeleteCollection if bytes.is_empty() => Ok(RequestBody::None),
        Verb::Delete | Verb::DeleteCollection => options(bytes, &media_type),
        Verb::Create | Verb::Update => object(bytes, &media_type, kind),
        Verb::Patch => patch(bytes, &media_type, is_custom),
    }
}

fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let value = value.unwrap_or("application/json").split(';').next().unwrap_or_default();
    value.trim().to_ascii_lowercase()
}

fn object(bytes: &[u8], media_type: &str, kind: &str) -> ApiResult<RequestBody> {
    let value = parse_syntax(bytes, media_type)?.map_err(|message| {
        let quoted = quoted(bytes);
        StatusError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {message} ({quoted})"
        ))
    })?;
    Ok(RequestBody::Object(value))
}

/// Parses `DeleteOptions`. The API server reports syntax errors as 500.
fn options(bytes: &[u8], media_type: &str) -> ApiResult<RequestBody> {
    let value =
        parse_syntax(bytes, media_type)?.map_err(|message| StatusError::new(500, "", message))?;
    Ok(RequestBody::Object(value))
}

fn parse_syntax(bytes: &[u8], media_type: &str) -> ApiResult<Result<Value, String>> {
    match media_type {
        "application/json" => Ok(json(bytes)
            .and_then(expect_object)
            .map_err(|message| format!("couldn't get version/kind; json parse error: {message}"))),
        "application/yaml" => Ok(yaml(bytes)),
        "application/vnd.kubernetes.protobuf" => match protobuf::decode(bytes) {
            Err(error @ ProtobufError::Unknown { .. }) => {
                Err(StatusError::new(415, "UnsupportedMediaType", error.to_string()))
            }
            decoded => Ok(decoded.map_err(|error| error.to_string())),
        },
        _ => Err(StatusError::new(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: \
             application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

fn patch(bytes: &[u8], media_type: &str, is_custom: bool) -> ApiResult<RequestBody> {
    let (kind, value) = match media_type {
        "application/json-patch+json" => (PatchType::Json, json(bytes)),
        "application/merge-patch+json" => {
            (PatchType::Merge, json(bytes).map_err(|_| "Invalid JSON Patch".to_owned()))
        }
        "application/strategic-merge-patch+json" => (PatchType::Strategic, json(bytes)),
        "application/apply-patch+yaml" => {
            let decoded = yaml(bytes).map_err(|message| format!("error decoding YAML: {message}"));
            (PatchType::Apply, decoded)
        }
        _ => {
            let message = if is_custom {
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, \
                 application/apply-patch+yaml"
            } else {
                "415: Unsupported Media Type"
            };
            return Err(StatusError::new(415, "UnsupportedMediaType", message));
        }
    };
    Ok(RequestBody::Patch(kind, value.map_err(StatusError::bad_request)?))
}

/// Parses JSON. The parser limits nesting to 128 levels, so input cannot overflow the stack.
fn json(bytes: &[u8]) -> Result<Value, String> {
    // The API server replaces invalid UTF-8 by U+FFFD.
    let text = String::from_utf8_lossy(bytes);
    serde_json::from_str(&text).map_err(|error| match error.classify() {
        Category::Eof => "unexpected end of JSON input".to_owned(),
        _ => error.to_string(),
    })
}

/// Checks for an object. `null` is an empty object, as in the API server.
fn expect_object(value: Value) -> Result<Value, String> {
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(Value::Object(serde_json::Map::new())),
        Value::Array(_) => Err("json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }".to_owned()),
        _ => Err("expected an object".to_owned()),
    }
}

fn yaml(bytes: &[u8]) -> Result<Value, String> {
    fairway_api::read::document("yaml", bytes).map_err(|error| error.to_string())
}

/// The start of a body: text if it looks like an object, otherwise hexadecimal.
fn quoted(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "<empty>".to_owned();
    }
    let shown = &bytes[..bytes.len().min(MAX_QUOTED_BYTES)];
    let mut quoted = if bytes.starts_with(b"{") {
        String::from_utf8_lossy(shown).into_owned()
    } else {
        hex::encode(shown)
    };
    if shown.len() < bytes.len() {
        quoted.push_str(" ...");
    }
    quoted
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn parsed(
        verb: Verb,
        media_type: &'static str,
        text: &str,
    ) -> Result<RequestBody, (u16, String)> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media_type))]);
        parse(text.as_bytes(), &headers, verb, "ConfigMap", false)
            .map_err(|error| (error.code, error.message))
    }

    #[test]
    fn parse_of_invalid_body_returns_api_server_message() {
        let unknown = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf";
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        for (verb, media_type, text, code, message) in [
            (Verb::Create, "text/plain", "x", 415, unknown),
            (
                Verb::Create,
                "application/vnd.kubernetes.protobuf",
                "k8s",
                400,
                "the object provided is unrecognized (must be of type ConfigMap): the body is not a Kubernetes Protocol Buffers message (6b3873)",
            ),
            (
                Verb::Create,
                "application/json",
                r#"{"apiVersion":"#,
                400,
                r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input ({"apiVersion":)"#,
            ),
            (
                Verb::Create,
                "application/json",
                "",
                400,
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
            ),
            (
                Verb::Create,
                "application/json",
                "[]",
                400,
                r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (5b5d)"#,
            ),
            (
                Verb::Create,
                "application/json",
                &deep,
                400,
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: recursion limit exceeded at line 1 column 128 (5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b ...)",
            ),
            (
                Verb::Delete,
                "application/json",
                "{",
                500,
                "couldn't get version/kind; json parse error: unexpected end of JSON input",
            ),
            (Verb::Patch, "application/merge-patch+json", "{", 400, "Invalid JSON Patch"),
            (Verb::Patch, "application/json-patch+json", "{", 400, "unexpected end of JSON input"),
        ] {
            assert_eq!(
                parsed(verb, media_type, text),
                Err((code, message.to_owned())),
                "{text:.40}"
            );
        }
    }
}
