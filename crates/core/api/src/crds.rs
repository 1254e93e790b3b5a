//! The CustomResourceDefinitions, made from the types.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use crate::{ClusterOperator, ClusterVersion};

/// The CustomResourceDefinitions of the update API, in the order in which they are applied.
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![finished(ClusterOperator::crd()), finished(ClusterVersion::crd())]
}

/// Paths at which `null` says something that a missing field would not.
const NULLABLE: &[&str] = &[
    "status.availableUpdates",
    "status.history[].completionTime",
    // Components that have nothing to add have always written `null` here.
    "status.extension",
];

fn finished(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        if let Some(root) = version.schema.as_mut().and_then(|s| s.open_api_v3_schema.as_mut()) {
            root.required = Some(vec!["spec".to_owned()]);
            tidy(root, "");
        }
    }
    crd
}

/// Takes out what the derivation adds for Rust's sake: reading is lenient, so every field has a
/// default there and every optional one may be `null`; the API server is to be strict about both.
fn tidy(schema: &mut JSONSchemaProps, path: &str) {
    schema.default = None;
    schema.title = None;
    schema.nullable = NULLABLE.contains(&path).then_some(true);
    if let Some(words) = &mut schema.enum_ {
        words.retain(|word| !word.0.is_null());
    }
    for (name, property) in schema.properties.iter_mut().flatten() {
        let separator = if path.is_empty() { "" } else { "." };
        tidy(property, &format!("{path}{separator}{name}"));
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => tidy(items, &format!("{path}[]")),
        Some(JSONSchemaPropsOrArray::Schemas(several)) => {
            for items in several {
                tidy(items, &format!("{path}[]"));
            }
        }
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        tidy(values, &format!("{path}{{}}"));
    }
}
