//! Merged watches of several resources.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll, unfold};
use serde_json::Value;

use super::{Component, ObjectKey};
use crate::api::StatusError;
use crate::catalog::{Resource, Verb};
use crate::store::{EventKind, Watcher};

/// An event of a watch.
#[derive(Clone, Debug)]
pub(in crate::controllers) struct WatchEvent {
    pub(in crate::controllers) resource: Arc<Resource>,
    pub(in crate::controllers) kind: EventKind,
    pub(in crate::controllers) object: Arc<Value>,
}

/// Resources that a controller watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::controllers) enum WatchScope {
    /// Resources of these groups and kinds.
    Kinds(&'static [(&'static str, &'static str)]),
    /// All resources, including custom resources.
    Everything,
}

/// Merged watches of several resources. They end when one of them ends; the controller then
/// restarts all of them and misses no event.
pub(super) struct Watches {
    changes: SelectAll<BoxStream<'static, Option<WatchEvent>>>,
    scope: WatchScope,
    watched: Vec<Arc<Resource>>,
}

impl Watches {
    /// Opens watches that start with all existing objects.
    pub(super) fn open(component: &Component, scope: WatchScope) -> Result<Self, StatusError> {
        let watched = resources(component, scope);
        let mut changes = SelectAll::new();
        for resource in &watched {
            changes.push(stream(Arc::clone(resource), component.watch(resource)?));
        }
        Ok(Self { changes, scope, watched })
    }

    /// The next event; `None` when a watch has ended.
    pub(super) async fn next(&mut self) -> Option<WatchEvent> {
        match self.changes.next().await {
            Some(event) => event,
            // Without watched resources, wait forever instead of reporting an end.
            None => std::future::pending().await,
        }
    }

    /// Whether the served resources changed since the watches were opened.
    pub(super) fn are_outdated(&self, component: &Component) -> bool {
        self.scope == WatchScope::Everything && resources(component, self.scope) != self.watched
    }
}

/// The resources of a scope, in their preferred versions.
fn resources(component: &Component, scope: WatchScope) -> Vec<Arc<Resource>> {
    let catalog = component.api().catalog();
    let watchable = |resource: &&Arc<Resource>| resource.verbs.contains(&Verb::Watch);
    match scope {
        WatchScope::Kinds(kinds) => {
            let found = kinds.iter().filter_map(|(group, kind)| catalog.kind(group, kind));
            found.filter(watchable).cloned().collect()
        }
        WatchScope::Everything => {
            let preferred = |resource: &&Arc<Resource>| {
                catalog.kind(&resource.group, &resource.kind) == Some(*resource)
            };
            catalog.resources().filter(watchable).filter(preferred).cloned().collect()
        }
    }
}

/// The events of one resource, then `None`.
fn stream(resource: Arc<Resource>, watcher: Watcher) -> BoxStream<'static, Option<WatchEvent>> {
    let next = |state: Option<(Arc<Resource>, Watcher)>| async move {
        let (resource, mut watcher) = state?;
        let Some(event) = watcher.next().await else { return Some((None, None)) };
        let event =
            WatchEvent { resource: Arc::clone(&resource), kind: event.kind, object: event.object };
        Some((Some(event), Some((resource, watcher))))
    };
    unfold(Some((resource, watcher)), next).boxed()
}

/// The namespace to reconcile after an event of a namespace, or of the object with this name in it.
pub(in crate::controllers) fn namespace_to_reconcile(
    event: &WatchEvent,
    name: &str,
) -> Option<String> {
    let key = ObjectKey::of(&event.object);
    match event.resource.kind.as_str() {
        "Namespace" => Some(key.name),
        _ if key.name == name => Some(key.namespace),
        _ => None,
    }
}
