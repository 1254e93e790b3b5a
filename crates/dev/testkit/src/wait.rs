//! Waiting until a condition holds.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place where tests wait for other processes by polling"
)]

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

/// Long enough for two cores that compile and run a cluster at the same time. A test that passes does
/// not wait this long.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);

/// Short against the duration of a test, long enough not to load the host.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Polls until `poll` returns a value. An error ends the wait.
///
/// `what` completes the sentence "timed out waiting for".
pub async fn until<T, F>(what: &str, poll: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    until_within(DEFAULT_TIMEOUT, what, poll).await
}

/// [`until`] with another timeout.
pub async fn until_within<T, F>(
    timeout: Duration,
    what: &str,
    mut poll: impl FnMut() -> F,
) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(value) = poll().await? {
            return Ok(value);
        }
        if Instant::now() > deadline {
            bail!("timed out after {} s waiting for {what}", timeout.as_secs());
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Waits before a failed watch starts again.
pub(crate) async fn retry_delay() {
    sleep(POLL_INTERVAL).await;
}
