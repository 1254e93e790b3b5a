//! Served resources, discovery and request targets.

mod builtin;
mod discovery;
mod path;
#[cfg(test)]
mod tests;
mod verb;

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionVersion,
};

use crate::selector::Field;

pub use discovery::{ServerVersion, version_document};
pub use path::{PathError, Target, decode_path};
pub use verb::{Subresource, Verb};

/// A served resource in one version.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// The API group, empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// Such as `ConfigMap`.
    pub kind: String,
    /// Such as `ConfigMapList`.
    pub list_kind: String,
    /// Such as `configmaps`.
    pub plural: String,
    /// Such as `configmap`.
    pub singular: String,
    /// Such as `cm`.
    pub short_names: Vec<String>,
    /// Categories such as `all`.
    pub categories: Vec<String>,
    /// Whether its objects are namespaced.
    pub namespaced: bool,
    /// Supported verbs.
    pub verbs: &'static [Verb],
    /// Supported subresources.
    pub subresources: Vec<Subresource>,
    /// Fields that selectors can use.
    pub fields: Vec<Field>,
    /// Attributes of custom resources.
    pub custom: Option<CustomAttributes>,
}

/// Attributes of custom resources.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomAttributes {
    /// The name of the CustomResourceDefinition.
    pub definition: String,
    /// Printer columns.
    pub columns: Vec<CustomResourceColumnDefinition>,
}

impl Resource {
    /// `apiVersion` of its objects: `apps/v1`, or `v1` for the core.
    pub fn api_version(&self) -> String {
        group_version(&self.group, &self.version)
    }
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// All served resources. The default contains the built-in ones.
#[derive(Clone, Debug)]
pub struct Catalog {
    resources: Vec<Arc<Resource>>,
}

/// Why a CRD cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// The name does not match the spec.
    #[error("CRD {name:?} must be named {expected:?}, without empty parts")]
    Name {
        /// The actual name.
        name: String,
        /// The expected name.
        expected: String,
    },
    /// Unknown scope.
    #[error("the scope of CRD {name:?} must be `Namespaced` or `Cluster`, not {scope:?}")]
    Scope {
        /// The name of the CRD.
        name: String,
        /// The scope.
        scope: String,
    },
    /// Another resource of the group uses one of the names.
    #[error("{name:?} is already in use by {owner} in the group {group:?}")]
    Conflict {
        /// The name.
        name: String,
        /// Plural name of that resource.
        owner: String,
        /// The group.
        group: String,
    },
}

impl Default for Catalog {
    fn default() -> Self {
        Self { resources: builtin::resources().collect() }
    }
}

impl Catalog {
    /// Adds or replaces the resources of a CRD. Nothing changes on error.
    pub fn define(&mut self, crd: &CustomResourceDefinition) -> Result<(), CatalogError> {
        let added = crd_resources(crd)?;
        if let Some(resource) = added.first() {
            let others = self.resources.iter().filter(|other| !same_crd(other, resource));
            others
                .filter(|other| other.group == resource.group)
                .try_for_each(|other| check_conflict(resource, other))?;
        }
        self.undefine(crd.metadata.name.as_deref().unwrap_or_default());
        self.resources.extend(added);
        Ok(())
    }

    /// Removes the resources of a CRD. Returns whether there were any.
    pub fn undefine(&mut self, name: &str) -> bool {
        let before = self.resources.len();
        self.resources.retain(|resource| {
            resource.custom.as_ref().is_none_or(|custom| custom.definition != name)
        });
        self.resources.len() < before
    }

    /// All resources.
    pub fn resources(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.iter()
    }

    /// The resource with this plural name.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.in_version(group, version).find(|resource| resource.plural == plural)
    }

    /// The resource of a kind in its preferred version.
    pub fn kind(&self, group: &str, kind: &str) -> Option<&Arc<Resource>> {
        let of_kind = |resource: &&Arc<Resource>| resource.group == group && resource.kind == kind;
        self.resources
            .iter()
            .filter(of_kind)
            .min_by(|left, right| compare_versions(&left.version, &right.version))
    }

    /// All groups except the core, in discovery order.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups = Vec::new();
        for resource in self.resources.iter().filter(|resource| !resource.group.is_empty()) {
            if !groups.contains(&resource.group.as_str()) {
                groups.push(resource.group.as_str());
            }
        }
        groups
    }

    /// The versions of a group, the preferred one first.
    pub fn versions(&self, group: &str) -> Vec<&str> {
        let of_group = self.resources.iter().filter(|resource| resource.group == group);
        let mut versions: Vec<_> = of_group.map(|resource| resource.version.as_str()).collect();
        versions.sort_by(|left, right| compare_versions(left, right));
        versions.dedup();
        versions
    }

    fn in_version(&self, group: &str, version: &str) -> impl Iterator<Item = &Arc<Resource>> {
        let is_in =
            move |resource: &&Arc<Resource>| resource.group == group && resource.version == version;
        self.resources.iter().filter(is_in)
    }
}

