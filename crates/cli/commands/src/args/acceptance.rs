//! Arguments that accept a risk: name, reason and expiry.

use std::str::FromStr;

use fairway_api::limits;
use fairway_risk::AcceptanceEnd;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// Maximum length of a reason in bytes: a few sentences. All reasons share one annotation.
const MAX_REASON: usize = 1024;

/// A risk to accept, or with a trailing hyphen one to revoke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RiskChoice {
    pub(crate) name: String,
    pub(crate) accept: bool,
}

impl FromStr for RiskChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (name, accept) = match text.strip_suffix('-') {
            Some(name) => (name, false),
            None => (text, true),
        };
        let length = name.chars().count();
        match length {
            // Only when accepting: a name with spaces that is accepted already can be revoked.
            _ if accept && name.contains(char::is_whitespace) => {
                Err("risk name contains spaces; separate names with commas".to_owned())
            }
            0 => Err("risk name is missing".to_owned()),
            1..=limits::RISK_NAME => Ok(Self { name: name.to_owned(), accept }),
            _ => Err(format!(
                "risk name has {length} characters; the maximum is {}",
                limits::RISK_NAME
            )),
        }
    }
}

/// Expiry of an acceptance.
#[derive(Clone, Debug)]
pub(crate) enum UntilChoice {
    /// At a time, or at the end of a day.
    At(AcceptanceEnd),
    /// After a duration from now.
    After(Span),
}

impl FromStr for UntilChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(until) = AcceptanceEnd::try_from(text.to_owned()) {
            return Ok(Self::At(until));
        }
        let span = text.parse::<Span>().ok().filter(|span| span.is_positive());
        span.map(Self::After).ok_or_else(|| {
            "not a time such as 2026-12-31, 2026-12-31T18:00:00Z, 12h or 90d".to_owned()
        })
    }
}

impl UntilChoice {
    /// Expiry as it is stored.
    pub(crate) fn from(&self, now: Timestamp) -> Result<AcceptanceEnd, String> {
        match self {
            Self::At(until) => Ok(until.clone()),
            Self::After(span) => {
                let end = now.to_zoned(TimeZone::UTC).checked_add(*span);
                let end =
                    end.map_err(|_| "the expiry is too far in the future".to_owned())?.timestamp();
                let whole = Timestamp::from_second(end.as_second()).unwrap_or(end);
                AcceptanceEnd::try_from(whole.to_string()).map_err(|error| error.to_string())
            }
        }
    }
}

/// Parses the reason of an acceptance.
pub(crate) fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    match text.len() {
        0 => Err("reason is empty".to_owned()),
        1..=MAX_REASON => Ok(text.to_owned()),
        length => Err(format!("reason has {length} bytes; the maximum is {MAX_REASON}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_hyphen_revokes_a_risk() {
        for (text, name, accept) in [
            ("SlowDisks", "SlowDisks", true),
            (" SlowDisks ", "SlowDisks", true),
            ("SlowDisks-", "SlowDisks", false),
            ("InvalidRisk-0a1b", "InvalidRisk-0a1b", true),
            ("A--", "A-", false),
        ] {
            let choice = RiskChoice { name: name.to_owned(), accept };
            assert_eq!(text.parse(), Ok(choice), "{text}");
        }
        assert!("A B-".parse::<RiskChoice>().is_ok());
        for text in ["", " ", "-", " - ", "A B", "A\tB", &"A".repeat(257)] {
            assert!(text.parse::<RiskChoice>().is_err(), "{text:?}");
        }
        assert!("Ä".repeat(256).parse::<RiskChoice>().is_ok(), "characters are counted, not bytes");
    }

    #[test]
    fn expiry_is_a_day_a_time_or_a_duration() {
        let now = "2026-11-15T12:00:00.5Z".parse().unwrap();
        for (text, stored) in [
            ("2026-12-31", "2026-12-31"),
            ("2026-12-31T18:00:00+02:00", "2026-12-31T18:00:00+02:00"),
            ("12h", "2026-11-16T00:00:00Z"),
            ("90d", "2027-02-13T12:00:00Z"),
            ("2 weeks", "2026-11-29T12:00:00Z"),
            ("1mo", "2026-12-15T12:00:00Z"),
        ] {
            let until: UntilChoice = text.parse().unwrap();
            assert_eq!(until.from(now).unwrap().to_string(), stored, "{text}");
        }
        for text in ["", "soon", "-3d", "0s", "2026-13-01", "90"] {
            assert!(text.parse::<UntilChoice>().is_err(), "{text}");
        }
        let never: UntilChoice = "9000 years".parse().unwrap();
        assert!(never.from(now).is_err());
    }

    #[test]
    fn empty_or_long_reason_is_refused() {
        assert_eq!(reason(" why \n"), Ok("why".to_owned()));
        assert!(reason("  ").is_err() && reason(&"x".repeat(1025)).is_err());
    }
}
