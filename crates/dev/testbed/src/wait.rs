//! Waiting: the one polling loop, the one clock.
#![expect(
    clippy::disallowed_methods,
    reason = "this module owns polling: components outside this process can only be asked again"
)]

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use jiff::Timestamp;

/// Short enough not to be felt after a start that takes a second, long enough not to load the
/// machine that the awaited component is starting on.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// As many lines of a log as fit on a screen below the error that quotes them.
const QUOTED_LINES: usize = 15;

/// Asks `probe` until it returns a value; an error of `probe` ends the wait.
///
/// `what` completes the sentence "waited … for": "the API server to be ready".
pub fn until<T>(
    what: &str,
    timeout: Duration,
    mut probe: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(value) = probe()? {
            return Ok(value);
        }
        if start.elapsed() >= timeout {
            bail!("timed out after {} s waiting for {what}", timeout.as_secs());
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Like [`until`], with the last lines of a component's log in the error.
pub fn until_logged<T>(
    what: &str,
    timeout: Duration,
    log: &Path,
    probe: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    until(what, timeout, probe).map_err(|error| anyhow!("{error:#}\n{}", quote(log)))
}

/// Tells how long something took.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since then.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// The time of day, for records that a person reads.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// The end of a log, introduced by its path, to stand in an error.
fn quote(log: &Path) -> String {
    match fs::read(log) {
        Ok(bytes) => {
            format!("{} ends:\n{}", log.display(), last_lines(&String::from_utf8_lossy(&bytes)))
        }
        Err(error) => format!("cannot read {}: {error}", log.display()),
    }
}

/// The last lines of a text, as many as an error may carry.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_the_wait() {
        let mut asked = 0;
        let value = until("a third question", Duration::from_secs(5), || {
            asked += 1;
            Ok((asked == 3).then_some(asked))
        });
        assert_eq!(value.unwrap(), 3);
    }

    #[test]
    fn the_error_says_what_was_awaited() {
        let error = until("Godot", Duration::ZERO, || Ok(None::<()>)).unwrap_err();
        assert_eq!(error.to_string(), "timed out after 0 s waiting for Godot");
    }

    #[test]
    fn only_the_end_of_a_log_is_quoted() {
        let text = (1..=100).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let quoted = last_lines(&text);
        assert!(quoted.starts_with("86\n") && quoted.ends_with("\n100"));
    }
}
