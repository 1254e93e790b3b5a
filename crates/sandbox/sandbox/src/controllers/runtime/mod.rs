//! Runtime of the controllers: watches, a workqueue, and the reconcile loop.
//!
//! Controllers have no cache. They read the in-process API, which is never stale, so no controller
//! has to track its own writes.

mod component;
mod controller;
mod queue;
#[cfg(test)]
mod tests;
mod watches;

pub(in crate::controllers) use component::{Component, ObjectKey};
pub(in crate::controllers) use controller::{Controller, Requeue, run};
pub(in crate::controllers) use watches::{WatchEvent, WatchScope, namespace_to_reconcile};

pub(in crate::controllers) use crate::recorder::{EventRecorder, Severity, object_reference};
