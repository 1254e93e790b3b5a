//! The objects of one resource and their newest changes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

/// Objects by their paths.
pub(super) type Objects = BTreeMap<Arc<str>, Arc<Value>>;

/// One write.
pub(super) struct Change {
    pub(super) revision: u64,
    pub(super) path: Arc<str>,
    pub(super) old: Option<Arc<Value>>,
    pub(super) new: Option<Arc<Value>>,
}

/// The objects of one resource and their newest changes.
#[derive(Default)]
pub(super) struct Collection {
    objects: Objects,
    /// The newest changes, in the order of their revisions.
    log: VecDeque<Arc<Change>>,
    /// The newest change that gave way to newer ones.
    evicted: u64,
    /// The newest change that was compacted.
    compacted: u64,
    /// Wakes the watches.
    newest: watch::Sender<u64>,
}

/// What a watch that has read everything up to a revision finds.
pub(super) enum Next {
    Change(Arc<Change>),
    Nothing,
    Evicted,
    Compacted,
}

impl Collection {
    pub(super) fn get(&self, path: &str) -> Option<Arc<Value>> {
        self.objects.get(path).cloned()
    }

    /// The oldest revision that can still be read, as far as it is up to this resource.
    pub(super) fn oldest(&self) -> u64 {
        self.evicted.max(self.compacted)
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    pub(super) fn record(&mut self, change: Change, history: usize) {
        let (path, revision) = (Arc::clone(&change.path), change.revision);
        match &change.new {
            Some(object) => self.objects.insert(path, Arc::clone(object)),
            None => self.objects.remove(&path),
        };
        self.log.push_back(Arc::new(change));
        while self.log.len() > history {
            let gone = self.log.pop_front();
            self.evicted = gone.map_or(self.evicted, |change| change.revision);
        }
        self.newest.send_replace(revision);
    }

    pub(super) fn compact(&mut self, revision: u64) {
        let kept = self.log.partition_point(|change| change.revision <= revision);
        for gone in self.log.drain(..kept) {
            self.compacted = gone.revision;
        }
    }

    /// The objects as they were at a revision, from a path on, whose paths begin with `prefix`.
    pub(super) fn objects_at(&self, revision: u64, prefix: &str, from: &str) -> Objects {
        let in_range = |path: &str| path >= from && path.starts_with(prefix);
        let range = self.objects.range::<str, _>((Bound::Included(from), Bound::Unbounded));
        let mut objects: Objects = range
            .take_while(|(path, _)| path.starts_with(prefix))
            .map(|(path, object)| (Arc::clone(path), Arc::clone(object)))
            .collect();
        let later = self.log.iter().rev().take_while(|change| change.revision > revision);
        for change in later.filter(|change| in_range(&change.path)) {
            match &change.old {
                Some(old) => objects.insert(Arc::clone(&change.path), Arc::clone(old)),
                None => objects.remove(&change.path),
            };
        }
        objects
    }

    /// The first change after a revision.
    pub(super) fn after(&self, revision: u64) -> Next {
        if self.compacted > revision {
            return Next::Compacted;
        }
        if self.evicted > revision {
            return Next::Evicted;
        }
        let index = self.log.partition_point(|change| change.revision <= revision);
        self.log.get(index).map_or(Next::Nothing, |change| Next::Change(Arc::clone(change)))
    }
}
