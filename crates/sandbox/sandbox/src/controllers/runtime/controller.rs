//! The reconcile loop of a controller.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::queue::{Queue, RETRY_BACKOFF};
use super::watches::Watches;
use super::{Component, WatchEvent, WatchScope};
use crate::api::StatusError;

/// Delay between a change of a CRD and the check for new resources; debounces several CRDs that are
/// created together.
const CATALOG_CHECK_DELAY: Duration = Duration::from_millis(50);

/// Minimum delay of a requeue: times in the API have whole seconds, so nothing changes earlier.
const MIN_REQUEUE_DELAY: Duration = Duration::from_secs(1);

/// When a key is reconciled again without an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::controllers) enum Requeue {
    /// Only after an event.
    Never,
    /// After this delay.
    After(Duration),
}

impl Requeue {
    /// Requeues at a time, if any. A time in the past is delayed too: the reconciliation that
    /// returned it has already considered it, so an immediate retry would be a busy loop.
    pub(in crate::controllers) fn at(time: Option<Timestamp>, now: Timestamp) -> Self {
        let until = |time: Timestamp| Duration::try_from(time.duration_since(now)).ok();
        let after = |time| Self::After(until(time).unwrap_or_default().max(MIN_REQUEUE_DELAY));
        time.map_or(Self::Never, after)
    }
}

/// A controller: reconciles keys that its watches enqueue.
pub(in crate::controllers) trait Controller: Send + 'static {
    /// Key of the workqueue.
    type Key: Ord + Clone + fmt::Debug + Send + Sync;

    /// Resources to watch.
    const SCOPE: WatchScope;

    /// API client of the controller.
    fn component(&self) -> &Component;

    /// Drops state from events. Called before watches restart, which repeat all objects.
    fn restart(&mut self) {}

    /// Keys to enqueue for an event.
    fn keys_for_event(&mut self, event: &WatchEvent) -> Result<Vec<Self::Key>, StatusError>;

    /// Reconciles a key. Errors are retried with backoff.
    fn reconcile(&mut self, key: &Self::Key, now: Timestamp) -> Result<Requeue, StatusError>;
}

/// Runs a controller until it is cancelled.
pub(in crate::controllers) async fn run<C: Controller>(
    mut controller: C,
    cancel: CancellationToken,
) {
    let work = async {
        let mut queue = Queue::default();
        let mut failures = 0;
        loop {
            let watches = Watches::open(controller.component(), C::SCOPE);
            controller.restart();
            let end = match watches {
                Ok(watches) => handle_events(&mut controller, watches, &mut queue).await,
                Err(refusal) => Err(refusal),
            };
            if let Err(refusal) = &end {
                let component = controller.component().name();
                tracing::warn!(component, error = %refusal, "watches restarted");
            }
            failures = if end.is_ok() { 0_u32 } else { failures.saturating_add(1) };
            // Watches that end without an error also wait: a server that closes them at once would
            // cause a busy loop.
            let pause = RETRY_BACKOFF.after(failures.saturating_add(1));
            sleep_until(Instant::now() + pause).await;
        }
    };
    // Cancelling drops the loop between two reconciliations: `reconcile` has no await.
    tokio::select! {
        () = cancel.cancelled() => {}
        () = work => {}
    }
}

/// Handles events and reconciles keys until the watches have to restart.
async fn handle_events<C: Controller>(
    controller: &mut C,
    mut watches: Watches,
    queue: &mut Queue<C::Key>,
) -> Result<(), StatusError> {
    let mut catalog_check_at = None;
    loop {
        tokio::select! {
            // Events first, so that a reconciliation sees everything that has happened.
            biased;
            event = watches.next() => {
                let Some(event) = event else { return Ok(()) };
                if event.resource.kind == "CustomResourceDefinition" {
                    catalog_check_at.get_or_insert(Instant::now() + CATALOG_CHECK_DELAY);
                }
                for key in controller.keys_for_event(&event)? {
                    queue.add(key, Instant::now());
                }
            }
            () = sleep_until_some(queue.next_due()) => {
                reconcile_next(controller, queue);
                // A long queue must not starve other tasks of the runtime.
                tokio::task::yield_now().await;
            }
            () = sleep_until_some(catalog_check_at) => {
                if watches.are_outdated(controller.component()) {
                    return Ok(());
                }
                catalog_check_at = None;
            }
        }
    }
}

async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn reconcile_next<C: Controller>(controller: &mut C, queue: &mut Queue<C::Key>) {
    let now = Instant::now();
    let Some(key) = queue.take(now) else { return };
    let time = controller.component().api().now();
    match controller.reconcile(&key, time) {
        Ok(outcome) => {
            queue.succeeded(&key);
            if let Requeue::After(pause) = outcome {
                queue.add(key, now + pause);
            }
        }
        Err(refusal) => {
            let component = controller.component().name();
            tracing::debug!(component, ?key, error = %refusal, "reconciliation failed, retrying");
            queue.failed(key, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requeue_in_the_past_waits_minimum_delay() {
        let now = Timestamp::from_second(100).unwrap();
        let at = |second| Requeue::at(Some(Timestamp::from_second(second).unwrap()), now);
        assert_eq!(Requeue::at(None, now), Requeue::Never);
        assert_eq!(at(107), Requeue::After(Duration::from_secs(7)));
        assert_eq!(at(100), Requeue::After(MIN_REQUEUE_DELAY));
        assert_eq!(at(-5), Requeue::After(MIN_REQUEUE_DELAY));
    }
}
