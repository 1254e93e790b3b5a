//! What an object is to be: its manifest, and what the cluster adds.

mod inject;
mod normal;
mod pods;
mod required;
mod tls;
mod unmanaged;

pub(crate) use inject::depends_on_surroundings;
pub(super) use required::is_left_to_its_owner;

use fairway_api::CLUSTER_VERSION_NAME;
use fairway_apply::MANAGED;
use fairway_release::Manifest;
use serde_json::{Map, Value, json};

use crate::cluster::Surroundings;

/// What is the same for all objects of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Who owns them.
    pub owner: Owner,
    /// Whether the cluster gets its first release.
    pub installing: bool,
    /// Whether an update is under way: only then, what a release wants deleted is deleted.
    pub updating: bool,
    /// What manifests can ask for.
    pub surroundings: Surroundings,
}

/// The ClusterVersion: what is applied goes with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Its identity.
    pub uid: String,
}

/// Why a manifest cannot be applied as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unprepared {
    /// It is of a kind that has namespaces, and names none.
    #[error("the manifest has no namespace")]
    NoNamespace,
    /// An annotation has a value that means nothing.
    #[error("annotation {annotation} has the invalid value {value:?}; use \"true\"")]
    Annotation {
        /// The annotation.
        annotation: &'static str,
        /// What it says.
        value: String,
    },
    /// A container is to get something, and is not there.
    #[error("annotation {annotation} names container {container:?}, which does not exist")]
    NoContainer {
        /// The annotation.
        annotation: &'static str,
        /// The name of the container.
        container: String,
    },
    /// What is injected makes no sense.
    #[error("invalid API server address {0:?} in Infrastructure cluster: not a URL")]
    ApiServer(String),
}

/// What is to become of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// It is as the manifest says.
    Keep,
    /// It is there, as whoever else wants it.
    CreateOnly,
    /// It is gone.
    Delete,
}

const CREATE_ONLY: &str = "release.openshift.io/create-only";
const DELETE: &str = "release.openshift.io/delete";

impl Intent {
    pub(super) fn of(manifest: &Manifest) -> Result<Self, Unprepared> {
        match manifest.annotation(DELETE) {
            Some("true") => return Ok(Self::Delete),
            Some(value) => {
                return Err(Unprepared::Annotation { annotation: DELETE, value: value.to_owned() });
            }
            None => {}
        }
        let create_only = manifest.annotation(CREATE_ONLY);
        let create_only = create_only.is_some_and(|value| value.eq_ignore_ascii_case("true"));
        Ok(if create_only { Self::CreateOnly } else { Self::Keep })
    }
}

/// Whether an object only has to be there, and may be changed by anybody.
pub(crate) fn is_create_only(manifest: &Manifest) -> bool {
    Intent::of(manifest) == Ok(Intent::CreateOnly)
}

/// What an object is to be. What it is now matters only where a part of it is not managed.
pub(super) fn prepare(
    manifest: &Manifest,
    intent: Intent,
    live: Option<&Value>,
    context: &Context,
) -> Result<Value, Unprepared> {
    let mut object =
        manifest.completed_object_with(|zero| required::value(&manifest.id, zero, live));
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            mark(metadata, intent, &context.owner);
        }
    }
    inject::inject(manifest, &mut object, &context.surroundings)?;
    normal::normalise(&manifest.id, &mut object);
    unmanaged::leave_out(&mut object, live);
    Ok(object)
}

/// The label, and the owner.
fn mark(metadata: &mut Map<String, Value>, intent: Intent, owner: &Owner) {
    let (label, value) = MANAGED;
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(label.to_owned(), json!(value));
    }
    let foreign: Vec<Value> = metadata
        .remove("ownerReferences")
        .and_then(|owners| owners.as_array().cloned())
        .unwrap_or_default()
        .into_iter()
        .filter(|owner| owner["kind"] != "ClusterVersion")
        .collect();
    let owners = if foreign.is_empty() { vec![reference(intent, owner)] } else { foreign };
    metadata.insert("ownerReferences".to_owned(), json!(owners));
}

fn reference(intent: Intent, owner: &Owner) -> Value {
    let mut reference = json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "name": CLUSTER_VERSION_NAME,
        "uid": owner.uid,
    });
    if intent != Intent::CreateOnly {
        reference["controller"] = json!(true);
    }
    reference
}

#[cfg(test)]
mod tests;
