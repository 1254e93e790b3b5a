//! Shared state of tasks: locks and watch channels; and blocking work of tasks.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::watch;

/// Locks a mutex. No critical section in this crate leaves its value half-changed when it panics, so
/// a poisoned lock is safe to use.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs file I/O, which blocks the thread of its task: the renewal of the Lease must not wait for a slow
/// disk. The other tasks of the thread move to another one meanwhile.
pub(crate) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
        // Runtimes of tests have one thread, and cannot move tasks.
        _ => work(),
    }
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn blocking_work_does_not_delay_other_tasks() {
        let (sender, receiver) = mpsc::channel();
        let blocked = tokio::spawn(async move {
            // Queued behind this task on the only worker.
            tokio::spawn(async move { sender.send(()) });
            blocking(|| receiver.recv_timeout(Duration::from_secs(10)))
        });
        assert_eq!(blocked.await.unwrap(), Ok(()));
    }
}
