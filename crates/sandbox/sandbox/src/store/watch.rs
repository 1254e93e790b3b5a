//! Watches.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Weak};

use serde_json::Value;
use tokio::sync::watch;

use super::collection::{Change, Next, Objects};
use super::list::parse_version;
use super::{QueryError, ReadError, Resource, Selection, Shared, Store, at_revision};

/// Where a watch begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchFrom {
    /// With the objects that are there, as if they were added now.
    #[default]
    Everything,
    /// After this revision.
    After(u64),
}

impl WatchFrom {
    /// Reads the parameters `resourceVersion` and `resourceVersionMatch`, which are empty where
    /// they are missing.
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

/// What happened to an object, as far as a watch is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was created, or begins to be selected.
    Added,
    /// It was changed.
    Modified,
    /// It was deleted, or ceases to be selected.
    Deleted,
}

impl EventKind {
    /// `type` in the event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One event of a watch.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchEvent {
    /// What happened.
    pub kind: EventKind,
    /// The object; of one that is gone its last state, with the revision at which it went.
    pub object: Arc<Value>,
}

/// Why a watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEnd {
    /// Newer changes took the place of some that the watch had not read. A real server closes the
    /// connection.
    TooSlow,
    /// Changes that the watch had not read were compacted. A real server says so, with 410.
    Compacted,
    /// The store is gone.
    Closed,
}

/// What happens to the selected objects of a resource, event by event.
#[derive(Debug)]
pub struct Watcher {
    shared: Weak<Shared>,
    resource: Resource,
    selection: Selection,
    /// The objects that were there at the beginning.
    initial: VecDeque<Arc<Value>>,
    /// Everything up to here was read.
    cursor: u64,
    newest: watch::Receiver<u64>,
    end: Option<WatchEnd>,
    view: Option<View>,
}

type Showing = dyn Fn(&Arc<Value>) -> Arc<Value> + Send + Sync;

/// What becomes of an object before it is shown.
struct View(Box<Showing>);

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("View")
    }
}

impl Store {
    /// Watches the selected objects of a resource.
    pub fn watch(
        &self,
        resource: &Resource,
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
            view: None,
        })
    }
}

impl Watcher {
    /// The same watch, which shows its objects in another form.
    #[must_use]
    pub fn shown_by(
        self,
        view: impl Fn(&Arc<Value>) -> Arc<Value> + Send + Sync + 'static,
    ) -> Self {
        Self { view: Some(View(Box::new(view))), ..self }
    }

    /// The next event; waits for it. `None` when the watch has ended, and ever after.
    ///
    /// Nothing is lost when the future is dropped before it is ready.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        loop {
            // Before looking, so that what comes after the look wakes.
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

    /// The next event, if it has happened already.
    pub fn try_next(&mut self) -> Option<WatchEvent> {
        let mut event = if let Some(object) = self.initial.pop_front() {
            WatchEvent { kind: EventKind::Added, object }
        } else {
            let (event, revision) = self.peek()?;
            self.cursor = revision;
            event
        };
        if let Some(View(view)) = &self.view {
            event.object = view(&event.object);
        }
        Some(event)
    }

    /// Why the watch has ended, if it has.
    pub fn end(&self) -> Option<WatchEnd> {
        self.end
    }

    /// The newest revision up to which this watch has given every event: a client that goes on from
    /// there misses nothing. There is none before it has shown all objects of the beginning.
    pub fn bookmark(&mut self) -> Option<u64> {
        if !self.initial.is_empty() {
            return None;
        }
        if self.peek().is_none()
            && let Some(shared) = self.shared.upgrade()
        {
            let state = &mut *shared.lock();
            // Something may have come since the look.
            if matches!(state.collection(&self.resource).after(self.cursor), Next::Nothing) {
                self.cursor = self.cursor.max(state.revision);
            }
        }
        Some(self.cursor)
    }

    /// The next event and its revision; whatever comes before it, and is not selected, is read.
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

    /// The first change that was not read yet.
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
            Next::Change(change) => return Some(change),
            Next::Nothing => {}
            Next::Evicted => self.end = Some(WatchEnd::TooSlow),
            Next::Compacted => self.end = Some(WatchEnd::Compacted),
        }
        None
    }
}

/// What a change means to those who see only what is selected.
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
