//! The one place that reads the clock and sleeps. Decisions take `now` as an argument.
#![expect(clippy::disallowed_methods, reason = "this is the place")]

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// The present time.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// When a time will be. If somebody sets the clock meanwhile, it is earlier or later: whoever sleeps
/// until then looks again.
pub fn instant_of(time: Timestamp) -> Instant {
    let wait = time.duration_since(Timestamp::now());
    Instant::now() + wait.try_into().unwrap_or_default()
}

/// Sleeps until a time, or for ever.
pub async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}

/// Waits for so long.
pub async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
