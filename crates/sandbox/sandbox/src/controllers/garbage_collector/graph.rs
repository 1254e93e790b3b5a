//! Graph of owners and dependents, and the decisions of the garbage collector.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::Deserialize;
use serde_json::Value;

use crate::api::Propagation;
use crate::catalog::Resource;
use crate::controllers::runtime::ObjectKey;

/// UID of an object.
pub(super) type Uid = String;

/// An object with its owners and deletion state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GraphNode {
    pub(super) resource: Arc<Resource>,
    pub(super) key: ObjectKey,
    pub(super) uid: Uid,
    pub(super) owners: Vec<OwnerReference>,
    /// Whether the object is being deleted.
    pub(super) deleting: bool,
    /// Whether foreground deletion is requested: dependents are deleted first.
    pub(super) foreground: bool,
    /// Whether dependents are orphaned.
    pub(super) orphans: bool,
}

impl GraphNode {
    /// Reads an object; `None` without a UID.
    pub(super) fn new(resource: &Arc<Resource>, object: &Value) -> Option<Self> {
        let metadata = object.get("metadata")?;
        let owners = metadata.get("ownerReferences").and_then(Value::as_array);
        let owner = |owner: &Value| OwnerReference::deserialize(owner).ok();
        let finalizers = metadata.get("finalizers").and_then(Value::as_array);
        let has = |finalizer: &str| {
            finalizers.is_some_and(|finalizers| finalizers.iter().any(|it| it == finalizer))
        };
        Some(Self {
            resource: Arc::clone(resource),
            key: ObjectKey::of(object),
            uid: metadata.get("uid")?.as_str()?.to_owned(),
            owners: owners.into_iter().flatten().filter_map(owner).collect(),
            deleting: metadata.get("deletionTimestamp").is_some(),
            foreground: has(FOREGROUND),
            orphans: has(ORPHAN),
        })
    }

    /// Whether foreground deletion is in progress.
    pub(super) fn is_deleting_dependents(&self) -> bool {
        self.deleting && self.foreground
    }

    /// Whether the object blocks the deletion of this owner.
    pub(super) fn blocks(&self, owner: &str) -> bool {
        let blocks = |it: &OwnerReference| it.uid == owner && it.block_owner_deletion == Some(true);
        self.owners.iter().any(blocks)
    }
}

/// All objects and their dependents.
#[derive(Debug, Default)]
pub(super) struct Graph {
    items: BTreeMap<Uid, GraphNode>,
    dependents: BTreeMap<Uid, BTreeSet<Uid>>,
}

impl Graph {
    pub(super) fn get(&self, uid: &str) -> Option<&GraphNode> {
        self.items.get(uid)
    }

    /// Objects that an object owns.
    pub(super) fn dependents<'a>(&'a self, uid: &str) -> impl Iterator<Item = &'a GraphNode> {
        let dependents = self.dependents.get(uid).into_iter().flatten();
        dependents.filter_map(|uid| self.items.get(uid))
    }

    /// Adds or updates an object; returns the UIDs to reconcile.
    pub(super) fn observe(&mut self, node: GraphNode) -> Vec<Uid> {
        let uid = node.uid.clone();
        let before = self.items.get(&uid);
        if before == Some(&node) {
            return Vec::new();
        }
        let former: Vec<_> = before.iter().flat_map(|before| owner_uids(before)).collect();
        let relevant = node.deleting || !node.owners.is_empty();
        let mut affected: Vec<_> = relevant.then(|| uid.clone()).into_iter().collect();
        affected.extend(former.iter().cloned());
        if node.is_deleting_dependents() && !before.is_some_and(GraphNode::is_deleting_dependents) {
            affected.extend(self.dependents.get(&uid).into_iter().flatten().cloned());
        }
        for owner in &former {
            self.unlink(owner, &uid);
        }
        for owner in owner_uids(&node) {
            self.dependents.entry(owner).or_default().insert(uid.clone());
        }
        self.items.insert(uid, node);
        affected
    }

    /// Removes an object; returns the UIDs to reconcile.
    pub(super) fn remove(&mut self, uid: &str) -> Vec<Uid> {
        let owners: Vec<_> = self.items.remove(uid).iter().flat_map(owner_uids).collect();
        for owner in &owners {
            self.unlink(owner, uid);
        }
        owners.into_iter().chain(self.dependents.get(uid).into_iter().flatten().cloned()).collect()
    }

    fn unlink(&mut self, owner: &str, dependent: &str) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(dependent);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }
}

fn owner_uids(node: &GraphNode) -> Vec<Uid> {
    node.owners.iter().map(|owner| owner.uid.clone()).collect()
}

/// Finalizer of foreground deletion.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of orphaning deletion.
pub(super) const ORPHAN: &str = "orphan";

/// State of an owner (upstream: solid, dangling, waitingForDependentsDeletion).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerState {
    /// The owner exists with the UID of the reference.
    Solid,
    /// The owner is being deleted and waits for its dependents.
    WaitingForDependents,
    /// The owner does not exist, or has another UID.
    Dangling,
    /// Undetermined: the kind is not served, or a namespaced object cannot own this one.
    Unknown,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GarbageAction {
    /// Remove these owner references.
    RemoveOwners(Vec<Uid>),
    /// Delete the object.
    Delete(Propagation),
    /// Set `blockOwnerDeletion` of this dependent to false.
    Unblock(Uid),
    /// Remove the object from the owner references of this dependent.
    Orphan(Uid),
    /// Remove this finalizer.
    RemoveFinalizer(&'static str),
}

/// Plans the changes of an object from the state of its owners and its dependents.
pub(super) fn plan(
    node: &GraphNode,
    owners: &[OwnerState],
    dependents: &[&GraphNode],
) -> Vec<GarbageAction> {
    if node.deleting {
        return finalize(node, dependents);
    }
    if owners.is_empty() || owners.contains(&OwnerState::Unknown) {
        return Vec::new();
    }
    if owners.contains(&OwnerState::Solid) {
        let useless =
            node.owners.iter().zip(owners).filter(|(_, state)| **state != OwnerState::Solid);
        let uids: Vec<_> = useless.map(|(owner, _)| owner.uid.clone()).collect();
        return if uids.is_empty() { Vec::new() } else { vec![GarbageAction::RemoveOwners(uids)] };
    }
    if owners.contains(&OwnerState::WaitingForDependents) && !dependents.is_empty() {
        // Unblock dependents that wait for this object in turn: a cycle would never be deleted.
        let cycle = dependents.iter().filter(|dependent| dependent.is_deleting_dependents());
        let cycle = cycle.map(|dependent| GarbageAction::Unblock(dependent.uid.clone()));
        return cycle.chain([GarbageAction::Delete(Propagation::Foreground)]).collect();
    }
    vec![GarbageAction::Delete(match node {
        GraphNode { orphans: true, .. } => Propagation::Orphan,
        GraphNode { foreground: true, .. } => Propagation::Foreground,
        _ => Propagation::Background,
    })]
}

/// Changes of an object that is being deleted, for its dependents.
fn finalize(node: &GraphNode, dependents: &[&GraphNode]) -> Vec<GarbageAction> {
    if node.orphans {
        let orphans =
            dependents.iter().map(|dependent| GarbageAction::Orphan(dependent.uid.clone()));
        return orphans.chain([GarbageAction::RemoveFinalizer(ORPHAN)]).collect();
    }
    let is_blocked = dependents.iter().any(|dependent| dependent.blocks(&node.uid));
    if node.foreground && !is_blocked {
        vec![GarbageAction::RemoveFinalizer(FOREGROUND)]
    } else {
        Vec::new()
    }
}
