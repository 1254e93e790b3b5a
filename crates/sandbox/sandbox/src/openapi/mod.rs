//! `OpenAPI` documents, one for each version of a group: what `kubectl` reads to explain, and to
//! learn what the server checks.

mod builtin;
mod custom;
mod paths;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use ring::digest;
use serde_json::{Map, Value, json};

use crate::catalog::{Catalog, Resource};
use crate::store::{Key, Resource as Stored, Store};

/// The documents, made when they are first asked for.
#[derive(Default)]
pub(crate) struct OpenApi {
    /// Of the versions without custom resources, which do not change.
    built_in: Mutex<BTreeMap<String, Bytes>>,
}

impl OpenApi {
    /// `/openapi/v3`: which documents there are.
    pub(crate) fn index(catalog: &Catalog, store: &Store) -> Value {
        let mut paths = Map::new();
        for group in std::iter::once("").chain(catalog.groups()) {
            for version in catalog.versions(group) {
                let path = path(group, version);
                let hash = hash(&resources(catalog, group, version), store);
                let url = format!("/openapi/v3/{path}?hash={hash}");
                paths.insert(path, json!({ "serverRelativeURL": url }));
            }
        }
        json!({ "paths": paths })
    }

    /// `/openapi/v3/{path}`: the document of one version; `None` where there is none.
    pub(crate) fn document(&self, catalog: &Catalog, store: &Store, wanted: &str) -> Option<Bytes> {
        let (group, version) = match *wanted.split('/').collect::<Vec<_>>() {
            ["api", version] => ("", version),
            ["apis", group, version] if !group.is_empty() => (group, version),
            _ => return None,
        };
        let resources = resources(catalog, group, version);
        if resources.is_empty() {
            return None;
        }
        if resources.iter().any(|resource| resource.custom.is_some()) {
            return Some(document(&resources, store));
        }
        // Only whole documents are behind the lock, so a poisoned one guards whole ones.
        let mut known = self.built_in.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(wanted.to_owned()).or_insert_with(|| document(&resources, store));
        Some(known.clone())
    }
}

fn resources(catalog: &Catalog, group: &str, version: &str) -> Vec<Arc<Resource>> {
    let is_in = |it: &&Arc<Resource>| it.group == group && it.version == version;
    catalog.resources().filter(is_in).cloned().collect()
}

fn path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// Changes with the document: clients keep what they have read under this name.
fn hash(resources: &[Arc<Resource>], store: &Store) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(env!("CARGO_PKG_VERSION").as_bytes());
    for resource in resources {
        context.update(resource.plural.as_bytes());
        if let Some(definition) = definition(resource, store) {
            context.update(definition["spec"].to_string().as_bytes());
        }
    }
    hex::encode_upper(context.finish())
}

fn document(resources: &[Arc<Resource>], store: &Store) -> Bytes {
    let Some(first) = resources.first() else { return Bytes::new() };
    let prefix = format!("/{}", path(&first.group, &first.version));
    let built_in = resources.iter().filter(|it| it.custom.is_none()).map(|it| &**it);
    let mut schemas = builtin::schemas(built_in);
    for resource in resources.iter().filter(|it| it.custom.is_some()) {
        let definition = definition(resource, store);
        schemas.extend(custom::schemas(resource, definition.as_deref()));
    }
    let paths: Map<_, _> = resources.iter().flat_map(|it| paths::of(it, &prefix)).collect();
    let document = json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "fairway" },
        "paths": paths,
        "components": { "schemas": schemas },
    });
    Bytes::from(document.to_string())
}

fn definition(resource: &Resource, store: &Store) -> Option<Arc<Value>> {
    let custom = resource.custom.as_ref()?;
    let definitions = Stored::new("apiextensions.k8s.io", "customresourcedefinitions");
    store.get(&Key::new(&definitions, None, &custom.definition).ok()?)
}

/// By which clients find what is about a kind.
fn kind_extension(group: &str, version: &str, kind: &str) -> Value {
    json!({ "group": group, "version": version, "kind": kind })
}
