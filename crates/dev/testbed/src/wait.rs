//! Polling and the clock.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place of this crate that polls other processes"
)]

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use jiff::Timestamp;

/// Short compared with a start of a second, long enough not to load the host.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(10);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// As many lines of a log as fit on a screen with the error.
const QUOTED_LINES: usize = 15;

/// Polls until `probe` returns a value. An error ends the wait.
///
/// `what` completes the sentence "timed out waiting for".
pub fn until<T>(
    what: &str,
    timeout: Duration,
    mut probe: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let start = Instant::now();
    let mut pause = MIN_POLL_INTERVAL;
    loop {
        if let Some(value) = probe()? {
            return Ok(value);
        }
        if start.elapsed() >= timeout {
            bail!("timed out after {} s waiting for {what}", timeout.as_secs());
        }
        thread::sleep(pause);
        pause = (pause * 2).min(MAX_POLL_INTERVAL);
    }
}

/// [`until`] with the last lines of a log in the error.
pub fn until_logged<T>(
    what: &str,
    timeout: Duration,
    log: &Path,
    probe: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    until(what, timeout, probe).map_err(|error| anyhow!("{error:#}\n{}", quote(log)))
}

/// Measures a duration.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts the measurement.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// The current time, for state files.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// The path and the end of a log, for an error.
fn quote(log: &Path) -> String {
    match fs::read(log) {
        Ok(bytes) => {
            format!("{} ends:\n{}", log.display(), last_lines(&String::from_utf8_lossy(&bytes)))
        }
        Err(error) => format!("cannot read {}: {error}", log.display()),
    }
}

/// The last [`QUOTED_LINES`] lines of a text.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn until_returns_the_first_value() {
        let mut polls = 0;
        let value = until("a third poll", Duration::from_secs(5), || {
            polls += 1;
            Ok((polls == 3).then_some(polls))
        });
        assert_eq!(value.unwrap(), 3);
    }

    #[test]
    fn until_after_timeout_names_the_condition() {
        let error = until("nothing", Duration::ZERO, || Ok(None::<()>)).unwrap_err();
        assert_eq!(error.to_string(), "timed out after 0 s waiting for nothing");
    }

    #[test]
    fn last_lines_of_long_log_are_its_end() {
        let text = (1..=100).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let quoted = last_lines(&text);
        assert!(quoted.starts_with("86\n") && quoted.ends_with("\n100"));
    }
}
