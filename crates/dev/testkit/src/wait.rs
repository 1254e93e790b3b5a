//! Waiting until something becomes true.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place where tests wait for what goes on in other processes"
)]

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

/// Two cores that compile and run a cluster at once are slow at times; a test that fails for
/// that reason helps nobody, and one that succeeds does not wait this long.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// Often enough not to be felt, seldom enough not to be the load that slows the others down.
const PAUSE: Duration = Duration::from_millis(100);

/// Asks until there is an answer; an error ends the wait.
///
/// `what` completes the sentence "waited … for".
pub async fn until<T, F>(what: &str, ask: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    until_within(PATIENCE, what, ask).await
}

/// The same for what takes longer than usual.
pub async fn until_within<T, F>(
    patience: Duration,
    what: &str,
    mut ask: impl FnMut() -> F,
) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let deadline = Instant::now() + patience;
    loop {
        if let Some(answer) = ask().await? {
            return Ok(answer);
        }
        if Instant::now() > deadline {
            bail!("timed out after {} s waiting for {what}", patience.as_secs());
        }
        sleep(PAUSE).await;
    }
}
