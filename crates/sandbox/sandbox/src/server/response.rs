//! Responses: documents, errors, and objects in the negotiated format.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WARNING};
use http::{HeaderValue, Response, StatusCode};
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::negotiate::{Representation, ResponseFormat, Syntax};
use crate::api::{ApiResult, QueryParams, StatusError};
use crate::catalog::Resource;
use crate::store::List;
use crate::table::{IncludeObject, Table, partial, partial_list};

/// Lists are streamed in chunks of about this size, so that no long list is in memory twice.
const LIST_CHUNK_BYTES: usize = 64 << 10;

/// Response extension: the reason of an error, for the audit log.
#[derive(Clone, Debug)]
pub(super) struct ErrorReason(pub(super) &'static str);

/// Response extension: the response is streamed and logs its completion itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streamed;

/// A document in the negotiated format.
pub(super) fn document<T: Serialize>(
    code: u16,
    document: &T,
    format: ResponseFormat,
) -> Response<Body> {
    let text = match (format.syntax, format.pretty) {
        (Syntax::Json, false) => serde_json::to_vec(document).map_err(|error| error.to_string()),
        (Syntax::Json, true) => {
            serde_json::to_vec_pretty(document).map_err(|error| error.to_string())
        }
        (Syntax::Yaml, _) => serde_saphyr::to_string(document)
            .map(String::into_bytes)
            .map_err(|error| error.to_string()),
    };
    match text {
        Ok(text) => with_body(code, format.syntax.media_type(), Body::from(text)),
        Err(problem) => plain_text(500, problem),
    }
}

/// An error as `Status`.
pub(super) fn status_error(error: &StatusError, format: ResponseFormat) -> Response<Body> {
    let mut response = document(error.code, &error.to_status(), format);
    let seconds = error.details.as_ref().and_then(|details| details.retry_after_seconds);
    if let Some(seconds) = seconds {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response.extensions_mut().insert(ErrorReason(error.reason));
    response
}

/// A plain text response.
pub(super) fn plain_text(code: u16, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = with_body(code, "text/plain; charset=utf-8", Body::from(text.into()));
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert("x-content-type-options", nosniff);
    response
}

/// A response with any body.
pub(super) fn with_body(code: u16, media_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// Adds `Warning` headers.
pub(super) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    for warning in warnings {
        let quoted = Value::from(warning.as_str()).to_string();
        if let Ok(value) = HeaderValue::from_str(&format!("299 - {quoted}")) {
            response.headers_mut().append(WARNING, value);
        }
    }
}

/// Renders the objects of a resource in the negotiated format.
#[derive(Clone)]
pub(super) struct ObjectRenderer {
    pub(super) resource: Arc<Resource>,
    pub(super) format: ResponseFormat,
    include: IncludeObject,
    api_version: String,
}

impl ObjectRenderer {
    pub(super) fn new(
        resource: &Arc<Resource>,
        format: ResponseFormat,
        query: &QueryParams,
    ) -> ApiResult<Self> {
        let word = query.get("includeObject").unwrap_or_default();
        let include = IncludeObject::parse(word).ok_or_else(|| {
            StatusError::bad_request(format!("unrecognized includeObject value: {word:?}"))
        })?;
        let api_version = resource.api_version();
        Ok(Self { resource: Arc::clone(resource), format, include, api_version })
    }

    /// A response with one object.
    pub(super) fn object_response(
        &self,
        code: u16,
        object: &Value,
        now: Timestamp,
    ) -> ApiResult<Response<Body>> {
        let render = |document: &Value| self::document(code, document, self.format);
        match self.format.representation {
            Representation::Full | Representation::AggregatedDiscovery => Ok(render(object)),
            Representation::Table => {
                Ok(render(&json!(Table::of_one(&self.resource, object, self.include, now))))
            }
            Representation::Partial => Ok(render(&partial(object))),
            Representation::PartialList => {
                Err(wrong_representation("PartialObjectMetadataList", "not a list"))
            }
        }
    }

    /// A response with a list.
    pub(super) fn list_response(&self, list: List, now: Timestamp) -> ApiResult<Response<Body>> {
        let metadata = list_metadata(&list);
        let objects = || list.items.iter().map(|object| &**object);
        let render = |document: &Value| self::document(200, document, self.format);
        match self.format.representation {
            Representation::Table => {
                let table = Table::of(&self.resource, objects(), metadata, self.include, now);
                Ok(document(200, &table, self.format))
            }
            Representation::PartialList => Ok(render(&partial_list(objects(), &metadata))),
            Representation::Partial => Err(wrong_representation("PartialObjectMetadata", "a list")),
            Representation::Full | Representation::AggregatedDiscovery => {
                Ok(self.plain_list(list, &metadata))
            }
        }
    }

    fn plain_list(&self, list: List, metadata: &Value) -> Response<Body> {
        if self.format.syntax == Syntax::Json && !self.format.pretty {
            let media_type = self.format.syntax.media_type();
            return with_body(200, media_type, self.streamed(list.items, metadata));
        }
        let items: Vec<_> = list.items.iter().map(|object| self.list_item(object)).collect();
        let document = ListDocument {
            api_version: &self.api_version,
            kind: &self.resource.list_kind,
            metadata,
            items: &items,
        };
        self::document(200, &document, self.format)
    }

    /// Streams a list as JSON.
    fn streamed(&self, items: Vec<Arc<Value>>, metadata: &Value) -> Body {
        let (kind, version) = (json!(self.resource.list_kind), json!(self.api_version));
        let head = format!(
            "{{\"kind\":{kind},\"apiVersion\":{version},\"metadata\":{metadata},\"items\":["
        );
        let start = (self.clone(), Some(items.into_iter().enumerate()), head.into_bytes());
        Body::from_stream(stream::unfold(start, |(renderer, items, mut chunk)| async move {
            let mut items = items?;
            while chunk.len() < LIST_CHUNK_BYTES {
                let Some((index, object)) = items.next() else {
                    chunk.extend_from_slice(b"]}\n");
                    return Some((Ok(Bytes::from(chunk)), (renderer, None, Vec::new())));
                };
                if index > 0 {
                    chunk.push(b',');
                }
                if let Err(error) = serde_json::to_writer(&mut chunk, &renderer.list_item(&object))
                {
                    return Some((Err(std::io::Error::other(error)), (renderer, None, Vec::new())));
                }
            }
            Some((
                Ok(Bytes::from(chunk)),
                (renderer, Some(items), Vec::with_capacity(LIST_CHUNK_BYTES)),
            ))
        }))
    }

    /// The `object` of a watch event; `first` is whether it is the first event of the watch.
    pub(super) fn event(
        &self,
        object: &Value,
        first: bool,
        now: Timestamp,
    ) -> serde_json::Result<Vec<u8>> {
        match self.format.representation {
            Representation::Full | Representation::AggregatedDiscovery => {
                serde_json::to_vec(object)
            }
            Representation::Partial | Representation::PartialList => {
                serde_json::to_vec(&partial(object))
            }
            Representation::Table => {
                let mut table = Table::of_one(&self.resource, object, self.include, now);
                if !first {
                    table.column_definitions.clear();
                }
                serde_json::to_vec(&table)
            }
        }
    }

    /// The object of a bookmark event.
    pub(super) fn bookmark(&self, revision: u64, annotations: Option<Value>) -> Value {
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if let Some(annotations) = annotations {
            metadata["annotations"] = annotations;
        }
        let (kind, version) = match self.format.representation {
            Representation::Full | Representation::AggregatedDiscovery => {
                (self.resource.kind.as_str(), &*self.api_version)
            }
            Representation::Partial | Representation::PartialList => {
                ("PartialObjectMetadata", "meta.k8s.io/v1")
            }
            Representation::Table => ("Table", "meta.k8s.io/v1"),
        };
        metadata["creationTimestamp"] = Value::Null;
        json!({ "kind": kind, "apiVersion": version, "metadata": metadata })
    }

    /// A list item. Built-in objects omit `kind` and `apiVersion` there.
    fn list_item<'a>(&self, object: &'a Value) -> ListItem<'a> {
        ListItem { object, with_kind: self.resource.custom.is_some() }
    }
}

