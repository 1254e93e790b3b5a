//! Tests of single operations, and a comparison with a model.

mod concurrent;
mod lists;
mod model;
mod watches;
mod writes;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::selector::{Field, FieldSelector, LabelSelector};

fn configmaps() -> ResourceKey {
    ResourceKey::new("", "configmaps")
}

fn key(namespace: &str, name: &str) -> Key {
    Key::new(&configmaps(), Some(namespace), name).unwrap()
}

/// Creates or updates a ConfigMap in namespace `n` with one label.
fn put(store: &Store, name: &str, app: &str) -> Arc<Value> {
    put_in(store, "n", name, app)
}

fn put_in(store: &Store, namespace: &str, name: &str, app: &str) -> Arc<Value> {
    let metadata = json!({ "name": name, "namespace": namespace, "labels": { "app": app } });
    let object = json!({ "metadata": metadata });
    let key = key(namespace, name);
    match store.get(&key) {
        None => store.create(&key, object).unwrap(),
        Some(_) => store.update(&key, object, None).unwrap(),
    }
}

fn delete(store: &Store, name: &str) {
    store.delete(&key("n", name), None).unwrap();
}

fn labelled(selector: &str) -> Selection {
    Selection { labels: LabelSelector::parse(selector).unwrap(), ..Selection::default() }
}

fn named(namespace: Option<&str>, name: &str) -> Selection {
    let selector = format!("metadata.name={name}");
    Selection {
        namespace: namespace.map(str::to_owned),
        fields: FieldSelector::parse(&selector, &Field::METADATA).unwrap(),
        ..Selection::default()
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

fn version(object: &Value) -> u64 {
    resource_version(object).parse().unwrap()
}

/// Formats an event as `ADDED a=x@2`: type, name, label and resource version.
fn format_event(event: &WatchEvent) -> String {
    let app = event.object["metadata"]["labels"]["app"].as_str().unwrap();
    let (kind, name, version) = (event.kind.as_str(), name(&event.object), version(&event.object));
    format!("{kind} {name}={app}@{version}")
}

fn drain_events(watcher: &mut Watcher) -> Vec<String> {
    std::iter::from_fn(|| watcher.try_next().as_ref().map(format_event)).collect()
}
