//! The loop of a controller.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::queue::{Queue, pause_after};
use super::watches::Watches;
use super::{Change, Component, Scope};
use crate::api::Refusal;

/// How long after a change of a definition a controller of everything looks which resources there
/// are: definitions come in groups.
const CATALOG_PAUSE: Duration = Duration::from_millis(50);

/// When a key's turn comes again, if nothing happens before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::controllers) enum Outcome {
    /// Not at all.
    Done,
    /// After this time.
    After(Duration),
}

impl Outcome {
    /// At that time, or at once if it has passed; not at all without one.
    pub(in crate::controllers) fn at(time: Option<Timestamp>, now: Timestamp) -> Self {
        let after = |time: Timestamp| {
            Self::After(Duration::try_from(time.duration_since(now)).unwrap_or(Duration::ZERO))
        };
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
            match Watches::open(controller.component(), C::SCOPE) {
                Ok(watches) => {
                    failures = 0;
                    controller.restart();
                    follow(&mut controller, watches, &mut queue).await;
                }
                Err(refusal) => {
                    tracing::warn!(component = controller.component().name(), %refusal, "cannot watch");
                    sleep_until(Instant::now() + pause_after(failures)).await;
                    failures = failures.saturating_add(1);
                }
            }
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
) {
    let mut look_at_catalog = None;
    loop {
        tokio::select! {
            // Changes first, so that decisions are made with everything that has happened.
            biased;
            change = watches.next() => {
                let Some(change) = change else { return };
                if change.resource.kind == "CustomResourceDefinition" {
                    look_at_catalog.get_or_insert(Instant::now() + CATALOG_PAUSE);
                }
                match controller.affected(&change) {
                    Ok(keys) => keys.into_iter().for_each(|key| queue.add(key, Instant::now())),
                    Err(refusal) => {
                        tracing::warn!(component = controller.component().name(), %refusal, "begins anew");
                        return;
                    }
                }
            }
            () = turn(queue.next_turn()) => {
                take_turn(controller, queue);
                // Others have to run, too, however much there is to do.
                tokio::task::yield_now().await;
            }
            () = turn(look_at_catalog) => {
                if watches.are_outdated(controller.component()) {
                    return;
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
            tracing::debug!(component, ?key, %refusal, "tries again");
            queue.failed(key, now);
        }
    }
}
