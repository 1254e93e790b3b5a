//! Durations and ages in the notation of kubectl.

use jiff::Timestamp;

pub(super) const UNKNOWN: &str = "<unknown>";
pub(super) const INVALID: &str = "<invalid>";

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Age of a time; `<unknown>` without a time, `<invalid>` for an invalid one.
pub fn age(time: Option<&str>, now: Timestamp) -> String {
    match time {
        None | Some("") => UNKNOWN.to_owned(),
        Some(time) => match time.parse::<Timestamp>() {
            Ok(time) => human_duration(seconds_between(time, now)),
            Err(_) => INVALID.to_owned(),
        },
    }
}

pub(super) fn seconds_between(earlier: Timestamp, later: Timestamp) -> i64 {
    later.duration_since(earlier).as_secs()
}

/// A duration with one or two units, depending on its length: `90s`, `2m5s`, `3h10m`, `2d3h`, `5d`.
pub fn human_duration(seconds: i64) -> String {
    let two = |unit: i64, name: &str, part: i64, part_name: &str| match (
        seconds / unit,
        seconds % unit / part,
    ) {
        (whole, 0) => format!("{whole}{name}"),
        (whole, rest) => format!("{whole}{name}{rest}{part_name}"),
    };
    let one = |unit: i64, name: &str| format!("{}{name}", seconds / unit);
    match seconds {
        ..-1 => INVALID.to_owned(),
        // Tolerates small clock skew.
        -1 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => one(1, "s"),
        _ if seconds < 10 * MINUTE => two(MINUTE, "m", 1, "s"),
        _ if seconds < 3 * HOUR => one(MINUTE, "m"),
        _ if seconds < 8 * HOUR => two(HOUR, "h", MINUTE, "m"),
        _ if seconds < 2 * DAY => one(HOUR, "h"),
        _ if seconds < 8 * DAY => two(DAY, "d", HOUR, "h"),
        _ if seconds < 2 * YEAR => one(DAY, "d"),
        _ if seconds < 8 * YEAR => two(YEAR, "y", DAY, "d"),
        _ => one(YEAR, "y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn human_duration_precision_depends_on_length() {
        for (seconds, expected) in [
            (i64::MIN, "<invalid>"),
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_460, "3h11m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (183_600, "2d3h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(human_duration(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn age_without_valid_time_is_unknown_or_invalid() {
        let now: Timestamp = "2026-01-01T00:05:00Z".parse().unwrap();
        assert_eq!(age(Some("2026-01-01T00:00:00Z"), now), "5m");
        assert_eq!(age(Some("2026-01-01T00:00:30.500000Z"), now), "4m29s");
        assert_eq!(age(Some("2026-01-01T02:00:00+02:00"), now), "5m");
        assert_eq!(age(Some("yesterday"), now), "<invalid>");
        assert_eq!(age(Some("2027-01-01T00:00:00Z"), now), "<invalid>");
        assert_eq!(age(Some(""), now), "<unknown>");
        assert_eq!(age(None, now), "<unknown>");
    }
}
