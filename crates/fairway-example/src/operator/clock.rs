//! What time it is: the one place of this crate that asks.
#![expect(clippy::disallowed_methods, reason = "a status says since when something holds")]

use jiff::Timestamp;
use tokio::time::Instant;

pub(super) fn now() -> Timestamp {
    Timestamp::now()
}

/// Sleeps until a time, or for ever.
pub(super) async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}
