//! Objects and writes of the tests.

use std::fmt;

use fairway_sandbox::apply::{WritableFields, Writer};
use fairway_sandbox::schema::Schema;
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

/// A kind of object.
pub(crate) struct TestKind {
    pub(crate) api_version: String,
    pub(crate) kind: &'static str,
    pub(crate) schema: Schema,
}

impl TestKind {
    pub(crate) fn config_map() -> Self {
        let schema = Schema::builtin("", "ConfigMap").expect("the table knows it");
        Self { api_version: "v1".to_owned(), kind: "ConfigMap", schema }
    }

    pub(crate) fn gadget() -> Self {
        Self::gadget_in_group("fairway.dev")
    }

    pub(crate) fn gadget_in_group(group: &str) -> Self {
        let definition: JSONSchemaProps = serde_json::from_value(gadget_schema()).unwrap();
        let schema = Schema::from_crd(&definition);
        Self { api_version: format!("{group}/v1"), kind: "Gadget", schema }
    }

    /// An object of this kind.
    pub(crate) fn object(&self, name: &str, content: &Value) -> Value {
        let mut object = content.clone();
        object["apiVersion"] = self.api_version.as_str().into();
        object["kind"] = self.kind.into();
        object["metadata"]["name"] = name.into();
        object
    }

    /// A writer without subresource, at the second `now`.
    pub(crate) fn writer<'a>(&'a self, manager: &'a str, now: i64) -> Writer<'a> {
        Writer {
            manager,
            api_version: &self.api_version,
            subresource: None,
            writable: WritableFields::All,
            now: Timestamp::from_second(now).unwrap(),
            schema: &self.schema,
            blank: &Value::Null,
        }
    }
}

/// A kind with all types of lists and objects.
pub(crate) fn gadget_schema() -> Value {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": text });
    let set = json!({ "type": "array", "items": text, "x-kubernetes-list-type": "set" });
    let item = json!({ "type": "object", "required": ["name"], "properties": {
        "name": text, "value": text, "size": { "type": "integer" }, "tags": set,
        "inner": { "type": "object", "properties": { "a": text, "b": text } },
    } });
    let port = json!({ "type": "object", "required": ["port"], "properties": {
        "port": { "type": "integer" }, "protocol": { "type": "string", "default": "TCP" }, "note": text,
    } });
    json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
        "title": text,
        "count": { "type": "integer" },
        "nested": { "type": "object", "properties": {
            "a": text, "b": text,
            "deep": { "type": "object", "properties": { "x": text, "y": text } },
        } },
        "whole": { "type": "object", "x-kubernetes-map-type": "atomic", "properties": { "a": text, "b": text } },
        "map": { "type": "object", "additionalProperties": text },
        "items": { "type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
        "ports": { "type": "array", "items": port, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"] },
        "set": set,
        "list": texts,
        "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
    } } } })
}

/// One write.
#[derive(Clone)]
pub(crate) enum WriteStep {
    Apply { manager: &'static str, force: bool, content: Value },
    Put { manager: &'static str, content: Value },
    Merge { manager: &'static str, content: Value },
}

impl fmt::Debug for WriteStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply { manager, force, content } => {
                let forced = if *force { " by force" } else { "" };
                write!(f, "{manager} applies{forced} {content}")
            }
            Self::Put { manager, content } => write!(f, "{manager} puts {content}"),
            Self::Merge { manager, content } => write!(f, "{manager} merges {content}"),
        }
    }
}

/// Content of a `ConfigMap`.
pub(crate) fn config_map_content() -> BoxedStrategy<Value> {
    let data = some_of(&["a", "b", "c"], || word().boxed());
    let labels = some_of(&["l", "m"], || word().boxed());
    (option(data), option(labels))
        .prop_map(|(data, labels)| {
            let mut content = json!({});
            if let Some(data) = data {
                content["data"] = data;
            }
            if let Some(labels) = labels {
                content["metadata"] = json!({ "labels": labels });
            }
            content
        })
        .boxed()
}

