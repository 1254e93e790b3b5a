//! Garbage collector: deletes objects whose owners are deleted.

mod graph;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

use self::graph::{GarbageAction, Graph, GraphNode, OwnerState, Uid, plan};
use super::runtime::{Component, Controller, ObjectKey, Requeue, WatchEvent, WatchScope};
use crate::api::{Api, StatusError};
use crate::catalog::Resource;
use crate::store::EventKind;

pub(super) struct GarbageCollector {
    component: Component,
    graph: Graph,
}

impl GarbageCollector {
    pub(super) fn new(api: &Api) -> Self {
        let component = Component::controller(api, "generic-garbage-collector");
        Self { component, graph: Graph::default() }
    }

    /// The live object, if it still has the same UID.
    fn current(&self, node: &GraphNode) -> Result<Option<Arc<Value>>, StatusError> {
        let object = self.component.get(&node.resource, &node.key)?;
        Ok(object.filter(|object| uid(object) == Some(&node.uid)))
    }

    /// State of an owner of an object.
    fn owner(&self, node: &GraphNode, owner: &OwnerReference) -> Result<OwnerState, StatusError> {
        let Some(resource) = self.resource(owner) else { return Ok(OwnerState::Unknown) };
        let namespace = match (resource.namespaced, node.key.namespace.as_str()) {
            (true, "") => return Ok(OwnerState::Unknown),
            (true, namespace) => namespace,
            (false, _) => "",
        };
        let object = self.component.get(&resource, &ObjectKey::new(namespace, &owner.name))?;
        let found = object.and_then(|object| GraphNode::new(&resource, &object));
        Ok(match found {
            Some(found) if found.uid != owner.uid => OwnerState::Dangling,
            Some(found) if found.is_deleting_dependents() => OwnerState::WaitingForDependents,
            Some(_) => OwnerState::Solid,
            None => OwnerState::Dangling,
        })
    }

    fn resource(&self, owner: &OwnerReference) -> Option<Arc<Resource>> {
        let catalog = self.component.api().catalog();
        let mut resources = catalog.resources();
        let is_it = |resource: &&Arc<Resource>| {
            resource.kind == owner.kind && resource.api_version() == owner.api_version
        };
        resources.find(is_it).cloned()
    }

    fn execute(&self, node: &GraphNode, action: &GarbageAction) -> Result<(), StatusError> {
        match action {
            GarbageAction::RemoveOwners(owners) => {
                self.edit(node, |object| without_owners(object, |uid| owners.contains(uid)))
            }
            GarbageAction::Delete(how) => {
                self.component.delete(&node.resource, &node.key, &node.uid, *how)
            }
            GarbageAction::RemoveFinalizer(finalizer) => {
                self.edit(node, |object| without(object, finalizer))
            }
            GarbageAction::Orphan(dependent) => self
                .edit_dependent(dependent, |object| without_owners(object, |uid| *uid == node.uid)),
            GarbageAction::Unblock(dependent) => {
                self.edit_dependent(dependent, |object| unblocked(object, &node.uid))
            }
        }
    }

    fn edit_dependent(
        &self,
        uid: &str,
        edit: impl FnOnce(&Value) -> Value,
    ) -> Result<(), StatusError> {
        self.graph.get(uid).map_or(Ok(()), |dependent| self.edit(dependent, edit))
    }

    /// Patches the metadata of an object that still has the same UID.
    fn edit(
        &self,
        node: &GraphNode,
        edit: impl FnOnce(&Value) -> Value,
    ) -> Result<(), StatusError> {
        let Some(object) = self.current(node)? else { return Ok(()) };
        let mut metadata = edit(&object);
        metadata["uid"] = json!(node.uid);
        metadata["resourceVersion"] = object["metadata"]["resourceVersion"].clone();
        self.component.merge(&node.resource, &node.key, json!({ "metadata": metadata }))
    }
}

impl Controller for GarbageCollector {
    type Key = Uid;

    const SCOPE: WatchScope = WatchScope::Everything;

    fn component(&self) -> &Component {
        &self.component
    }

    fn restart(&mut self) {
        self.graph = Graph::default();
    }

    fn keys_for_event(&mut self, event: &WatchEvent) -> Result<Vec<Uid>, StatusError> {
        let Some(node) = GraphNode::new(&event.resource, &event.object) else {
            return Ok(Vec::new());
        };
        Ok(match event.kind {
            EventKind::Deleted => self.graph.remove(&node.uid),
            EventKind::Added | EventKind::Modified => self.graph.observe(node),
        })
    }

    fn reconcile(&mut self, uid: &Uid, _: Timestamp) -> Result<Requeue, StatusError> {
        let Some(node) = self.graph.get(uid) else { return Ok(Requeue::Never) };
        // The graph may be stale; decide with the live object.
        let Some(object) = self.current(node)? else { return Ok(Requeue::Never) };
        let Some(node) = GraphNode::new(&node.resource, &object) else {
            return Ok(Requeue::Never);
        };
        let owners = node.owners.iter().map(|owner| self.owner(&node, owner));
        let owners = owners.collect::<Result<Vec<_>, _>>()?;
        let dependents: Vec<_> = self.graph.dependents(uid).collect();
        let actions = plan(&node, &owners, &dependents);
        actions.iter().try_for_each(|action| self.execute(&node, action))?;
        Ok(Requeue::Never)
    }
}

fn uid(object: &Value) -> Option<&str> {
    object.pointer("/metadata/uid")?.as_str()
}

fn list<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    let list = object.get("metadata").and_then(|metadata| metadata.get(field));
    list.and_then(Value::as_array).into_iter().flatten()
}

fn without(object: &Value, finalizer: &str) -> Value {
    let others: Vec<_> = list(object, "finalizers").filter(|it| *it != finalizer).collect();
    json!({ "finalizers": others })
}

fn without_owners(object: &Value, gone: impl Fn(&String) -> bool) -> Value {
    let is_gone = |owner: &Value| owner["uid"].as_str().is_some_and(|uid| gone(&uid.to_owned()));
    let others: Vec<_> = list(object, "ownerReferences").filter(|owner| !is_gone(owner)).collect();
    json!({ "ownerReferences": others })
}

fn unblocked(object: &Value, by: &str) -> Value {
    let unblock = |owner: &Value| {
        let mut owner = owner.clone();
        if owner["uid"] == by {
            owner["blockOwnerDeletion"] = json!(false);
        }
        owner
    };
    json!({ "ownerReferences": list(object, "ownerReferences").map(unblock).collect::<Vec<_>>() })
}
