//! Leadership: permission to write while the Lease is held.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use fairway_clock::ClockReading;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The Lease is lost: another replica leads, or may do so soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this operator is no longer the leader")]
pub struct LostLease;

/// The time for which a Lease is held since its last renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// Before the renew request was sent.
    since: ClockReading,
    lasts: Duration,
}

impl Term {
    /// A term until a deadline, counted from a renew request.
    pub(super) fn new(since: ClockReading, lease_deadline: Instant) -> Self {
        Self { since, lasts: lease_deadline.saturating_duration_since(since.monotonic) }
    }

    /// Whether the term is over, by any clock: the host may have been suspended.
    fn is_over(&self, now: &ClockReading) -> bool {
        self.since.elapsed_until(now) >= self.lasts
    }

    fn deadline(&self) -> Instant {
        self.since.monotonic + self.lasts
    }
}

/// Permission to write while the Lease is held. Clones share it.
#[derive(Clone, Debug)]
pub struct Leadership {
    /// The current term; `None` once the Lease is lost.
    term: watch::Receiver<Option<Term>>,
    /// Set by the first check that finds the term over. From then on it stays over: the writer that
    /// was refused waits for the end of its stage, also if a renewal succeeds at that moment. It
    /// guards no other data, so relaxed ordering is enough.
    is_over: Arc<AtomicBool>,
}

/// Extends a [`Leadership`]. Dropping it ends the leadership.
#[derive(Debug)]
pub struct TermSender {
    term: watch::Sender<Option<Term>>,
    is_over: Arc<AtomicBool>,
}

impl TermSender {
    /// Starts the next term; `None` ends the leadership.
    pub(super) fn renew(&self, term: Option<Term>) {
        self.term.send_replace(term);
    }

    /// Whether the leadership has ended.
    pub(super) fn is_over(&self) -> bool {
        is_over(*self.term.borrow(), &self.is_over)
    }
}

fn is_over(term: Option<Term>, is_over: &AtomicBool) -> bool {
    if term.is_none_or(|term| term.is_over(&ClockReading::now())) {
        is_over.store(true, Ordering::Relaxed);
    }
    is_over.load(Ordering::Relaxed)
}

impl Leadership {
    /// Leadership until a time, which the sender extends or ends. Dropping the sender ends it, too.
    pub fn until(lease_deadline: Instant) -> (TermSender, Self) {
        Self::for_term(Term::new(ClockReading::now(), lease_deadline))
    }

    /// Leadership for a term.
    pub(super) fn for_term(term: Term) -> (TermSender, Self) {
        let (sender, receiver) = watch::channel(Some(term));
        let is_over = Arc::new(AtomicBool::new(false));
        let leadership = Self { term: receiver, is_over: Arc::clone(&is_over) };
        (TermSender { term: sender, is_over }, leadership)
    }

    /// Whether the Lease is held now.
    pub fn is_held(&self) -> bool {
        self.term.has_changed().is_ok() && !is_over(*self.term.borrow(), &self.is_over)
    }

