//! Several watches as one.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll, unfold};
use serde_json::Value;

use super::{Component, ObjectKey};
use crate::api::Refusal;
use crate::catalog::{Resource, Verb};
use crate::store::{EventKind, Watcher};

/// What happened to an object.
#[derive(Clone, Debug)]
pub(in crate::controllers) struct Change {
    pub(in crate::controllers) resource: Arc<Resource>,
    pub(in crate::controllers) kind: EventKind,
    pub(in crate::controllers) object: Arc<Value>,
}

/// What a controller wants to know about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::controllers) enum Scope {
    /// Objects of these groups and kinds.
    Kinds(&'static [(&'static str, &'static str)]),
    /// All objects, custom ones included.
    Everything,
}

/// Several watches as one. It ends when one of them does: whoever goes on begins all of them anew,
/// and so misses nothing.
pub(super) struct Watches {
    changes: SelectAll<BoxStream<'static, Option<Change>>>,
    scope: Scope,
    watched: Vec<Arc<Resource>>,
}

impl Watches {
    /// Watches that begin with all objects that are there.
    pub(super) fn open(component: &Component, scope: Scope) -> Result<Self, Refusal> {
        let watched = resources(component, scope);
        let mut changes = SelectAll::new();
        for resource in &watched {
            changes.push(stream(Arc::clone(resource), component.watch(resource)?));
        }
        Ok(Self { changes, scope, watched })
    }

    /// The next change; `None` when a watch has ended.
    pub(super) async fn next(&mut self) -> Option<Change> {
        match self.changes.next().await {
            Some(change) => change,
            // Where nothing is watched, nothing happens.
            None => std::future::pending().await,
        }
    }

    /// Whether other resources are served now than at the beginning.
    pub(super) fn are_outdated(&self, component: &Component) -> bool {
        self.scope == Scope::Everything && resources(component, self.scope) != self.watched
    }
}

/// The resources of a scope; of several versions, the preferred one.
fn resources(component: &Component, scope: Scope) -> Vec<Arc<Resource>> {
    let catalog = component.api().catalog();
    let watchable = |resource: &&Arc<Resource>| resource.verbs.contains(&Verb::Watch);
    match scope {
        Scope::Kinds(kinds) => {
            let found = kinds.iter().filter_map(|(group, kind)| catalog.kind(group, kind));
            found.filter(watchable).cloned().collect()
        }
        Scope::Everything => {
            let preferred = |resource: &&Arc<Resource>| {
                catalog.kind(&resource.group, &resource.kind) == Some(*resource)
            };
            catalog.resources().filter(watchable).filter(preferred).cloned().collect()
        }
    }
}

/// The changes of one resource, and `None` at the end.
fn stream(resource: Arc<Resource>, watcher: Watcher) -> BoxStream<'static, Option<Change>> {
    let next = |state: Option<(Arc<Resource>, Watcher)>| async move {
        let (resource, mut watcher) = state?;
        let Some(event) = watcher.next().await else { return Some((None, None)) };
        let change =
            Change { resource: Arc::clone(&resource), kind: event.kind, object: event.object };
        Some((Some(change), Some((resource, watcher))))
    };
    unfold(Some((resource, watcher)), next).boxed()
}

/// The namespace that something is to be in under this name, if the change is one of the namespace
/// itself or of what has the name there.
pub(in crate::controllers) fn inhabited_namespace(change: &Change, name: &str) -> Option<String> {
    let key = ObjectKey::of(&change.object);
    match change.resource.kind.as_str() {
        "Namespace" => Some(key.name),
        _ if key.name == name => Some(key.namespace),
        _ => None,
    }
}
