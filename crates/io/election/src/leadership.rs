//! Leadership: permission to write while the Lease is held.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The Lease is lost: another replica leads, or may do so soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this operator is no longer the leader")]
pub struct LostLease;

/// Permission to write while the Lease is held. Clones share it.
#[derive(Clone, Debug)]
pub struct Leadership {
    /// Time until which the Lease is held; `None` once it is lost.
    lease_deadline: watch::Receiver<Option<Instant>>,
}

impl Leadership {
    /// Leadership until a time, which the sender extends or ends. Dropping the sender ends it, too.
    pub fn until(lease_deadline: Instant) -> (watch::Sender<Option<Instant>>, Self) {
        let (sender, receiver) = watch::channel(Some(lease_deadline));
        (sender, Self { lease_deadline: receiver })
    }

    /// Whether the Lease is held now.
    pub fn is_held(&self) -> bool {
        self.lease_deadline.has_changed().is_ok()
            && self
                .lease_deadline
                .borrow()
                .is_some_and(|lease_deadline| Instant::now() < lease_deadline)
    }

    /// Waits until the Lease is lost.
    pub async fn lost(&self) {
        let mut receiver = self.lease_deadline.clone();
        loop {
            let Some(lease_deadline) = *receiver.borrow_and_update() else { return };
            tokio::select! {
                () = sleep_until(lease_deadline) => if !self.is_held() { return },
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
            lease_deadline.send_replace(Some(Instant::now() + LEASE_DURATION + LEASE_DURATION));
        };
        assert_eq!(tokio::join!(write, renew).0, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn write_is_dropped_when_another_replica_leads() {
        let (lease_deadline, leadership) = Leadership::until(Instant::now() + LEASE_DURATION);
        let began = Instant::now();
        let lose = async {
            sleep_until(began + Duration::from_secs(1)).await;
            lease_deadline.send_replace(None);
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
