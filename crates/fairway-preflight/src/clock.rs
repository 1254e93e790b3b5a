//! What time it is: the one place of this crate that asks.
#![expect(clippy::disallowed_methods, reason = "a document says when something was found")]

use jiff::Timestamp;
use tokio::time::Instant;

pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// Sleeps until a time, or for ever. Somebody may set the clock: who wakes looks again.
pub(crate) async fn sleep_until(wake: Option<Timestamp>) {
    let Some(wake) = wake else { return std::future::pending().await };
    let wait = wake.duration_since(Timestamp::now()).try_into().unwrap_or_default();
    tokio::time::sleep_until(Instant::now() + wait).await;
}
