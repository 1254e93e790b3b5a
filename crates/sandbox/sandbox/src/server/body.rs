//! Reading what comes along with a request, with limits.

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
use crate::api::{Body, PatchKind, Refusal};
use crate::catalog::Verb;

/// What the API server quotes of what it cannot read.
const QUOTED: usize = 30;

/// How much is read, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) bytes: usize,
    pub(super) time: Duration,
}

/// Takes in the body of a request.
pub(super) async fn read(
    body: Incoming,
    headers: &HeaderMap,
    limit: Limit,
) -> Result<Bytes, Refusal> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let announced = announced.and_then(|length| length.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limit.bytes) {
        return Err(too_large(limit.bytes));
    }
    let collected = timeout(limit.time, Limited::new(body, limit.bytes).collect()).await;
    match collected {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limit.bytes)),
        Ok(Err(error)) => {
            Err(Refusal::bad_request(format!("the request body is incomplete: {error}")))
        }
        Err(_) => {
            let message = "Timeout: request did not complete within the allotted timeout";
            Err(Refusal::new(504, "Timeout", message))
        }
    }
}

fn too_large(limit: usize) -> Refusal {
    let message = format!("Request entity too large: limit is {limit}");
    Refusal::new(413, "RequestEntityTooLarge", message)
}

/// Makes sense of it; `kind` is that of the object that is wanted.
pub(super) fn parse(
    bytes: &[u8],
    headers: &HeaderMap,
    verb: Verb,
    kind: &str,
    is_custom: bool,
) -> Result<Body, Refusal> {
    let media_type = media_type(headers);
    match verb {
        Verb::Get | Verb::List | Verb::Watch => Ok(Body::None),
        Verb::Delete | Verb::DeleteCollection if bytes.is_empty() => Ok(Body::None),
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

fn object(bytes: &[u8], media_type: &str, kind: &str) -> Result<Body, Refusal> {
    let value = syntax(bytes, media_type)?.map_err(|problem| {
        let quoted = quoted(bytes);
        Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {problem} ({quoted})"
        ))
    })?;
    Ok(Body::Object(value))
}

/// The API server does not expect that these cannot be read, and says 500.
fn options(bytes: &[u8], media_type: &str) -> Result<Body, Refusal> {
    let value = syntax(bytes, media_type)?.map_err(|problem| Refusal::new(500, "", problem))?;
    Ok(Body::Object(value))
}

fn syntax(bytes: &[u8], media_type: &str) -> Result<Result<Value, String>, Refusal> {
    match media_type {
        "application/json" => Ok(json(bytes)
            .and_then(whole)
            .map_err(|problem| format!("couldn't get version/kind; json parse error: {problem}"))),
        "application/yaml" => Ok(yaml(bytes)),
        "application/vnd.kubernetes.protobuf" => match protobuf::decode(bytes) {
            Err(error @ ProtobufError::Unknown { .. }) => {
                Err(Refusal::new(415, "UnsupportedMediaType", error.to_string()))
            }
            decoded => Ok(decoded.map_err(|error| error.to_string())),
        },
        _ => Err(Refusal::new(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: \
             application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

fn patch(bytes: &[u8], media_type: &str, is_custom: bool) -> Result<Body, Refusal> {
    let (kind, value) = match media_type {
        "application/json-patch+json" => (PatchKind::Json, json(bytes)),
        "application/merge-patch+json" => {
            (PatchKind::Merge, json(bytes).map_err(|_| "Invalid JSON Patch".to_owned()))
        }
        "application/strategic-merge-patch+json" => (PatchKind::Strategic, json(bytes)),
        "application/apply-patch+yaml" => {
            let decoded = yaml(bytes).map_err(|problem| format!("error decoding YAML: {problem}"));
            (PatchKind::Apply, decoded)
        }
        _ => {
            let message = if is_custom {
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, \
                 application/apply-patch+yaml"
            } else {
                "415: Unsupported Media Type"
            };
            return Err(Refusal::new(415, "UnsupportedMediaType", message));
        }
    };
    Ok(Body::Patch(kind, value.map_err(Refusal::bad_request)?))
}

/// The parser goes 128 levels deep and no further, so no input can exhaust the stack.
fn json(bytes: &[u8]) -> Result<Value, String> {
    // The real server takes what is not text for the sign that stands for it.
    let text = String::from_utf8_lossy(bytes);
    serde_json::from_str(&text).map_err(|error| match error.classify() {
        Category::Eof => "unexpected end of JSON input".to_owned(),
        _ => error.to_string(),
    })
}

/// Nothing at all is an object without content, as the API server reads it.
fn whole(value: Value) -> Result<Value, String> {
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

/// The beginning, as text where it looks like an object and as digits where it does not.
fn quoted(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "<empty>".to_owned();
    }
    let shown = &bytes[..bytes.len().min(QUOTED)];
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
    use serde_json::json;

    use super::*;

    fn parsed(verb: Verb, media_type: &'static str, text: &str) -> Result<Body, (u16, String)> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media_type))]);
        parse(text.as_bytes(), &headers, verb, "ConfigMap", false)
            .map_err(|refusal| (refusal.code, refusal.message))
    }

    #[test]
    fn every_syntax_has_its_media_type() {
        let object = json!({ "a": 1 });
        for (verb, media_type, text, expected) in [
            (Verb::Create, "application/json", r#"{"a":1}"#, Body::Object(object.clone())),
            (Verb::Update, "application/yaml", "a: 1", Body::Object(object.clone())),
            (
                Verb::Create,
                "Application/JSON; charset=utf-8",
                r#"{"a":1}"#,
                Body::Object(object.clone()),
            ),
            (Verb::Create, "application/json", "null", Body::Object(json!({}))),
            (Verb::Get, "text/plain", "whatever", Body::None),
            (Verb::Delete, "text/plain", "", Body::None),
            (Verb::Delete, "application/json", r#"{"a":1}"#, Body::Object(object.clone())),
            (
                Verb::Patch,
                "application/json-patch+json",
                "[]",
                Body::Patch(PatchKind::Json, json!([])),
            ),
            (
                Verb::Patch,
                "application/merge-patch+json",
                r#"{"a":1}"#,
                Body::Patch(PatchKind::Merge, object.clone()),
            ),
            (
                Verb::Patch,
                "application/strategic-merge-patch+json",
                r#"{"a":1}"#,
                Body::Patch(PatchKind::Strategic, object.clone()),
            ),
            (
                Verb::Patch,
                "application/apply-patch+yaml",
                "a: 1",
                Body::Patch(PatchKind::Apply, object),
            ),
        ] {
            assert_eq!(
                parsed(verb, media_type, text),
                Ok(expected),
                "{verb:?} {media_type} {text}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_said_as_the_api_server_says_it() {
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
