//! Objects of a resource and their change log.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

/// Objects by path.
pub(super) type Objects = BTreeMap<Arc<str>, Arc<Value>>;

/// A write.
pub(super) struct Change {
    pub(super) revision: u64,
    pub(super) path: Arc<str>,
    pub(super) old: Option<Arc<Value>>,
    pub(super) new: Option<Arc<Value>>,
}

/// Objects of a resource and their change log.
#[derive(Default)]
pub(super) struct Collection {
    objects: Objects,
    /// The newest changes, by revision.
    log: VecDeque<Arc<Change>>,
    /// Revision of the newest evicted change.
    evicted: u64,
    /// Revision of the newest compacted change.
    compacted: u64,
    /// Notifies watches of changes.
    newest: watch::Sender<u64>,
}

/// The next change for a watch.
pub(super) enum NextChange {
    Change(Arc<Change>),
    Nothing,
    Evicted,
    Compacted,
}

impl Collection {
    pub(super) fn get(&self, path: &str) -> Option<Arc<Value>> {
        self.objects.get(path).cloned()
    }

    /// The oldest revision that can be read from this resource.
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

    /// The objects at a revision, from a path on, whose paths have this prefix.
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
    pub(super) fn after(&self, revision: u64) -> NextChange {
        if self.compacted > revision {
            return NextChange::Compacted;
        }
        if self.evicted > revision {
            return NextChange::Evicted;
        }
        let index = self.log.partition_point(|change| change.revision <= revision);
        self.log
            .get(index)
            .map_or(NextChange::Nothing, |change| NextChange::Change(Arc::clone(change)))
    }
}
