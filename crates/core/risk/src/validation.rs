//! Validation of published risks against the ClusterVersion API.

use std::fmt;

use fairway_api::limits;

use crate::risk::Risk;
use crate::text;

/// Bytes of a message. Real ones stay below 1 KiB; a status stores hundreds of them.
const MAX_MESSAGE_BYTES: usize = 8 << 10;

/// Rules of one risk; real ones have one or two.
const MAX_RULES: usize = 16;

/// Characters quoted of an invalid value.
const MAX_QUOTED_CHARS: usize = 80;

/// Reason why the API cannot store a risk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RiskDefect {
    Missing(&'static str),
    TooLong { field: &'static str, length: usize, limit: usize },
    NotAName(String),
    NotAUri(String),
    TooManyRules(usize),
}

impl fmt::Display for RiskDefect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(field) => write!(f, "it has no {field}"),
            Self::TooLong { field, length, limit } => {
                write!(f, "its {field} has {length} bytes; the limit is {limit} bytes")
            }
            Self::NotAName(name) => {
                write!(f, "its name {:?} is not CamelCase", text::truncate(name, MAX_QUOTED_CHARS))
            }
            Self::NotAUri(url) => {
                write!(f, "its url {:?} is not a URI", text::truncate(url, MAX_QUOTED_CHARS))
            }
            Self::TooManyRules(count) => {
                write!(f, "it has {count} rules; the limit is {MAX_RULES}")
            }
        }
    }
}

/// All reasons why the API, or a status with hundreds of risks, cannot store a risk.
pub(crate) fn defects(risk: &Risk) -> Vec<RiskDefect> {
    let rules = risk.matching_rules.len();
    let too_many_rules = (rules > MAX_RULES).then_some(RiskDefect::TooManyRules(rules));
    [name_defect(&risk.name), message_defect(&risk.message), url_defect(&risk.url), too_many_rules]
        .into_iter()
        .flatten()
        .collect()
}

pub(crate) fn name_defect(name: &str) -> Option<RiskDefect> {
    size_defect("name", name, limits::RISK_NAME)
        .or_else(|| (!is_name(name)).then(|| RiskDefect::NotAName(name.to_owned())))
}

pub(crate) fn message_defect(message: &str) -> Option<RiskDefect> {
    size_defect("message", message, MAX_MESSAGE_BYTES)
}

pub(crate) fn url_defect(url: &str) -> Option<RiskDefect> {
    size_defect("url", url, limits::URL)
        .or_else(|| (!is_uri(url)).then(|| RiskDefect::NotAUri(url.to_owned())))
}

fn size_defect(field: &'static str, text: &str, limit: usize) -> Option<RiskDefect> {
    if text.trim().is_empty() {
        return Some(RiskDefect::Missing(field));
    }
    (text.len() > limit).then_some(RiskDefect::TooLong { field, length: text.len(), limit })
}

/// Whether a name can be used on a command line: names are passed in lists with commas, and a
/// trailing dash removes a name from the list.
fn is_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(legal)
        && !name.ends_with(['-', ':'])
}

/// Whether every API server accepts a text as a URI: RFC 3986 with a scheme, without parts that
/// implementations parse differently.
pub(crate) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let in_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte);
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(in_scheme)
        && !rest.is_empty()
        && rest.bytes().all(is_uri_byte)
        && percent_signs_are_escapes(rest)
        && rest.strip_prefix("//").is_none_or(has_valid_authority)
}

fn is_uri_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&'()*+,;=%".contains(&byte)
}

fn percent_signs_are_escapes(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|digit| digit.is_ascii_hexdigit()))
}

/// Whether the authority is a host with an optional port. API servers parse a `#` before the path
/// as part of the host.
fn has_valid_authority(text: &str) -> bool {
    let authority = text.split(['/', '?']).next().unwrap_or_default();
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    let in_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    !host.is_empty()
        && host.bytes().all(in_host)
        && port.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_defect_rejects_invalid_names() {
        let longest = "A".repeat(256);
        for name in ["A", "AWSOldBootImages", "AdminAck-ack-4.18-foo", "Alert_2", &longest] {
            assert_eq!(name_defect(name), None, "{name}");
        }
        let too_long = "A".repeat(257);
        for name in ["", " ", "A B", "A,B", "-A", "1A", "A-", "Ä", "A\n", "a/b", &too_long] {
            assert!(name_defect(name).is_some(), "{name:?}");
        }
    }

    #[test]
    fn is_uri_accepts_portable_uris_only() {
        for uri in [
            "https://example.com",
            "https://example.com:8443/a?b=c#d",
            "https://bugzilla.redhat.com/show_bug.cgi?id=1941840#c33",
            "https://example.com/a%20b",
            "graph-data:blocked-edges/4.7.4.yaml",
        ] {
            assert!(is_uri(uri), "{uri}");
        }
        for uri in [
            "",
            "example.com",
            "/docs",
            ":x",
            "https:",
            "https://",
            "https:///path",
            "https://exa mple.com/",
            "https://example.com/\n",
            "https://example.com/%zz",
            "https://example.com:port/",
            "https://example.com#c",
            "https://example.com\\x",
            "1a://x",
            "https://exämple.com/",
        ] {
            assert!(!is_uri(uri), "{uri:?}");
        }
    }
}