fn wrong_representation(requested: &str, found: &str) -> StatusError {
    let message = format!("you requested {requested}, but the requested object is {found}");
    StatusError::new(406, "NotAcceptable", message)
}

fn list_metadata(list: &List) -> Value {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".to_owned(), json!(list.revision.to_string()));
    if let Some(token) = &list.continue_token {
        metadata.insert("continue".to_owned(), json!(token));
    }
    if let Some(remaining) = list.remaining {
        metadata.insert("remainingItemCount".to_owned(), json!(remaining));
    }
    Value::Object(metadata)
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct ListDocument<'a> {
    kind: &'a str,
    api_version: &'a str,
    metadata: &'a Value,
    items: &'a [ListItem<'a>],
}

/// A list item, serialized without a copy.
#[derive(Clone, Copy)]
struct ListItem<'a> {
    object: &'a Value,
    with_kind: bool,
}

impl Serialize for ListItem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(fields) = self.object else { return self.object.serialize(serializer) };
        let shown = |name: &str| self.with_kind || !matches!(name, "kind" | "apiVersion");
        serializer.collect_map(fields.iter().filter(|(name, _)| shown(name)))
    }
}

#[cfg(test)]
mod tests {
    use crate::api::StatusDetails;

    use super::*;

    #[test]
    fn error_with_retry_delay_sets_retry_after() {
        let details = StatusDetails { retry_after_seconds: Some(3), ..StatusDetails::default() };
        let busy = StatusError::new(429, "TooManyRequests", "later").with_details(details);
        let response = status_error(&busy, ResponseFormat::default());
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()[RETRY_AFTER], "3");
    }

    #[test]
    fn warn_quotes_messages() {
        let mut response = plain_text(200, "");
        warn(&mut response, &["say \"no\"".to_owned(), "two\nlines".to_owned()]);
        let warnings: Vec<_> = response.headers().get_all(WARNING).iter().collect();
        assert_eq!(warnings, [r#"299 - "say \"no\"""#, r#"299 - "two\nlines""#]);
    }
}
