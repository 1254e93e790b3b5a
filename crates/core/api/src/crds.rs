//! Generation of the CRDs from the types.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use crate::{ClusterOperator, ClusterVersion};

/// The CRDs of the update API, in the order of their installation.
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![finished(ClusterOperator::crd()), finished(ClusterVersion::crd())]
}

/// Fields in which `null` differs from a missing field.
const NULLABLE: &[&str] = &[
    "status.availableUpdates",
    "status.history[].completionTime",
    // Components without an extension write `null`.
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

/// Removes what the derivation adds for lenient parsing: defaults of all fields, and `null` for
/// optional ones. The API server should be strict.
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
