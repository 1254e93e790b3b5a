//! All objects, in memory, as etcd and the watch cache of an API server show them to clients.
//!
//! There is one revision for everything; each write takes the next one. Each resource keeps its
//! newest changes: watches read them, and lists at an older revision undo them. A reader that needs
//! older changes is told that its revision has expired. Nothing is kept for a reader, so a slow one
//! costs nothing and is cut off once what it has not read is gone.

mod collection;
mod error;
mod key;
mod list;
mod selection;
mod token;
mod watch;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

pub use error::{QueryError, ReadError, StoreError};
pub use key::{InvalidKey, Key, Resource};
pub use list::{At, List, ListOptions, ListQuery};
pub use selection::Selection;
pub use watch::{EventKind, WatchEnd, WatchEvent, WatchFrom, Watcher};

use collection::{Change, Collection};

/// The changes that a resource keeps, unless told otherwise: more than the watch cache of a real
/// server keeps at first, and little memory, because most of what they hold is still current.
pub const DEFAULT_HISTORY: usize = 1000;

/// As in etcd, where the empty database has the first revision. Zero means "any".
const FIRST_REVISION: u64 = 1;

/// All objects. Clones are handles to the same objects; watches end when the last one goes.
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
    /// Nothing can be read as it was before this revision.
    compacted: u64,
    collections: BTreeMap<Resource, Collection>,
}

/// What a client requires of the object that it deletes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The `metadata.uid` that it has to have.
    pub uid: Option<String>,
    /// The `metadata.resourceVersion` that it has to have.
    pub resource_version: Option<String>,
}

impl Default for Store {
    fn default() -> Self {
        Self::new(DEFAULT_HISTORY)
    }
}

impl Store {
    /// An empty store, which keeps this many changes of each resource.
    pub fn new(history: usize) -> Self {
        let state = State {
            revision: FIRST_REVISION,
            compacted: FIRST_REVISION,
            collections: BTreeMap::new(),
        };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), history }) }
    }

    /// The revision of the newest write.
    pub fn revision(&self) -> u64 {
        self.shared.lock().revision
    }

    /// An object as it is.
    pub fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.shared.lock().get(key)
    }

    /// Adds an object, and returns it with its resource version.
    pub fn create(&self, key: &Key, object: Value) -> Result<Arc<Value>, StoreError> {
        let mut state = self.shared.lock();
        match state.get(key) {
            Some(current) => Err(StoreError::AlreadyExists { key: key.clone(), current }),
            None => Ok(self.shared.write(&mut state, key, None, object)),
        }
    }

    /// Replaces an object; where `expected` is given, only that version of it. Without a difference
    /// nothing is written.
    pub fn update(
        &self,
        key: &Key,
        object: Value,
        expected: Option<&str>,
    ) -> Result<Arc<Value>, StoreError> {
        let mut state = self.shared.lock();
        let current = state.existing(key)?;
        if let Some(expected) = expected {
            check_version(key, &current, expected)?;
        }
        Ok(self.shared.write(&mut state, key, Some(current), object))
    }

    /// Replaces an object by what `change` makes of it; `None` leaves it as it is.
    ///
    /// `change` is asked again when somebody else was faster, and may use the store itself.
    pub fn modify<E: From<StoreError>>(
        &self,
        key: &Key,
        mut change: impl FnMut(&Arc<Value>) -> Result<Option<Value>, E>,
    ) -> Result<Arc<Value>, E> {
        loop {
            let before = self.shared.lock().existing(key)?;
            let Some(object) = change(&before)? else { return Ok(before) };
            let mut state = self.shared.lock();
            let current = state.existing(key)?;
            if Arc::ptr_eq(&before, &current) {
                return Ok(self.shared.write(&mut state, key, Some(current), object));
            }
        }
    }

    /// Removes an object, and returns its last state with the revision of the deletion.
    pub fn delete(
        &self,
        key: &Key,
        preconditions: &Preconditions,
    ) -> Result<Arc<Value>, StoreError> {
        let mut state = self.shared.lock();
        let current = state.existing(key)?;
        preconditions.check(key, &current)?;
        Ok(self.shared.remove(&mut state, key, current))
    }

    /// Forgets how everything was before this revision, at most the newest one.
    pub fn compact(&self, revision: u64) {
        let state = &mut *self.shared.lock();
        let revision = revision.min(state.revision);
        state.compacted = state.compacted.max(revision);
        state.collections.values_mut().for_each(|collection| collection.compact(revision));
    }

    /// Forgets how everything was before now.
    pub fn compact_all(&self) {
        self.compact(u64::MAX);
    }
}

impl Shared {
    /// No code of others runs under the lock, so a poisoned one guards a whole state.
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

    fn existing(&self, key: &Key) -> Result<Arc<Value>, StoreError> {
        self.get(key).ok_or_else(|| StoreError::NotFound { key: key.clone() })
    }

    fn collection(&mut self, resource: &Resource) -> &mut Collection {
        self.collections.entry(resource.clone()).or_default()
    }

    fn next_revision(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }
}

impl Preconditions {
    fn check(&self, key: &Key, current: &Arc<Value>) -> Result<(), StoreError> {
        let uid = current.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        if let Some(expected) = self.uid.as_deref().filter(|expected| *expected != uid) {
            let (expected, actual) = (expected.to_owned(), uid.to_owned());
            return Err(StoreError::OtherUid { key: key.clone(), expected, actual });
        }
        match &self.resource_version {
            Some(expected) => check_version(key, current, expected),
            None => Ok(()),
        }
    }
}

fn check_version(key: &Key, current: &Arc<Value>, expected: &str) -> Result<(), StoreError> {
    if resource_version(current) == expected {
        return Ok(());
    }
    let (key, expected) = (key.clone(), expected.to_owned());
    Err(StoreError::Conflict { key, expected, current: Arc::clone(current) })
}

fn resource_version(object: &Value) -> &str {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default()
}

/// The same object as of another revision: how watches show the last state of what is gone.
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
