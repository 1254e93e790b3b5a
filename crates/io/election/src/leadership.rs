//! Leading, and the right to write that comes with it.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The lease is lost: somebody else leads, or may do so soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this operator is no longer the leader")]
pub struct LostLease;

/// The right to write, for as long as the lease is held.
#[derive(Clone, Debug)]
pub struct Leadership {
    /// Until when it is held; `None` once it is lost.
    term: watch::Receiver<Option<Instant>>,
}

impl Leadership {
    /// Leadership until then, which its sender prolongs or ends. It ends with the sender, too.
    pub fn until(term: Instant) -> (watch::Sender<Option<Instant>>, Self) {
        let (sender, receiver) = watch::channel(Some(term));
        (sender, Self { term: receiver })
    }

    /// Whether the lease is held at this moment.
    pub fn is_held(&self) -> bool {
        self.term.has_changed().is_ok()
            && self.term.borrow().is_some_and(|term| Instant::now() < term)
    }

    /// Waits until the lease is lost.
    pub async fn lost(&self) {
        let mut receiver = self.term.clone();
        loop {
            let Some(term) = *receiver.borrow_and_update() else { return };
            tokio::select! {
                () = sleep_until(term) => if !self.is_held() { return },
                changed = receiver.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Does something only while the lease is held, and gives it up at the moment it is not.
    pub async fn write<T>(&self, write: impl Future<Output = T>) -> Result<T, LostLease> {
        let (mut write, mut lost) = (pin!(write), pin!(self.lost()));
        poll_fn(|cx| {
            // The clock is asked each time: a process that was stopped for a while may go on here
            // before any of its timers fire.
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

    const TERM: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn what_is_written_while_the_lease_is_held_is_done() {
        let (_term, leadership) = Leadership::until(Instant::now() + TERM);
        assert_eq!(leadership.write(ready(7)).await, Ok(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_is_given_up_when_the_term_ends() {
        let (_term, leadership) = Leadership::until(Instant::now() + TERM);
        let began = Instant::now();
        assert_eq!(leadership.write(pending::<()>()).await, Err(LostLease));
        assert_eq!(began.elapsed(), TERM);
        let never = async { unreachable!("nothing is begun any more") };
        assert_eq!(leadership.write::<()>(never).await, Err(LostLease));
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_prolongs_what_is_being_written() {
        let (term, leadership) = Leadership::until(Instant::now() + TERM);
        let write = leadership.write(sleep_until(Instant::now() + TERM + TERM / 2));
        let renew = async {
            sleep_until(Instant::now() + TERM / 2).await;
            term.send_replace(Some(Instant::now() + TERM + TERM));
        };
        assert_eq!(tokio::join!(write, renew).0, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_is_given_up_at_once_when_somebody_else_leads() {
        let (term, leadership) = Leadership::until(Instant::now() + TERM);
        let began = Instant::now();
        let lose = async {
            sleep_until(began + Duration::from_secs(1)).await;
            term.send_replace(None);
        };
        let (written, ()) = tokio::join!(leadership.write(pending::<()>()), lose);
        assert_eq!((written, began.elapsed()), (Err(LostLease), Duration::from_secs(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn leadership_ends_with_the_election() {
        let (term, leadership) = Leadership::until(Instant::now() + TERM);
        drop(term);
        assert!(!leadership.is_held());
        assert_eq!(leadership.write(ready(7)).await, Err(LostLease));
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_was_stopped_writes_nothing_when_it_goes_on() {
        let (_term, leadership) = Leadership::until(Instant::now() + TERM);
        let polled = AtomicUsize::new(0);
        let mut write = pin!(leadership.write(poll_fn(|_| {
            polled.fetch_add(1, Ordering::Relaxed);
            Poll::<()>::Pending
        })));
        assert!(futures::poll!(write.as_mut()).is_pending());
        tokio::time::advance(TERM * 2).await;
        assert_eq!(write.await, Err(LostLease));
        assert_eq!(polled.load(Ordering::Relaxed), 1);
    }
}
