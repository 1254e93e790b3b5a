//! The schemas of built-in kinds.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::kind_extension;
use crate::builtin;
use crate::catalog::Resource;

/// The schemas of these resources, and of everything that they consist of.
pub(super) fn schemas<'a>(resources: impl Iterator<Item = &'a Resource>) -> Map<String, Value> {
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

/// The metadata that custom resources share with built-in kinds, and what that consists of.
pub(super) fn metadata() -> (Value, Map<String, Value>) {
    let mut schemas = SchemaSettings::openapi3().into_generator();
    let reference = schemas.subschema_for::<ObjectMeta>();
    (json!({ "allOf": [reference] }), schemas.take_definitions(true))
}
