//! State of a request: strategy, write lock, and access to the store.

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;

use super::strategy::Strategy;
use super::{
    AdmissionOperation, Api, ApiRequest, ApiResponse, ApiResult, ChangeReviewer, ObjectChange,
    RequestBody, StatusError, admission, meta,
};
use crate::apply::Writer;
use crate::catalog::{Resource, Subresource, Verb};
use crate::store::{Key, StoreError};

/// Attempts of a write that depends on the stored object. Each failure means that another write
/// succeeded, so few are needed.
pub(super) const MAX_ATTEMPTS: usize = 100;

/// Default request limit of etcd.
const MAX_OBJECT_BYTES: usize = 1_572_864;

/// A request with its resource strategy and write lock.
pub(super) struct RequestContext<'a> {
    pub(super) api: &'a Api,
    pub(super) request: &'a ApiRequest,
    pub(super) strategy: Strategy,
    pub(super) now: Timestamp,
    pub(super) reviewer: &'a dyn ChangeReviewer,
    pub(super) write_guard: WriteGuard<'a>,
}

impl<'a> RequestContext<'a> {
    /// Looks up the strategy of the resource and acquires the write lock if the request needs it.
    pub(super) fn new(
        api: &'a Api,
        request: &'a ApiRequest,
        reviewer: &'a dyn ChangeReviewer,
    ) -> ApiResult<Self> {
        let strategy = Strategy::find(&request.resource, &api.served())?;
        let writes = !matches!(request.verb, Verb::Get | Verb::List | Verb::Watch);
        let is_serialized =
            strategy.is_crd() || admission::core_kind(&request.resource) == "Service";
        let write_guard = api.shared.write_lock.acquire(writes && is_serialized);
        Ok(Self { api, request, strategy, now: api.now(), reviewer, write_guard })
    }

    pub(super) fn resource(&self) -> &Resource {
        &self.request.resource
    }

    /// The key of the requested object.
    pub(super) fn key(&self) -> ApiResult<Key> {
        self.key_for(self.request.name.as_deref().unwrap_or_default())
    }

    /// The key of another object in the same namespace.
    pub(super) fn key_for(&self, name: &str) -> ApiResult<Key> {
        let namespace = self.request.namespace.as_deref().filter(|_| self.resource().namespaced);
        Ok(Key::new(&self.strategy.storage(), namespace, name)?)
    }

    /// The stored object.
    pub(super) fn stored_object(&self, key: &Key) -> ApiResult<Arc<Value>> {
        let object = self.api.store().get(key);
        object.ok_or_else(|| StatusError::not_found(self.resource(), key.name()))
    }

    /// The object in the body.
    pub(super) fn body(&self) -> ApiResult<&Value> {
        match &self.request.body {
            RequestBody::Object(object) => Ok(object),
            RequestBody::None | RequestBody::Patch(..) => {
                Err(StatusError::bad_request("an object is missing"))
            }
        }
    }

    /// Field manager and schema for managedFields.
    pub(super) fn writer<'b>(&'b self, manager: &'b str, api_version: &'b str) -> Writer<'b> {
        let subresource = self.request.subresource;
        Writer {
            manager,
            api_version,
            subresource: subresource.map(Subresource::as_str),
            writable: self.strategy.writable(subresource),
            now: self.now,
            schema: self.strategy.schema(),
            blank: self.strategy.blank(),
        }
    }

    /// A response with the object in the requested version.
    pub(super) fn object_response(
        &self,
        object: &Arc<Value>,
        created: bool,
        warnings: Vec<String>,
    ) -> ApiResponse {
        ApiResponse::Object {
            object: self.strategy.to_requested_version(object),
            created,
            warnings,
        }
    }
}

/// Serializes writes that depend on all objects of a resource: CRDs, and Services with their unique
/// addresses. The value counts the acquisitions.
#[derive(Default)]
pub(super) struct WriteLock(Mutex<u64>);

/// The write lock of a request, if it needs one.
pub(super) struct WriteGuard<'a> {
    lock: &'a WriteLock,
    held: RefCell<Option<MutexGuard<'a, u64>>>,
    was_interrupted: Cell<bool>,
}

impl WriteLock {
    /// Acquires the lock if needed.
    pub(super) fn acquire(&self, needed: bool) -> WriteGuard<'_> {
        let held = RefCell::new(needed.then(|| self.lock()));
        WriteGuard { lock: self, held, was_interrupted: Cell::new(false) }
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *count = count.wrapping_add(1);
        count
    }
}

