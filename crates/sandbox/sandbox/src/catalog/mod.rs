//! Which resources there are, how clients discover them, and what a path means.

mod builtin;
mod definition;
mod discovery;
mod path;
#[cfg(test)]
mod tests;
mod verb;
mod version;

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition,
};

use crate::selector::Field;

pub use discovery::{ServerVersion, version_document};
pub use path::{PathError, Target, decode_path};
pub use verb::{Subresource, Verb};
pub use version::preference;

/// A kind of objects in one version, and where they are served.
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
    /// The groups of resources that it belongs to, such as `all`.
    pub categories: Vec<String>,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// What can be done with it.
    pub verbs: &'static [Verb],
    /// What else has an address below its objects.
    pub subresources: Vec<Subresource>,
    /// The fields that its objects can be selected by.
    pub fields: Vec<Field>,
    /// What only custom resources have.
    pub custom: Option<Custom>,
}

/// What only custom resources have.
#[derive(Clone, Debug, PartialEq)]
pub struct Custom {
    /// The name of the CustomResourceDefinition.
    pub definition: String,
    /// The columns of a table, beside the name.
    pub columns: Vec<CustomResourceColumnDefinition>,
}

impl Resource {
    /// The group and the version as objects carry them: `apps/v1`, or `v1` for the core.
    pub fn api_version(&self) -> String {
        group_version(&self.group, &self.version)
    }
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// Every resource that is served. The default has the built-in ones.
#[derive(Clone, Debug)]
pub struct Catalog {
    resources: Vec<Arc<Resource>>,
}

/// Why the resources of a CustomResourceDefinition cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// A definition is named after its resource.
    #[error("CRD {name:?} must be named {expected:?}, without empty parts")]
    Name {
        /// What it is named.
        name: String,
        /// What its content says.
        expected: String,
    },
    /// The scope is a word that has no meaning.
    #[error("the scope of CRD {name:?} must be `Namespaced` or `Cluster`, not {scope:?}")]
    Scope {
        /// The definition.
        name: String,
        /// The word.
        scope: String,
    },
    /// Another resource of the group has one of the names already.
    #[error("{name:?} is already in use by {owner} in the group {group:?}")]
    Conflict {
        /// The name.
        name: String,
        /// The resource that has it, in the plural.
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
    /// Adds what a definition declares; what it declared before goes. Nothing changes on an error.
    pub fn define(&mut self, definition: &CustomResourceDefinition) -> Result<(), CatalogError> {
        let added = definition::resources(definition)?;
        if let Some(resource) = added.first() {
            let others = self.resources.iter().filter(|other| !same_definition(other, resource));
            others
                .filter(|other| other.group == resource.group)
                .try_for_each(|other| refuse_conflict(resource, other))?;
        }
        self.undefine(definition.metadata.name.as_deref().unwrap_or_default());
        self.resources.extend(added);
        Ok(())
    }

    /// Removes what a definition of this name declared; says whether there was something.
    pub fn undefine(&mut self, definition: &str) -> bool {
        let before = self.resources.len();
        self.resources.retain(|resource| {
            resource.custom.as_ref().is_none_or(|custom| custom.definition != definition)
        });
        self.resources.len() < before
    }

    /// All of them.
    pub fn resources(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.iter()
    }

    /// The resource of that name.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.in_version(group, version).find(|resource| resource.plural == plural)
    }

    /// The resource of that kind, in the version that is preferred.
    pub fn kind(&self, group: &str, kind: &str) -> Option<&Arc<Resource>> {
        let of_kind = |resource: &&Arc<Resource>| resource.group == group && resource.kind == kind;
        self.resources
            .iter()
            .filter(of_kind)
            .min_by(|left, right| preference(&left.version, &right.version))
    }

    /// The groups in the order of discovery, the core excepted.
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
        versions.sort_by(|left, right| preference(left, right));
        versions.dedup();
        versions
    }

    fn in_version(&self, group: &str, version: &str) -> impl Iterator<Item = &Arc<Resource>> {
        let is_in =
            move |resource: &&Arc<Resource>| resource.group == group && resource.version == version;
        self.resources.iter().filter(is_in)
    }
}

fn same_definition(left: &Resource, right: &Resource) -> bool {
    let name = |resource: &Resource| resource.custom.as_ref().map(|it| it.definition.clone());
    name(left) == name(right)
}

/// Resources share their plural, singular and short names, and apart from these the kinds.
fn refuse_conflict(resource: &Resource, other: &Resource) -> Result<(), CatalogError> {
    let taken =
        shared(&names(resource), &names(other)).or_else(|| shared(&kinds(resource), &kinds(other)));
    match taken {
        None => Ok(()),
        Some(name) => Err(CatalogError::Conflict {
            name,
            owner: other.plural.clone(),
            group: other.group.clone(),
        }),
    }
}

fn names(resource: &Resource) -> Vec<&String> {
    [&resource.plural, &resource.singular].into_iter().chain(&resource.short_names).collect()
}

fn kinds(resource: &Resource) -> Vec<&String> {
    vec![&resource.kind, &resource.list_kind]
}

fn shared(left: &[&String], right: &[&String]) -> Option<String> {
    left.iter().find(|name| right.contains(name)).map(|&name| name.clone())
}
