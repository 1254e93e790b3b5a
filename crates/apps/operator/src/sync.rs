//! Shared state of tasks: locks and watch channels.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Locks a mutex. No critical section in this crate leaves its value half-changed when it panics, so
/// a poisoned lock is safe to use.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Publishes a value. Receivers are woken only if it has changed.
pub(crate) fn publish<T: PartialEq>(sender: &watch::Sender<T>, value: T) {
    sender.send_if_modified(|published| {
        let is_changed = *published != value;
        *published = value;
        is_changed
    });
}

/// Waits until one of several watch receivers changes; `false` if a sender is gone. Dropping the other
/// waits loses nothing, because a receiver stays changed until it is read.
macro_rules! any_changed {
    ($($receiver:expr),+ $(,)?) => {
        tokio::select! { $(changed = $receiver.changed() => changed.is_ok(),)+ }
    };
}

pub(crate) use any_changed;