/// Content of a gadget.
///
/// Fields without schema contain no objects, because the old server treats them as atomic.
pub(crate) fn gadget_content() -> BoxedStrategy<Value> {
    let fields: Vec<(&'static str, BoxedStrategy<Value>)> = vec![
        ("title", word().boxed()),
        ("count", (0..3_i32).prop_map(Value::from).boxed()),
        ("nested", nested()),
        ("whole", some_of(&["a", "b"], || word().boxed())),
        ("map", some_of(&["k", "l", "m"], || word().boxed())),
        ("items", named(&["one", "two", "three"], item)),
        ("ports", ports()),
        ("set", words()),
        ("list", words()),
        ("free", free()),
    ];
    optional(fields).prop_map(|spec| json!({ "spec": spec })).boxed()
}

/// A sequence of writes, the first of which creates the object.
pub(crate) fn steps(content: fn() -> BoxedStrategy<Value>) -> BoxedStrategy<Vec<WriteStep>> {
    let step = (0..10_u8, select(vec!["anna", "bert", "carl"]), any::<bool>(), content());
    let step = step.prop_map(|(kind, manager, force, content)| match kind {
        0..7 => WriteStep::Apply { manager, force, content },
        7 => WriteStep::Put { manager, content },
        _ => WriteStep::Merge { manager, content },
    });
    proptest::collection::vec(step, 2..8).boxed()
}

fn word() -> impl Strategy<Value = Value> {
    select(vec!["red", "green"]).prop_map(Value::from)
}

fn words() -> BoxedStrategy<Value> {
    subsequence(vec!["red", "green", "blue"], 0..=3).prop_shuffle().prop_map(Value::from).boxed()
}

fn nested() -> BoxedStrategy<Value> {
    let deep = some_of(&["x", "y"], || word().boxed());
    optional(vec![("a", word().boxed()), ("b", word().boxed()), ("deep", deep)])
}

fn item() -> BoxedStrategy<Value> {
    let inner = some_of(&["a", "b"], || word().boxed());
    optional(vec![
        ("size", Just(json!(1)).boxed()),
        ("value", word().boxed()),
        ("tags", words()),
        ("inner", inner),
    ])
}

fn free() -> BoxedStrategy<Value> {
    let anything = prop_oneof![word(), words()];
    optional(vec![("a", anything.clone().boxed()), ("b", anything.boxed())])
}

fn ports() -> BoxedStrategy<Value> {
    let port = |(port, protocol): (i32, &'static str)| {
        option(word()).prop_map(move |note| {
            let mut item = json!({ "port": port, "protocol": protocol });
            if let Some(note) = note {
                item["note"] = note;
            }
            item
        })
    };
    subsequence(vec![(80, "TCP"), (80, "UDP"), (443, "TCP")], 0..=3)
        .prop_flat_map(move |ports| ports.into_iter().map(port).collect::<Vec<_>>())
        .prop_map(Value::from)
        .boxed()
}

/// A list of some of these items, each with a name.
fn named(names: &[&'static str], item: fn() -> BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let with_name = move |name: &'static str| {
        item().prop_map(move |mut item| {
            item["name"] = name.into();
            item
        })
    };
    subsequence(names.to_vec(), 0..=names.len())
        .prop_shuffle()
        .prop_flat_map(move |names| names.into_iter().map(with_name).collect::<Vec<_>>())
        .prop_map(Value::from)
        .boxed()
}

/// An object with at least one of these fields. The old server does not track ownership of empty
/// objects.
fn some_of(names: &[&'static str], value: fn() -> BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    optional(names.iter().map(|name| (*name, value())).collect())
}

fn optional(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| option(value).prop_map(move |value| Some((name.to_owned(), value?))))
        .collect();
    fields
        .prop_filter("empty", |fields| fields.iter().any(Option::is_some))
        .prop_map(|fields| Value::Object(fields.into_iter().flatten().collect::<Map<_, _>>()))
        .boxed()
}

fn option<S: Strategy>(value: S) -> impl Strategy<Value = Option<S::Value>> {
    proptest::option::weighted(0.4, value)
}
