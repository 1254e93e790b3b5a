//! Resources that several checks read.

use std::collections::BTreeMap;

use fairway_release::Manifest;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ApiResource;
use kube::core::GroupVersionKind;

use crate::cluster::Resource;

pub(crate) const BUDGETS: Resource =
    Resource::new("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets");

pub(crate) const NODES: Resource = Resource::new("", "v1", "Node", "nodes");

pub(crate) const PODS: Resource = Resource::new("", "v1", "Pod", "pods");

pub(crate) const CLUSTER_OPERATORS: Resource =
    Resource::new("config.openshift.io", "v1", "ClusterOperator", "clusteroperators");

pub(crate) const MACHINE_CONFIG_POOLS: Resource = Resource::new(
    "machineconfiguration.openshift.io",
    "v1",
    "MachineConfigPool",
    "machineconfigpools",
);

/// CustomResourceDefinitions.
pub(crate) const CRDS: Resource = Resource::new(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
);

/// Annotation of objects that a release deletes.
const DELETE: &str = "release.openshift.io/delete";

/// What a release does to a CRD.
#[derive(Debug)]
pub(crate) enum CrdChange {
    /// Deletes the CRD with all of its objects.
    Deleted,
    /// Applies this CRD.
    Defined(Box<CustomResourceDefinition>),
}

/// CRDs in the manifests of a release, by name.
pub(crate) fn crd_changes(manifests: &[Manifest]) -> BTreeMap<String, CrdChange> {
    let kind = (CRDS.group, CRDS.kind);
    let definitions =
        manifests.iter().filter(|it| (it.id.group.as_str(), it.id.kind.as_str()) == kind);
    let crd_changes = definitions.filter_map(|manifest| {
        let change = match manifest.annotation(DELETE) {
            Some("true") => CrdChange::Deleted,
            // The update itself reports invalid CRDs.
            _ => CrdChange::Defined(serde_json::from_str(&manifest.json()).ok()?),
        };
        Some((manifest.id.name.clone(), change))
    });
    crd_changes.collect()
}

/// Resource of a CRD's objects in one of its versions.
pub(crate) fn resource(crd: &CustomResourceDefinition, version: &str) -> ApiResource {
    let spec = &crd.spec;
    let kind = GroupVersionKind::gvk(&spec.group, version, &spec.names.kind);
    ApiResource::from_gvk_with_plural(&kind, &spec.names.plural)
}
