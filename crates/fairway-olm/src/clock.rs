//! What time it is: the one place of this crate that asks.
#![expect(clippy::disallowed_methods, reason = "conditions and certificates say since when")]

use std::time::Duration;

use jiff::Timestamp;

pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// Waits for so long.
pub(crate) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
