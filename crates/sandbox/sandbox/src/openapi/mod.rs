//! `OpenAPI` v3 documents, one per group version, which `kubectl explain` and `kubectl apply` read.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use ring::digest;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::builtin;
use crate::catalog::{Catalog, Resource, Verb};
use crate::store::Store;

/// Parameters of writes that clients check for.
const WRITE_PARAMETERS: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];

/// The documents, generated on first use.
#[derive(Default)]
pub(crate) struct OpenApi {
    /// Cached documents of versions without custom resources, which never change.
    built_in: Mutex<BTreeMap<String, Bytes>>,
}

impl OpenApi {
    /// `/openapi/v3`: the index of documents.
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

    /// `/openapi/v3/{path}`: the document of a group version; `None` if it is not served.
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
        // Only complete documents are stored, so a poisoned lock is safe to use.
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

/// Hash of the content of a document, by which clients cache it.
fn hash(resources: &[Arc<Resource>], store: &Store) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(env!("CARGO_PKG_VERSION").as_bytes());
    for resource in resources {
        context.update(resource.plural.as_bytes());
        if let Some(crd) = stored_crd(resource, store) {
            context.update(crd["spec"].to_string().as_bytes());
        }
    }
    hex::encode_upper(context.finish())
}

fn document(resources: &[Arc<Resource>], store: &Store) -> Bytes {
    let Some(first) = resources.first() else { return Bytes::new() };
    let prefix = format!("/{}", path(&first.group, &first.version));
    let built_in = resources.iter().filter(|it| it.custom.is_none()).map(|it| &**it);
    let mut schemas = builtin_schemas(built_in);
    for resource in resources.iter().filter(|it| it.custom.is_some()) {
        let crd = stored_crd(resource, store);
        schemas.extend(custom_schemas(resource, crd.as_deref()));
    }
    let paths: Map<_, _> = resources.iter().flat_map(|it| resource_paths(it, &prefix)).collect();
    let document = json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "fairway" },
        "paths": paths,
        "components": { "schemas": schemas },
    });
    Bytes::from(document.to_string())
}

fn stored_crd(resource: &Resource, store: &Store) -> Option<Arc<Value>> {
    let custom = resource.custom.as_ref()?;
    store.find("apiextensions.k8s.io", "customresourcedefinitions", None, &custom.definition)
}

/// The extension by which clients find a kind.
fn kind_extension(group: &str, version: &str, kind: &str) -> Value {
    json!({ "group": group, "version": version, "kind": kind })
}

/// Schemas of these resources and of all referenced types.
fn builtin_schemas<'a>(resources: impl Iterator<Item = &'a Resource>) -> Map<String, Value> {
    let mut schemas = SchemaSettings::openapi3().into_generator();
    for Resource { group, version, kind, .. } in resources {
        let Some(known) = builtin::kind(group, kind) else { continue };
        let name = known.schema(&mut schemas);
        if let Some(Value::Object(schema)) = schemas.definitions_mut().get_mut(&name) {
            let extension = json!([kind_extension(group, version, kind)]);
            schema.insert("x-kubernetes-group-version-kind".to_owned(), extension);
        }
    }
    schemas.take_definitions(true)
}

/// Reference to `ObjectMeta`, and the schemas it needs.
fn object_meta_schema() -> (Value, Map<String, Value>) {
    let mut schemas = SchemaSettings::openapi3().into_generator();
    let reference = schemas.subschema_for::<ObjectMeta>();
    (json!({ "allOf": [reference] }), schemas.take_definitions(true))
}

/// Schemas of a custom resource. Without its CRD, everything is allowed.
fn custom_schemas(resource: &Resource, crd: Option<&Value>) -> Map<String, Value> {
    let (metadata, mut schemas) = object_meta_schema();
    let declared = crd.and_then(|crd| version_schema(crd, &resource.version));
    let mut schema = declared.cloned().unwrap_or_else(
        || json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
    );
    if let Some(fields) = schema.as_object_mut() {
        let kind = kind_extension(&resource.group, &resource.version, &resource.kind);
        fields.insert("x-kubernetes-group-version-kind".to_owned(), json!([kind]));
        let properties = fields.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert("metadata".to_owned(), metadata);
            for field in ["apiVersion", "kind"] {
                properties.entry(field).or_insert_with(|| json!({ "type": "string" }));
            }
        }
    }
    schemas.insert(schema_name(resource), schema);
    schemas
}

fn version_schema<'a>(crd: &'a Value, version: &str) -> Option<&'a Value> {
    let versions = crd.pointer("/spec/versions")?.as_array()?;
    let version = versions.iter().find(|it| it["name"] == version)?;
    version.pointer("/schema/openAPIV3Schema")
}

/// Schema name with reversed group, such as `com.example.v1.Widget`.
fn schema_name(resource: &Resource) -> String {
    let group: Vec<_> = resource.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), resource.version, resource.kind)
}

/// The paths of a resource below a prefix.
fn resource_paths(resource: &Resource, prefix: &str) -> Vec<(String, Value)> {
    let namespace = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
    let all = format!("{prefix}{namespace}/{}", resource.plural);
    let one = format!("{all}/{{name}}");
    let paths = [
        (
            all,
            path_item(
                resource,
                &[("get", Verb::List), ("post", Verb::Create), ("delete", Verb::DeleteCollection)],
            ),
        ),
        (
            one,
            path_item(
                resource,
                &[
                    ("get", Verb::Get),
                    ("put", Verb::Update),
                    ("patch", Verb::Patch),
                    ("delete", Verb::Delete),
                ],
            ),
        ),
    ];
    paths.into_iter().filter_map(|(path, path_item)| Some((path, path_item?))).collect()
}

/// A path item; `None` if no verb is supported.
fn path_item(resource: &Resource, methods: &[(&str, Verb)]) -> Option<Value> {
    let served = methods.iter().filter(|(_, verb)| resource.verbs.contains(verb));
    let operations: Map<_, _> =
        served.map(|(method, verb)| ((*method).to_owned(), operation(resource, *verb))).collect();
    (!operations.is_empty()).then_some(Value::Object(operations))
}

fn operation(resource: &Resource, verb: Verb) -> Value {
    let writes = matches!(verb, Verb::Create | Verb::Update | Verb::Patch);
    let names: &[&str] = if writes { &WRITE_PARAMETERS } else { &[] };
    let parameters: Vec<_> = names.iter().map(|name| parameter(name)).collect();
    let action = match verb {
        Verb::Create => "post",
        Verb::Update => "put",
        other => other.as_str(),
    };
    json!({
        "parameters": parameters,
        "responses": { "200": { "description": "OK" } },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind":
            kind_extension(&resource.group, &resource.version, &resource.kind),
    })
}

fn parameter(name: &str) -> Value {
    json!({ "name": name, "in": "query", "schema": { "type": "string", "uniqueItems": true } })
}