impl WriteGuard<'_> {
    /// Releases the lock during slow work, such as calls of webhooks.
    pub(super) fn unlocked<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(held) = self.held.take() else { return work() };
        let count = *held;
        drop(held);
        let done = work();
        let held = self.lock.lock();
        // Any other acquisition in between has increased the count further.
        if *held != count.wrapping_add(1) {
            self.was_interrupted.set(true);
        }
        self.held.replace(Some(held));
        done
    }

    pub(super) fn is_held(&self) -> bool {
        self.held.borrow().is_some()
    }

    /// Whether another request held the lock during a pause, so that earlier decisions may be
    /// stale.
    pub(super) fn was_interrupted(&self) -> bool {
        self.was_interrupted.get()
    }
}

/// The result of an update or a step of a deletion.
pub(super) enum WriteAction {
    /// Store the object.
    Store(Value),
    /// Remove the object; this is its last state.
    Remove(Value),
}

impl RequestContext<'_> {
    /// Stores a new object, unless it is a dry run.
    pub(super) fn insert(&self, key: &Key, object: Value, dry_run: bool) -> ApiResult<Arc<Value>> {
        check_size(&object)?;
        self.review(key, AdmissionOperation::Create, Some(&object), None, dry_run)?;
        let store = self.api.store();
        let inserted = match store.get(key) {
            Some(current) => Err(StoreError::AlreadyExists { key: key.clone(), current }),
            None if dry_run => Ok(Arc::new(object)),
            None => store.create(key, self.strategy.to_storage_version(object)),
        };
        inserted.map_err(|error| StatusError::from_store(&error, self.resource()))
    }

    /// Stores or removes an object. Returns `None` if it changed since it was read as `old`.
    pub(super) fn commit(
        &self,
        key: &Key,
        old: &Arc<Value>,
        action: WriteAction,
        dry_run: bool,
    ) -> ApiResult<Option<Arc<Value>>> {
        if let (
            WriteAction::Store(object) | WriteAction::Remove(object),
            Verb::Update | Verb::Patch,
        ) = (&action, self.request.verb)
        {
            let old = self.strategy.to_requested_version(old);
            self.review(key, AdmissionOperation::Update, Some(object), Some(&old), dry_run)?;
        }
        let store = self.api.store();
        let version = meta::text(old, "resourceVersion");
        let done = match action {
            WriteAction::Store(object) | WriteAction::Remove(object) if dry_run => {
                Ok(Arc::new(object))
            }
            WriteAction::Store(object) => {
                check_size(&object)?;
                store.update(key, self.strategy.to_storage_version(object), Some(version))
            }
            WriteAction::Remove(last) => store.delete(key, Some(version)).map(|_| Arc::new(last)),
        };
        match done {
            Ok(object) => Ok(Some(object)),
            Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(StatusError::from_store(&error, self.resource())),
        }
    }

    /// Calls the reviewer. Scale and binding are not reviewed, because webhooks expect complete
    /// objects.
    pub(super) fn review(
        &self,
        key: &Key,
        operation: AdmissionOperation,
        object: Option<&Value>,
        old: Option<&Value>,
        dry_run: bool,
    ) -> ApiResult<()> {
        let request = self.request;
        if !matches!(request.subresource, None | Some(Subresource::Status)) {
            return Ok(());
        }
        // A deletecollection request names no object.
        let name = if request.verb == Verb::DeleteCollection { "" } else { key.name() };
        let change = ObjectChange { request, operation, name, object, old, dry_run };
        self.write_guard.unlocked(|| self.reviewer.review(&change))?;
        if self.write_guard.was_interrupted() {
            return Err(StatusError::stale(self.resource(), name));
        }
        Ok(())
    }
}

fn check_size(object: &Value) -> ApiResult<()> {
    let mut limit = ByteLimit(MAX_OBJECT_BYTES);
    let fits = serde_json::to_writer(&mut limit, object).is_ok();
    // Message and missing reason are those of an API server whose etcd refuses the request.
    if fits { Ok(()) } else { Err(StatusError::new(500, "", "etcdserver: request is too large")) }
}

/// A writer that fails after this many bytes.
struct ByteLimit(usize);

impl io::Write for ByteLimit {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
