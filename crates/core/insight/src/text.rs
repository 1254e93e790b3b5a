//! Durations in reports, rounded for readers, and arguments of commands.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Durations above this are rounded to minutes.
pub(crate) const LONG_DURATION: SignedDuration = SignedDuration::from_mins(10);

/// Duration as text: `1h5m`, `45s`, `1h0m10s`, and `now` for zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurationText(
    /// Seconds.
    pub i64,
);

impl fmt::Display for DurationText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.unsigned_abs();
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match (hours, minutes, seconds) {
            (0, 0, 0) => f.write_str("now"),
            (0, 0, _) => write!(f, "{seconds}s"),
            (0, _, 0) => write!(f, "{minutes}m"),
            (0, _, _) => write!(f, "{minutes}m{seconds}s"),
            (_, 0, 0) => write!(f, "{hours}h"),
            (_, _, 0) => write!(f, "{hours}h{minutes}m"),
            _ => write!(f, "{hours}h{minutes}m{seconds}s"),
        }
    }
}

/// Whole seconds; whole minutes above [`LONG_DURATION`].
pub(crate) fn rounded(length: SignedDuration) -> i64 {
    if length > LONG_DURATION { to_minutes(length) } else { to_seconds(length) }
}

/// Nearest minute, in seconds.
pub(crate) fn to_minutes(length: SignedDuration) -> i64 {
    away_from_zero(length, SignedDuration::from_secs(30)).as_secs() / 60 * 60
}

/// Nearest second.
fn to_seconds(length: SignedDuration) -> i64 {
    away_from_zero(length, SignedDuration::from_millis(500)).as_secs()
}

fn away_from_zero(length: SignedDuration, half: SignedDuration) -> SignedDuration {
    length.saturating_add(if length.is_negative() { -half } else { half })
}

/// Complete seconds since a time.
pub(crate) fn seconds_since(since: Option<Timestamp>, now: Timestamp) -> Option<i64> {
    since.map(|since| now.duration_since(since).as_secs())
}

/// Time of an API field.
pub(crate) fn time(time: Option<&Time>) -> Option<Timestamp> {
    time.map(|Time(time)| *time)
}

/// Text as one word of a POSIX shell.
pub struct ShellWord<'a>(pub &'a str);

impl fmt::Display for ShellWord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_harmless = |char: char| char.is_ascii_alphanumeric() || "-._:/@+,=%".contains(char);
        if !self.0.is_empty() && self.0.chars().all(is_harmless) {
            return f.write_str(self.0);
        }
        write!(f, "'{}'", self.0.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_text_omits_trailing_zero_units() {
        for (seconds, text) in [
            (0, "now"),
            (1, "1s"),
            (60, "1m"),
            (61, "1m1s"),
            (3600, "1h"),
            (3610, "1h0m10s"),
            (3900, "1h5m"),
            (86_940, "24h9m"),
            (-90, "-1m30s"),
        ] {
            assert_eq!(DurationText(seconds).to_string(), text);
        }
        assert!(!DurationText(i64::MIN).to_string().is_empty());
    }

    #[test]
    fn rounded_long_duration_is_whole_minutes() {
        let rounded = |seconds, millis| rounded(SignedDuration::new(seconds, millis * 1_000_000));
        assert_eq!(rounded(89, 400), 89);
        assert_eq!(rounded(89, 500), 90);
        assert_eq!(rounded(600, 0), 600);
        assert_eq!(rounded(600, 1), 600);
        assert_eq!(rounded(629, 0), 600);
        assert_eq!(rounded(630, 0), 660);
        assert_eq!(rounded(-700, 0), -700);
        assert_eq!(rounded(629, 999), 600);
        assert_eq!(to_minutes(SignedDuration::from_secs(-91)), -120);
        assert_eq!(to_minutes(SignedDuration::MIN), i64::MIN / 60 * 60);
    }

    #[test]
    fn shell_word_is_one_word_for_sh() {
        for (text, word) in [
            ("stable-5.2", "stable-5.2"),
            ("OperatorWillNotRun-team:etcd.v1", "OperatorWillNotRun-team:etcd.v1"),
            ("", "''"),
            ("A;curl x|sh", "'A;curl x|sh'"),
            ("$(id)", "'$(id)'"),
            ("two words", "'two words'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(ShellWord(text).to_string(), word);
        }
    }
}
