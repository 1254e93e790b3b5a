//! The schemas of custom resources, from their definitions.

use serde_json::{Map, Value, json};

use super::{builtin, kind_extension};
use crate::catalog::Resource;

/// A schema for this resource, and what else it consists of. Without the definition everything is
/// allowed.
pub(super) fn schemas(resource: &Resource, definition: Option<&Value>) -> Map<String, Value> {
    let (metadata, mut schemas) = builtin::metadata();
    let declared = definition.and_then(|definition| schema(definition, &resource.version));
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
    schemas.insert(name(resource), schema);
    schemas
}

fn schema<'a>(definition: &'a Value, version: &str) -> Option<&'a Value> {
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let version = versions.iter().find(|it| it["name"] == version)?;
    version.pointer("/schema/openAPIV3Schema")
}

/// Such as `com.example.v1.Widget`, with the group from behind as in other languages' packages.
fn name(resource: &Resource) -> String {
    let group: Vec<_> = resource.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), resource.version, resource.kind)
}
