//! What a release has to say about definitions of custom resources.

use std::collections::BTreeMap;

use fairway_release::Manifest;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ApiResource;
use kube::core::GroupVersionKind;

use crate::cluster::Resource;

/// Definitions of custom resources.
pub(crate) const DEFINITIONS: Resource = Resource::new(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
);

/// The annotation of what a release deletes.
const DELETE: &str = "release.openshift.io/delete";

/// What a release brings, or takes away, under the name of a definition.
#[derive(Debug)]
pub(crate) enum Intent {
    /// The definition goes, and all its objects with it.
    Deleted,
    /// It is to be this one.
    Defined(Box<CustomResourceDefinition>),
}

/// The definitions that a release has something to say about, by name.
pub(crate) fn intents(manifests: &[Manifest]) -> BTreeMap<String, Intent> {
    let kind = (DEFINITIONS.group, DEFINITIONS.kind);
    let definitions =
        manifests.iter().filter(|it| (it.id.group.as_str(), it.id.kind.as_str()) == kind);
    let intents = definitions.filter_map(|manifest| {
        let intent = match manifest.annotation(DELETE) {
            Some("true") => Intent::Deleted,
            // Whoever tries to apply it is told what is wrong with one that cannot be read.
            _ => Intent::Defined(serde_json::from_str(&manifest.json()).ok()?),
        };
        Some((manifest.id.name.clone(), intent))
    });
    intents.collect()
}

/// How objects of a definition are read in one of its versions.
pub(crate) fn resource(definition: &CustomResourceDefinition, version: &str) -> ApiResource {
    let spec = &definition.spec;
    let kind = GroupVersionKind::gvk(&spec.group, version, &spec.names.kind);
    ApiResource::from_gvk_with_plural(&kind, &spec.names.plural)
}
