//! Watches.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Weak};

use serde_json::Value;
use tokio::sync::watch;

use super::collection::{Change, NextChange, Objects};
use super::list::parse_version;
use super::{QueryError, ReadError, ResourceKey, Selection, Shared, Store, at_revision};

/// Start of a watch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchFrom {
    /// Current objects as `ADDED` events, then changes.
    #[default]
    Everything,
    /// Changes after this revision.
    After(u64),
}

impl WatchFrom {
    /// Parses `resourceVersion` and `resourceVersionMatch`. Missing ones are empty.
    pub fn parse(resource_version: &str, resource_version_match: &str) -> Result<Self, QueryError> {
        if !resource_version_match.is_empty() {
            let detail = "resourceVersionMatch is forbidden for watch";
            return Err(QueryError::MatchForbidden { detail });
        }
        match resource_version {
            "" | "0" => Ok(Self::Everything),
            version => parse_version(version).map(Self::After),
        }
    }
}

/// Type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Created, or newly selected.
    Added,
    /// Changed.
    Modified,
    /// Deleted, or no longer selected.
    Deleted,
}

impl EventKind {
    /// `type` of the event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// An event of a watch.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchEvent {
    /// The type.
    pub kind: EventKind,
    /// The object; for deletions its last state with the revision of the deletion.
    pub object: Arc<Value>,
}

/// Why a watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEnd {
    /// Unread changes were evicted. The API server closes the connection.
    TooSlow,
    /// Unread changes were compacted. The API server sends an error event (410).
    Compacted,
    /// The store was dropped.
    Closed,
}

/// A watch of the selected objects of a resource.
#[derive(Debug)]
pub struct Watcher {
    shared: Weak<Shared>,
    resource: ResourceKey,
    selection: Selection,
    /// Pending initial objects.
    initial: VecDeque<Arc<Value>>,
    /// Revision up to which changes are read.
    cursor: u64,
    newest: watch::Receiver<u64>,
    end: Option<WatchEnd>,
    conversion: Option<ObjectConversion>,
}

type ConversionFn = dyn Fn(&Arc<Value>) -> Arc<Value> + Send + Sync;

/// Converts the objects of events.
struct ObjectConversion(Box<ConversionFn>);

impl fmt::Debug for ObjectConversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("View")
    }
}

impl Store {
    /// Watches the selected objects of a resource.
    pub fn watch(
        &self,
        resource: &ResourceKey,
        selection: Selection,
        from: WatchFrom,
    ) -> Result<Watcher, ReadError> {
        let mut state = self.shared.lock();
        let (compacted, current) = (state.compacted, state.revision);
        let collection = state.collection(resource);
        let oldest = collection.oldest().max(compacted);
        let (objects, cursor) = match from {
            WatchFrom::After(requested) if requested < oldest => {
                return Err(ReadError::WatchExpired { requested, oldest });
            }
            WatchFrom::After(revision) => (Objects::default(), revision),
            WatchFrom::Everything => {
                let prefix = selection.prefix();
                (collection.objects_at(current, &prefix, &prefix), current)
            }
        };
        let newest = collection.subscribe();
        drop(state);

        let initial = objects.into_values().filter(|object| selection.matches(object)).collect();
        Ok(Watcher {
            shared: Arc::downgrade(&self.shared),
            resource: resource.clone(),
            selection,
            initial,
            cursor,
            newest,
            end: None,
            conversion: None,
        })
    }
}

impl Watcher {
    /// Converts the objects of all events.
    #[must_use]
    pub fn converted_by(
        self,
        conversion: impl Fn(&Arc<Value>) -> Arc<Value> + Send + Sync + 'static,
    ) -> Self {
        Self { conversion: Some(ObjectConversion(Box::new(conversion))), ..self }
    }

    /// Waits for the next event; `None` when the watch has ended.
    ///
    /// Cancel safe: dropping the future loses no event.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        loop {
            // Mark before reading, so that a change after the read wakes this watch.
            self.newest.mark_unchanged();
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if self.end.is_none() && self.newest.changed().await.is_err() {
                self.end = Some(WatchEnd::Closed);
            }
            if self.end.is_some() {
                return None;
            }
        }
    }

    /// The next event, if it is available.
    pub fn try_next(&mut self) -> Option<WatchEvent> {
        let mut event = if let Some(object) = self.initial.pop_front() {
            WatchEvent { kind: EventKind::Added, object }
        } else {
            let (event, revision) = self.peek()?;
            self.cursor = revision;
            event
        };
        if let Some(ObjectConversion(conversion)) = &self.conversion {
            event.object = conversion(&event.object);
        }
        Some(event)
    }

    /// Why the watch has ended, if it has.
    pub fn end(&self) -> Option<WatchEnd> {
        self.end
    }

    /// The newest revision up to which all events were returned, from which a client can resume.
    /// `None` until all initial objects were returned.
    pub fn bookmark(&mut self) -> Option<u64> {
        if !self.initial.is_empty() {
            return None;
        }
        if self.peek().is_none()
            && let Some(shared) = self.shared.upgrade()
        {
            let state = &mut *shared.lock();
            // A change may have happened since the peek.
            if matches!(state.collection(&self.resource).after(self.cursor), NextChange::Nothing) {
                self.cursor = self.cursor.max(state.revision);
            }
        }
        Some(self.cursor)
    }

    /// The next event and its revision. Unselected changes before it are skipped.
    fn peek(&mut self) -> Option<(WatchEvent, u64)> {
        let prefix = self.selection.prefix();
        while let Some(change) = self.change() {
            if change.path.starts_with(&prefix)
                && let Some(event) = event(&change, &self.selection)
            {
                return Some((event, change.revision));
            }
            self.cursor = change.revision;
        }
        None
    }

    /// The first unread change.
    fn change(&mut self) -> Option<Arc<Change>> {
        if self.end.is_some() {
            return None;
        }
        let Some(shared) = self.shared.upgrade() else {
            self.end = Some(WatchEnd::Closed);
            return None;
        };
        let next = shared.lock().collection(&self.resource).after(self.cursor);
        match next {
            NextChange::Change(change) => return Some(change),
            NextChange::Nothing => {}
            NextChange::Evicted => self.end = Some(WatchEnd::TooSlow),
            NextChange::Compacted => self.end = Some(WatchEnd::Compacted),
        }
        None
    }
}

/// The event of a change for a selection.
fn event(change: &Change, selection: &Selection) -> Option<WatchEvent> {
    let selected = |object: &&Arc<Value>| selection.matches(object);
    let old = change.old.as_ref().filter(selected);
    let new = change.new.as_ref().filter(selected);
    let (kind, object) = match (old, new) {
        (None, None) => return None,
        (None, Some(new)) => (EventKind::Added, Arc::clone(new)),
        (Some(_), Some(new)) => (EventKind::Modified, Arc::clone(new)),
        (Some(old), None) => (EventKind::Deleted, at_revision(old, change.revision)),
    };
    Some(WatchEvent { kind, object })
}
