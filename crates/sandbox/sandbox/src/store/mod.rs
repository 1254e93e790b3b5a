//! In-memory object store with the semantics of etcd and the watch cache.
//!
//! All writes share one revision counter. Each resource keeps its newest changes: watches read
//! them, and lists at an older revision undo them. Readers of older revisions get an expiration
//! error. The store has no state per reader, so slow readers cost nothing and are disconnected when
//! their unread changes are evicted.

mod collection;
mod error;
mod key;
mod list;
mod watch;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

pub use error::{QueryError, ReadError, StoreError};
pub use key::{InvalidKey, Key, ResourceKey};
pub use list::{List, ListOptions, ListQuery, ListRevision, Selection};
pub use watch::{EventKind, WatchEnd, WatchEvent, WatchFrom, Watcher};

use collection::{Change, Collection};

/// Default number of changes per resource: more than the initial watch cache of an API server. Most
/// changes share their objects with current ones, so memory use is small.
pub const DEFAULT_HISTORY: usize = 1000;

/// Revision of an empty etcd. Zero means any revision.
const FIRST_REVISION: u64 = 1;

/// The object store. Clones share the objects; watches end with the last clone.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    history: usize,
}

struct State {
    revision: u64,
    /// Revisions before this one cannot be read.
    compacted: u64,
    collections: BTreeMap<ResourceKey, Collection>,
}

impl Default for Store {
    fn default() -> Self {
        Self::new(DEFAULT_HISTORY)
    }
}

impl Store {
    /// An empty store that keeps this many changes per resource.
    pub fn new(history: usize) -> Self {
        let state = State {
            revision: FIRST_REVISION,
            compacted: FIRST_REVISION,
            collections: BTreeMap::new(),
        };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), history }) }
    }

    /// The current revision.
    pub fn revision(&self) -> u64 {
        self.shared.lock().revision
    }

    /// The current object.
    pub fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.shared.lock().get(key)
    }

    /// Creates an object and returns it with its resource version.
    pub fn create(&self, key: &Key, object: Value) -> Result<Arc<Value>, StoreError> {
        let mut state = self.shared.lock();
        match state.get(key) {
            Some(current) => Err(StoreError::AlreadyExists { key: key.clone(), current }),
            None => Ok(self.shared.write(&mut state, key, None, object)),
        }
    }

    /// Replaces an object if it has the `expected` version. An unchanged object is not written.
    pub fn update(
        &self,
        key: &Key,
        object: Value,
        expected: Option<&str>,
    ) -> Result<Arc<Value>, StoreError> {
        let mut state = self.shared.lock();
        let current = state.existing(key, expected)?;
        Ok(self.shared.write(&mut state, key, Some(current), object))
    }

    /// Deletes an object if it has the `expected` version. Returns its last state with the revision
    /// of the deletion.
    pub fn delete(&self, key: &Key, expected: Option<&str>) -> Result<Arc<Value>, StoreError> {
        let mut state = self.shared.lock();
        let current = state.existing(key, expected)?;
        Ok(self.shared.remove(&mut state, key, current))
    }

    /// The current object; `None` also for names that are not valid path segments.
    pub fn find(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<Arc<Value>> {
        self.get(&Key::new(&ResourceKey::new(group, plural), namespace, name).ok()?)
    }

    /// All current objects of a resource.
    pub fn all(&self, group: &str, plural: &str) -> Vec<Arc<Value>> {
        let (all, options) = (Selection::default(), ListOptions::default());
        let list = self.list(&ResourceKey::new(group, plural), &all, &options);
        list.map(|list| list.items).unwrap_or_default()
    }

    /// Compacts the history before a revision.
    pub fn compact(&self, revision: u64) {
        let state = &mut *self.shared.lock();
        let revision = revision.min(state.revision);
        state.compacted = state.compacted.max(revision);
        state.collections.values_mut().for_each(|collection| collection.compact(revision));
    }

    /// Compacts the complete history.
    pub fn compact_all(&self) {
        self.compact(u64::MAX);
    }
}

impl Shared {
    /// No foreign code runs under the lock, so a poisoned lock is safe to use.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(
        &self,
        state: &mut State,
        key: &Key,
        old: Option<Arc<Value>>,
        mut object: Value,
    ) -> Arc<Value> {
        if let Some(old) = &old {
            object = with_resource_version(object, resource_version(old));
            if object == **old {
                return Arc::clone(old);
            }
        }
        let revision = state.next_revision();
        let object = Arc::new(with_resource_version(object, &revision.to_string()));
        let new = Some(Arc::clone(&object));
        self.record(state, key, revision, old, new);
        object
    }

    fn remove(&self, state: &mut State, key: &Key, old: Arc<Value>) -> Arc<Value> {
        let revision = state.next_revision();
        let last = at_revision(&old, revision);
        self.record(state, key, revision, Some(old), None);
        last
    }

    fn record(
        &self,
        state: &mut State,
        key: &Key,
        revision: u64,
        old: Option<Arc<Value>>,
        new: Option<Arc<Value>>,
    ) {
        let change = Change { revision, path: key.path().into(), old, new };
        state.collection(key.resource()).record(change, self.history);
    }
}

impl State {
    fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.collections.get(key.resource())?.get(&key.path())
    }

    /// The object, if it has the `expected` version.
    fn existing(&self, key: &Key, expected: Option<&str>) -> Result<Arc<Value>, StoreError> {
        let current = self.get(key).ok_or_else(|| StoreError::NotFound { key: key.clone() })?;
        match expected {
            Some(expected) if resource_version(&current) != expected => {
                let (key, expected) = (key.clone(), expected.to_owned());
                Err(StoreError::Conflict { key, expected, current })
            }
            _ => Ok(current),
        }
    }

    fn collection(&mut self, resource: &ResourceKey) -> &mut Collection {
        self.collections.entry(resource.clone()).or_default()
    }

    fn next_revision(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }
}

fn resource_version(object: &Value) -> &str {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default()
}

/// The object at another revision, as watches show deleted objects.
fn at_revision(object: &Value, revision: u64) -> Arc<Value> {
    Arc::new(with_resource_version(object.clone(), &revision.to_string()))
}

fn with_resource_version(mut object: Value, version: &str) -> Value {
    if let Some(fields) = object.as_object_mut() {
        let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("resourceVersion".to_owned(), version.into());
        }
    }
    object
}
