//! How decisions about objects reach the store.

use std::io;
use std::sync::Arc;

use serde_json::Value;

use super::request::Request;
use super::{Change, Operation, Refusal, meta};
use crate::catalog::{Subresource, Verb};
use crate::store::{Key, Preconditions, StoreError};

/// How often a write that depends on what is stored is tried before its client is told to try
/// again. As long as others write they get on, so this is seldom more than a few.
pub(super) const ATTEMPTS: usize = 100;

/// What etcd takes in one request, by default.
const MAX_OBJECT_BYTES: usize = 1_572_864;

/// What is to become of an object.
pub(super) enum Outcome {
    /// This.
    Write(Value),
    /// It goes; this is what clients see of it last.
    Remove(Value),
}

impl Request<'_> {
    /// Stores a new object, unless it is only a rehearsal.
    pub(super) fn insert(
        &self,
        key: &Key,
        object: Value,
        dry_run: bool,
    ) -> Result<Arc<Value>, Refusal> {
        check_size(&object)?;
        self.consult(key, Operation::Create, Some(&object), None, dry_run)?;
        let store = self.api.store();
        let inserted = match store.get(key) {
            Some(current) => Err(StoreError::AlreadyExists { key: key.clone(), current }),
            None if dry_run => Ok(Arc::new(object)),
            None => store.create(key, self.strategy.stored(object)),
        };
        inserted.map_err(|error| Refusal::of_store(&error, self.resource()))
    }

    /// Replaces or removes an object; `None` where it has changed since it was `old`.
    pub(super) fn commit(
        &self,
        key: &Key,
        old: &Arc<Value>,
        outcome: Outcome,
        dry_run: bool,
    ) -> Result<Option<Arc<Value>>, Refusal> {
        if let (Outcome::Write(object) | Outcome::Remove(object), Verb::Update | Verb::Patch) =
            (&outcome, self.call.verb)
        {
            let old = self.strategy.shown(old);
            self.consult(key, Operation::Update, Some(object), Some(&old), dry_run)?;
        }
        let store = self.api.store();
        let version = meta::text(old, "resourceVersion");
        let done = match outcome {
            Outcome::Write(object) | Outcome::Remove(object) if dry_run => Ok(Arc::new(object)),
            Outcome::Write(object) => {
                check_size(&object)?;
                store.update(key, self.strategy.stored(object), Some(version))
            }
            Outcome::Remove(last) => {
                let resource_version = Some(version.to_owned());
                let expected = Preconditions { uid: None, resource_version };
                store.delete(key, &expected).map(|_| Arc::new(last))
            }
        };
        match done {
            Ok(object) => Ok(Some(object)),
            Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(Refusal::of_store(&error, self.resource())),
        }
    }

    /// Asks whoever has a say in it. What they know is whole objects, so nobody is asked about
    /// their scale or their node.
    pub(super) fn consult(
        &self,
        key: &Key,
        operation: Operation,
        object: Option<&Value>,
        old: Option<&Value>,
        dry_run: bool,
    ) -> Result<(), Refusal> {
        let call = self.call;
        if !matches!(call.subresource, None | Some(Subresource::Status)) {
            return Ok(());
        }
        // Whoever deletes several names none of them.
        let name = if call.verb == Verb::DeleteCollection { "" } else { key.name() };
        let change = Change { call, operation, name, object, old, dry_run };
        self.turn.pause(|| self.reviewer.review(&change))?;
        if self.turn.is_disturbed() {
            return Err(Refusal::stale(self.resource(), name));
        }
        Ok(())
    }
}

fn check_size(object: &Value) -> Result<(), Refusal> {
    let mut room = Room(MAX_OBJECT_BYTES);
    let fits = serde_json::to_writer(&mut room, object).is_ok();
    // The words and the missing reason are those of a real server whose etcd refuses a request.
    if fits { Ok(()) } else { Err(Refusal::new(500, "", "etcdserver: request is too large")) }
}

/// Takes so many bytes and no more.
struct Room(usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
