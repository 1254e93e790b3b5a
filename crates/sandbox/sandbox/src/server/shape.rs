//! Objects in the form that a client wants.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use http::Response;
use jiff::Timestamp;
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::negotiate::{Accepted, Form, Syntax};
use super::respond;
use crate::api::{Query, Refusal};
use crate::catalog::Resource;
use crate::store::List;
use crate::table::{IncludeObject, Table, partial, partial_list};

/// Lists are written in pieces of about this size, so that no long list is in memory twice.
const PIECE: usize = 64 << 10;

/// How the objects of a resource are shown.
#[derive(Clone)]
pub(super) struct Shape {
    pub(super) resource: Arc<Resource>,
    pub(super) accepted: Accepted,
    include: IncludeObject,
    api_version: String,
}

impl Shape {
    pub(super) fn new(
        resource: &Arc<Resource>,
        accepted: Accepted,
        query: &Query,
    ) -> Result<Self, Refusal> {
        let word = query.get("includeObject").unwrap_or_default();
        let include = IncludeObject::parse(word).ok_or_else(|| {
            Refusal::bad_request(format!("unrecognized includeObject value: {word:?}"))
        })?;
        let api_version = resource.api_version();
        Ok(Self { resource: Arc::clone(resource), accepted, include, api_version })
    }

    /// One object.
    pub(super) fn one(
        &self,
        code: u16,
        object: &Value,
        now: Timestamp,
    ) -> Result<Response<Body>, Refusal> {
        let respond = |document: &Value| respond::document(code, document, self.accepted);
        match self.accepted.form {
            Form::Itself | Form::Aggregated => Ok(respond(object)),
            Form::Table => {
                Ok(respond(&json!(Table::of_one(&self.resource, object, self.include, now))))
            }
            Form::Partial => Ok(respond(&partial(object))),
            Form::PartialList => Err(not_a_list("PartialObjectMetadataList", "not a list")),
        }
    }

    /// Some objects.
    pub(super) fn list(&self, list: List, now: Timestamp) -> Result<Response<Body>, Refusal> {
        let metadata = list_metadata(&list);
        let objects = || list.items.iter().map(|object| &**object);
        let respond = |document: &Value| respond::document(200, document, self.accepted);
        match self.accepted.form {
            Form::Table => {
                let table = Table::of(&self.resource, objects(), metadata, self.include, now);
                Ok(respond::document(200, &table, self.accepted))
            }
            Form::PartialList => Ok(respond(&partial_list(objects(), &metadata))),
            Form::Partial => Err(not_a_list("PartialObjectMetadata", "a list")),
            Form::Itself | Form::Aggregated => Ok(self.plain_list(list, &metadata)),
        }
    }

    fn plain_list(&self, list: List, metadata: &Value) -> Response<Body> {
        if self.accepted.syntax == Syntax::Json && !self.accepted.pretty {
            let media_type = self.accepted.syntax.media_type();
            return respond::body(200, media_type, self.streamed(list.items, metadata));
        }
        let items: Vec<_> = list.items.iter().map(|object| self.list_item(object)).collect();
        let document = ListDocument {
            api_version: &self.api_version,
            kind: &self.resource.list_kind,
            metadata,
            items: &items,
        };
        respond::document(200, &document, self.accepted)
    }

    /// The list as JSON, written while it is sent.
    fn streamed(&self, items: Vec<Arc<Value>>, metadata: &Value) -> Body {
        let (kind, version) = (json!(self.resource.list_kind), json!(self.api_version));
        let head = format!(
            "{{\"kind\":{kind},\"apiVersion\":{version},\"metadata\":{metadata},\"items\":["
        );
        let begin = (self.clone(), Some(items.into_iter().enumerate()), head.into_bytes());
        Body::from_stream(stream::unfold(begin, |(shape, items, mut piece)| async move {
            let mut items = items?;
            while piece.len() < PIECE {
                let Some((index, object)) = items.next() else {
                    piece.extend_from_slice(b"]}\n");
                    return Some((Ok(Bytes::from(piece)), (shape, None, Vec::new())));
                };
                if index > 0 {
                    piece.push(b',');
                }
                if let Err(error) = serde_json::to_writer(&mut piece, &shape.list_item(&object)) {
                    return Some((Err(std::io::Error::other(error)), (shape, None, Vec::new())));
                }
            }
            Some((Ok(Bytes::from(piece)), (shape, Some(items), Vec::with_capacity(PIECE))))
        }))
    }

    /// As the `object` of a watch event; `first` is whether it is the first one.
    pub(super) fn event(
        &self,
        object: &Value,
        first: bool,
        now: Timestamp,
    ) -> serde_json::Result<Vec<u8>> {
        match self.accepted.form {
            Form::Itself | Form::Aggregated => serde_json::to_vec(object),
            Form::Partial | Form::PartialList => serde_json::to_vec(&partial(object)),
            Form::Table => {
                let mut table = Table::of_one(&self.resource, object, self.include, now);
                if !first {
                    table.column_definitions.clear();
                }
                serde_json::to_vec(&table)
            }
        }
    }

    /// An object without content, at this revision.
    pub(super) fn bookmark(&self, revision: u64, annotations: Option<Value>) -> Value {
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if let Some(annotations) = annotations {
            metadata["annotations"] = annotations;
        }
        let (kind, version) = match self.accepted.form {
            Form::Itself | Form::Aggregated => (self.resource.kind.as_str(), &*self.api_version),
            Form::Partial | Form::PartialList => ("PartialObjectMetadata", "meta.k8s.io/v1"),
            Form::Table => ("Table", "meta.k8s.io/v1"),
        };
        metadata["creationTimestamp"] = Value::Null;
        json!({ "kind": kind, "apiVersion": version, "metadata": metadata })
    }

    /// Within lists, built-in objects do not say what they are.
    fn list_item<'a>(&self, object: &'a Value) -> Item<'a> {
        Item { object, with_kind: self.resource.custom.is_some() }
    }
}

fn not_a_list(requested: &str, found: &str) -> Refusal {
    let message = format!("you requested {requested}, but the requested object is {found}");
    Refusal::new(406, "NotAcceptable", message)
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
    items: &'a [Item<'a>],
}

/// An object of a list, written without a copy of it.
#[derive(Clone, Copy)]
struct Item<'a> {
    object: &'a Value,
    with_kind: bool,
}

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(fields) = self.object else { return self.object.serialize(serializer) };
        let shown = |name: &str| self.with_kind || !matches!(name, "kind" | "apiVersion");
        serializer.collect_map(fields.iter().filter(|(name, _)| shown(name)))
    }
}