    /// Waits until the Lease is lost.
    pub async fn lost(&self) {
        let mut receiver = self.term.clone();
        loop {
            let Some(term) = *receiver.borrow_and_update() else { return };
            tokio::select! {
                () = sleep_until(term.deadline()) => if !self.is_held() { return },
                changed = receiver.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Polls a write only while the Lease is held, and drops it when the Lease is lost.
    pub async fn write<T>(&self, write: impl Future<Output = T>) -> Result<T, LostLease> {
        let (mut write, mut lost) = (pin!(write), pin!(self.lost()));
        poll_fn(|cx| {
            // Checked at each poll: a process that was suspended may resume here before its timers
            // fire.
            if !self.is_held() || lost.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(LostLease));
            }
            write.as_mut().poll(cx).map(Ok)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    const LEASE_DURATION: Duration = Duration::from_secs(10);

    /// A term that starts now.
    fn term(lasts: Duration) -> Term {
        Term { since: ClockReading::now(), lasts }
    }

    /// A term that starts now, on a host whose clocks differ from now on.
    fn term_before(lasts: Duration, boot: Duration, wall: Duration) -> Term {
        let now = ClockReading::now();
        let wall = now.wall - jiff::SignedDuration::try_from(wall).unwrap();
        Term { since: ClockReading { boot: now.boot.saturating_sub(boot), wall, ..now }, lasts }
    }

    #[tokio::test(start_paused = true)]
    async fn write_after_suspension_of_the_host_is_refused() {
        // A term that the host is older than: it boots in less than a second.
        let lasts = Duration::from_secs(1);
        for (boot, wall, is_held) in [
            (Duration::ZERO, Duration::ZERO, true),
            (lasts, lasts, false),
            // A hypervisor paused the guest, and its wall clock was corrected.
            (Duration::ZERO, lasts, false),
        ] {
            let (sender, leadership) = Leadership::for_term(term_before(lasts, boot, wall));
            assert_eq!(leadership.write(ready(())).await.is_ok(), is_held, "{boot:?} {wall:?}");
            // A renewal in flight does not revive a leadership that has refused a write.
            sender.renew(Some(term(LEASE_DURATION)));
            assert_eq!((leadership.is_held(), sender.is_over()), (is_held, !is_held));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn write_while_lease_is_held_completes() {
        let (_term, leadership) = Leadership::until(Instant::now() + LEASE_DURATION);
        assert_eq!(leadership.write(ready(7)).await, Ok(7));
    }

    #[tokio::test(start_paused = true)]
    async fn write_is_dropped_at_lease_deadline() {
        let (_term, leadership) = Leadership::until(Instant::now() + LEASE_DURATION);
        let began = Instant::now();
        assert_eq!(leadership.write(pending::<()>()).await, Err(LostLease));
        assert_eq!(began.elapsed(), LEASE_DURATION);
        let never = async { unreachable!("no write starts without the Lease") };
        assert_eq!(leadership.write::<()>(never).await, Err(LostLease));
    }

    #[tokio::test(start_paused = true)]
    async fn write_continues_after_renewal() {
        let (lease_deadline, leadership) = Leadership::until(Instant::now() + LEASE_DURATION);
        let write =
            leadership.write(sleep_until(Instant::now() + LEASE_DURATION + LEASE_DURATION / 2));
        let renew = async {
            sleep_until(Instant::now() + LEASE_DURATION / 2).await;
            lease_deadline.renew(Some(term(LEASE_DURATION * 2)));
        };
        assert_eq!(tokio::join!(write, renew).0, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn write_is_dropped_when_another_replica_leads() {
        let (lease_deadline, leadership) = Leadership::until(Instant::now() + LEASE_DURATION);
        let began = Instant::now();
        let lose = async {
            sleep_until(began + Duration::from_secs(1)).await;
            lease_deadline.renew(None);
        };
        let (written, ()) = tokio::join!(leadership.write(pending::<()>()), lose);
        assert_eq!((written, began.elapsed()), (Err(LostLease), Duration::from_secs(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn leadership_ends_with_its_sender() {
        let (lease_deadline, leadership) = Leadership::until(Instant::now() + LEASE_DURATION);
        drop(lease_deadline);
        assert!(!leadership.is_held());
        assert_eq!(leadership.write(ready(7)).await, Err(LostLease));
    }

    #[tokio::test(start_paused = true)]
    async fn write_after_suspension_is_not_polled() {
        let (_term, leadership) = Leadership::until(Instant::now() + LEASE_DURATION);
        let polled = AtomicUsize::new(0);
        let mut write = pin!(leadership.write(poll_fn(|_| {
            polled.fetch_add(1, Ordering::Relaxed);
            Poll::<()>::Pending
        })));
        assert!(futures::poll!(write.as_mut()).is_pending());
        tokio::time::advance(LEASE_DURATION * 2).await;
        assert_eq!(write.await, Err(LostLease));
        assert_eq!(polled.load(Ordering::Relaxed), 1);
    }
}
