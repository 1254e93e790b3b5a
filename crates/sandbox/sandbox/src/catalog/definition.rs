//! The resources of a CustomResourceDefinition.

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion,
};

use super::{CatalogError, Custom, Resource, Subresource, Verb};
use crate::selector::Field;

/// One resource for each version that is served.
pub(super) fn resources(
    definition: &CustomResourceDefinition,
) -> Result<Vec<Arc<Resource>>, CatalogError> {
    let name = definition.metadata.name.clone().unwrap_or_default();
    let (spec, names) = (&definition.spec, &definition.spec.names);
    let expected = format!("{}.{}", names.plural, spec.group);
    if name != expected || names.kind.is_empty() || names.plural.is_empty() || spec.group.is_empty()
    {
        return Err(CatalogError::Name { name, expected });
    }
    let namespaced = match spec.scope.as_str() {
        "Namespaced" => true,
        "Cluster" => false,
        _ => return Err(CatalogError::Scope { name, scope: spec.scope.clone() }),
    };
    let of_version = |version: &CustomResourceDefinitionVersion| {
        Arc::new(Resource {
            group: spec.group.clone(),
            version: version.name.clone(),
            kind: names.kind.clone(),
            list_kind: or(names.list_kind.as_ref(), || format!("{}List", names.kind)),
            plural: names.plural.clone(),
            singular: or(names.singular.as_ref(), || names.kind.to_lowercase()),
            short_names: names.short_names.clone().unwrap_or_default(),
            categories: names.categories.clone().unwrap_or_default(),
            namespaced,
            verbs: Verb::ALL,
            subresources: subresources(version),
            fields: fields(version, namespaced),
            custom: Some(Custom {
                definition: name.clone(),
                columns: version.additional_printer_columns.clone().unwrap_or_default(),
            }),
        })
    };
    Ok(spec.versions.iter().filter(|version| version.served).map(of_version).collect())
}

fn or(name: Option<&String>, default: impl FnOnce() -> String) -> String {
    name.filter(|name| !name.is_empty()).cloned().unwrap_or_else(default)
}

fn subresources(version: &CustomResourceDefinitionVersion) -> Vec<Subresource> {
    let declared = version.subresources.as_ref();
    let scale = declared.and_then(|declared| declared.scale.as_ref()).map(|_| Subresource::Scale);
    let status =
        declared.and_then(|declared| declared.status.as_ref()).map(|_| Subresource::Status);
    scale.into_iter().chain(status).collect()
}

fn fields(version: &CustomResourceDefinitionVersion, namespaced: bool) -> Vec<Field> {
    let metadata = Field::METADATA.into_iter().take(if namespaced { 2 } else { 1 });
    let declared = version.selectable_fields.iter().flatten();
    let declared = declared.map(|field| Field::of_json_path(&field.json_path));
    metadata.chain(declared).collect()
}