fn same_crd(left: &Resource, right: &Resource) -> bool {
    let name = |resource: &Resource| resource.custom.as_ref().map(|it| it.definition.clone());
    name(left) == name(right)
}

/// Refuses shared names. Plural, singular and short names share one namespace, kinds another.
fn check_conflict(resource: &Resource, other: &Resource) -> Result<(), CatalogError> {
    let conflict = shared_name(&resource_names(resource), &resource_names(other))
        .or_else(|| shared_name(&resource_kinds(resource), &resource_kinds(other)));
    match conflict {
        None => Ok(()),
        Some(name) => Err(CatalogError::Conflict {
            name,
            owner: other.plural.clone(),
            group: other.group.clone(),
        }),
    }
}

fn resource_names(resource: &Resource) -> Vec<&String> {
    [&resource.plural, &resource.singular].into_iter().chain(&resource.short_names).collect()
}

fn resource_kinds(resource: &Resource) -> Vec<&String> {
    vec![&resource.kind, &resource.list_kind]
}

fn shared_name(left: &[&String], right: &[&String]) -> Option<String> {
    left.iter().find(|name| right.contains(name)).map(|&name| name.clone())
}

/// One resource per served version.
fn crd_resources(crd: &CustomResourceDefinition) -> Result<Vec<Arc<Resource>>, CatalogError> {
    let name = crd.metadata.name.clone().unwrap_or_default();
    let (spec, names) = (&crd.spec, &crd.spec.names);
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
    let resource_of = |version: &CustomResourceDefinitionVersion| {
        Arc::new(Resource {
            group: spec.group.clone(),
            version: version.name.clone(),
            kind: names.kind.clone(),
            list_kind: or_default(names.list_kind.as_ref(), || format!("{}List", names.kind)),
            plural: names.plural.clone(),
            singular: or_default(names.singular.as_ref(), || names.kind.to_lowercase()),
            short_names: names.short_names.clone().unwrap_or_default(),
            categories: names.categories.clone().unwrap_or_default(),
            namespaced,
            verbs: Verb::ALL,
            subresources: crd_subresources(version),
            fields: crd_fields(version, namespaced),
            custom: Some(CustomAttributes {
                definition: name.clone(),
                columns: version.additional_printer_columns.clone().unwrap_or_default(),
            }),
        })
    };
    Ok(spec.versions.iter().filter(|version| version.served).map(resource_of).collect())
}

fn or_default(name: Option<&String>, default: impl FnOnce() -> String) -> String {
    name.filter(|name| !name.is_empty()).cloned().unwrap_or_else(default)
}

fn crd_subresources(version: &CustomResourceDefinitionVersion) -> Vec<Subresource> {
    let declared = version.subresources.as_ref();
    let scale = declared.and_then(|declared| declared.scale.as_ref()).map(|_| Subresource::Scale);
    let status =
        declared.and_then(|declared| declared.status.as_ref()).map(|_| Subresource::Status);
    scale.into_iter().chain(status).collect()
}

fn crd_fields(version: &CustomResourceDefinitionVersion, namespaced: bool) -> Vec<Field> {
    let metadata = Field::METADATA.into_iter().take(if namespaced { 2 } else { 1 });
    let declared = version.selectable_fields.iter().flatten();
    let declared = declared.map(|field| Field::of_json_path(&field.json_path));
    metadata.chain(declared).collect()
}

/// Orders versions by preference: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, then other names
/// alphabetically.
pub fn compare_versions(left: &str, right: &str) -> Ordering {
    match (version_rank(left), version_rank(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

/// Sort key: stable, beta, alpha; higher numbers first.
fn version_rank(version: &str) -> Option<(u8, Reverse<u32>, Reverse<u32>)> {
    let rest = version.strip_prefix('v')?;
    let (major, rest) = version_number(rest)?;
    let (stage, rest) = match rest {
        "" => return Some((0, Reverse(major), Reverse(0))),
        _ => rest
            .strip_prefix("beta")
            .map(|rest| (1, rest))
            .or_else(|| rest.strip_prefix("alpha").map(|rest| (2, rest)))?,
    };
    match version_number(rest)? {
        (minor, "") => Some((stage, Reverse(major), Reverse(minor))),
        _ => None,
    }
}

/// A number without leading zeros, and the rest.
fn version_number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.starts_with('0') { None } else { Some((digits.parse().ok()?, rest)) }
}
