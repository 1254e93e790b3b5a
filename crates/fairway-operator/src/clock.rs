//! What time it is: the one place of this crate that asks.
#![expect(clippy::disallowed_methods, reason = "a status says since when something holds")]

use jiff::Timestamp;
use tokio::time::Instant;

pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// When that will be, if nobody sets the clock; who sleeps until then looks again.
pub(crate) fn instant_of(time: Timestamp) -> Instant {
    let wait = time.duration_since(Timestamp::now());
    Instant::now() + wait.try_into().unwrap_or_default()
}

/// Sleeps until a time, or for ever.
pub(crate) async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}
