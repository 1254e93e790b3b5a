//! Who owns whom.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::Deserialize;
use serde_json::Value;

use super::plan::{FOREGROUND, ORPHAN};
use crate::catalog::Resource;
use crate::controllers::machinery::ObjectKey;

/// What identifies an object for as long as it lives.
pub(super) type Uid = String;

/// An object, as far as ownership is concerned.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) resource: Arc<Resource>,
    pub(super) key: ObjectKey,
    pub(super) uid: Uid,
    pub(super) owners: Vec<OwnerReference>,
    /// Whether it is being deleted.
    pub(super) leaves: bool,
    /// Whether what it owns goes before it does.
    pub(super) foreground: bool,
    /// Whether what it owns stays when it goes.
    pub(super) orphans: bool,
}

impl Item {
    /// An object as it is stored.
    pub(super) fn of(resource: &Arc<Resource>, object: &Value) -> Option<Self> {
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
            leaves: metadata.get("deletionTimestamp").is_some(),
            foreground: has(FOREGROUND),
            orphans: has(ORPHAN),
        })
    }

    /// Whether it is being deleted, and waits for what it owns.
    pub(super) fn waits(&self) -> bool {
        self.leaves && self.foreground
    }

    /// Whether this owner cannot go before it.
    pub(super) fn blocks(&self, owner: &str) -> bool {
        let blocks = |it: &OwnerReference| it.uid == owner && it.block_owner_deletion == Some(true);
        self.owners.iter().any(blocks)
    }
}

/// All objects, and who owns whom.
#[derive(Debug, Default)]
pub(super) struct Graph {
    items: BTreeMap<Uid, Item>,
    dependents: BTreeMap<Uid, BTreeSet<Uid>>,
}

impl Graph {
    pub(super) fn get(&self, uid: &str) -> Option<&Item> {
        self.items.get(uid)
    }

    /// What an object owns.
    pub(super) fn dependents<'a>(&'a self, uid: &str) -> impl Iterator<Item = &'a Item> {
        let dependents = self.dependents.get(uid).into_iter().flatten();
        dependents.filter_map(|uid| self.items.get(uid))
    }

    /// Takes note of an object as it is now; says who has to be looked at because of it.
    pub(super) fn observe(&mut self, item: Item) -> Vec<Uid> {
        let uid = item.uid.clone();
        let before = self.items.get(&uid);
        if before == Some(&item) {
            return Vec::new();
        }
        let former: Vec<_> = before.iter().flat_map(|before| owner_uids(before)).collect();
        let concerned = item.leaves || !item.owners.is_empty();
        let mut affected: Vec<_> = concerned.then(|| uid.clone()).into_iter().collect();
        affected.extend(former.iter().cloned());
        if item.waits() && !before.is_some_and(Item::waits) {
            affected.extend(self.dependents.get(&uid).into_iter().flatten().cloned());
        }
        for owner in &former {
            self.unlink(owner, &uid);
        }
        for owner in owner_uids(&item) {
            self.dependents.entry(owner).or_default().insert(uid.clone());
        }
        self.items.insert(uid, item);
        affected
    }

    /// Takes note that an object is gone; says who has to be looked at because of it.
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

fn owner_uids(item: &Item) -> Vec<Uid> {
    item.owners.iter().map(|owner| owner.uid.clone()).collect()
}
