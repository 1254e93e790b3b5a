//! What all controllers have in common: watches, a queue of keys, and a loop that takes them in turn.
//!
//! Controllers keep no copies of objects. They read the API, which is in the same process and never
//! stale, so none of them has to remember what it has just written.

mod component;
mod key;
mod queue;
mod run;
#[cfg(test)]
mod tests;
mod watches;

pub(in crate::controllers) use crate::recorder::{Recorder, Severity, about};
pub(in crate::controllers) use component::Component;
pub(in crate::controllers) use key::ObjectKey;
pub(in crate::controllers) use run::{Controller, Outcome, run};
pub(in crate::controllers) use watches::{Change, Scope, inhabited_namespace};
