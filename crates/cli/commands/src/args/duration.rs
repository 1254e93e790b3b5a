//! Durations as arguments.

use std::time::Duration;

use jiff::SignedDuration;

/// Maximum duration: the current time plus this value is still a valid date.
const MAX_DURATION: Duration = Duration::from_hours(10 * 365 * 24);

/// Parses a duration such as `30s`, `5m` or `1h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok());
    match parsed {
        Some(time) if time <= MAX_DURATION => Ok(time),
        Some(_) => Err("too long: the maximum is 87600h (ten years)".to_owned()),
        None => Err("not a duration such as 30s, 5m or 1h".to_owned()),
    }
}

/// Parses a non-zero duration; zero would busy-loop.
pub(super) fn some_time(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time.is_zero() {
        Err("too short: the duration must be positive".to_owned())
    } else {
        Ok(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_of_invalid_text_is_refused() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        assert_eq!(some_time("5m"), Ok(Duration::from_mins(5)));
        let refused = ["", "5", "-5s", "soon"].map(|text| duration(text).unwrap_err());
        insta::assert_snapshot!(refused[0], @"not a duration such as 30s, 5m or 1h");
        assert!(refused.iter().all(|one| *one == refused[0]));
        assert_eq!(duration("87600h"), Ok(MAX_DURATION));
        for text in ["87601h", "9223372036854775807s"] {
            insta::allow_duplicates! {
                insta::assert_snapshot!(duration(text).unwrap_err(), @"too long: the maximum is 87600h (ten years)");
            }
        }
        insta::assert_snapshot!(some_time("0s").unwrap_err(), @"too short: the duration must be positive");
    }
}
