//! The loop of a controller.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::queue::{Queue, RETRY_BACKOFF};
use super::watches::Watches;
use super::{Change, Component, Scope};
use crate::api::Refusal;

/// How long after a change of a definition a controller of everything looks which resources there
/// are: definitions come in groups.
const CATALOG_PAUSE: Duration = Duration::from_millis(50);

/// Times are told in seconds: nothing is decided differently before the next one.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// When a key's turn comes again, if nothing happens before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::controllers) enum Outcome {
    /// Not at all.
    Done,
    /// After this time.
    After(Duration),
}

impl Outcome {
    /// At that time, if there is one. What was due already when it was decided to wait is not
    /// done any sooner by asking again at once.
    pub(in crate::controllers) fn at(time: Option<Timestamp>, now: Timestamp) -> Self {
        let until = |time: Timestamp| Duration::try_from(time.duration_since(now)).ok();
        let after = |time| Self::After(until(time).unwrap_or_default().max(SHORTEST_WAIT));
        time.map_or(Self::Done, after)
    }
}

/// Something that keeps objects as they should be.
pub(in crate::controllers) trait Controller: Send + 'static {
    /// What it takes in turn.
    type Key: Ord + Clone + fmt::Debug + Send + Sync;

    /// What it wants to know about.
    const SCOPE: Scope;

    /// The component that it is.
    fn component(&self) -> &Component;

    /// Forgets what it learned from changes: all objects are about to be shown again.
    fn restart(&mut self) {}

    /// Whose turn it is after a change.
    fn affected(&mut self, change: &Change) -> Result<Vec<Self::Key>, Refusal>;

    /// Brings things closer to what they should be. A failure means another try.
    fn reconcile(&mut self, key: &Self::Key, now: Timestamp) -> Result<Outcome, Refusal>;
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
                Ok(watches) => follow(&mut controller, watches, &mut queue).await,
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
    tokio::select! {
        () = cancel.cancelled() => {}
        () = work => {}
    }
}

/// Works until the watches have to begin anew.
async fn follow<C: Controller>(
    controller: &mut C,
    mut watches: Watches,
    queue: &mut Queue<C::Key>,
) -> Result<(), Refusal> {
    let mut look_at_catalog = None;
    loop {
        tokio::select! {
            // Changes first, so that decisions are made with everything that has happened.
            biased;
            change = watches.next() => {
                let Some(change) = change else { return Ok(()) };
                if change.resource.kind == "CustomResourceDefinition" {
                    look_at_catalog.get_or_insert(Instant::now() + CATALOG_PAUSE);
                }
                for key in controller.affected(&change)? {
                    queue.add(key, Instant::now());
                }
            }
            () = turn(queue.next_turn()) => {
                take_turn(controller, queue);
                // Others have to run, too, however much there is to do.
                tokio::task::yield_now().await;
            }
            () = turn(look_at_catalog) => {
                if watches.are_outdated(controller.component()) {
                    return Ok(());
                }
                look_at_catalog = None;
            }
        }
    }
}

async fn turn(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn take_turn<C: Controller>(controller: &mut C, queue: &mut Queue<C::Key>) {
    let now = Instant::now();
    let Some(key) = queue.take(now) else { return };
    let time = controller.component().api().now();
    match controller.reconcile(&key, time) {
        Ok(outcome) => {
            queue.succeeded(&key);
            if let Outcome::After(pause) = outcome {
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
    fn nobody_waits_for_what_is_past() {
        let now = Timestamp::from_second(100).unwrap();
        let at = |second| Outcome::at(Some(Timestamp::from_second(second).unwrap()), now);
        assert_eq!(Outcome::at(None, now), Outcome::Done);
        assert_eq!(at(107), Outcome::After(Duration::from_secs(7)));
        assert_eq!(at(100), Outcome::After(SHORTEST_WAIT));
        assert_eq!(at(-5), Outcome::After(SHORTEST_WAIT));
    }
}
