//! What the API takes as a risk, and what of a published one it would refuse.

use std::fmt;

use fairway_api::limits;

use crate::risk::Risk;
use crate::text;

/// Bytes of a message. Real ones stay below 1 KiB; a status has to hold hundreds of them.
const MAX_MESSAGE: usize = 8 << 10;

/// Rules of one risk; real ones have one or two.
const MAX_RULES: usize = 16;

/// Characters quoted of something illegal.
const QUOTED: usize = 80;

/// Why a risk cannot be stored as it was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    Missing(&'static str),
    TooLong { what: &'static str, length: usize, most: usize },
    NotAName(String),
    NotAUri(String),
    TooManyRules(usize),
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(what) => write!(f, "it has no {what}"),
            Self::TooLong { what, length, most } => {
                write!(f, "its {what} has {length} bytes; the limit is {most} bytes")
            }
            Self::NotAName(name) => {
                write!(f, "its name {:?} is not CamelCase", text::excerpt(name, QUOTED))
            }
            Self::NotAUri(url) => {
                write!(f, "its url {:?} is not a URI", text::excerpt(url, QUOTED))
            }
            Self::TooManyRules(count) => {
                write!(f, "it has {count} rules; the limit is {MAX_RULES}")
            }
        }
    }
}

/// Everything for which the API, or a status with hundreds of risks in it, has no room.
pub(crate) fn defects(risk: &Risk) -> Vec<Defect> {
    let rules = risk.matching_rules.len();
    let too_many_rules = (rules > MAX_RULES).then_some(Defect::TooManyRules(rules));
    [name_defect(&risk.name), message_defect(&risk.message), url_defect(&risk.url), too_many_rules]
        .into_iter()
        .flatten()
        .collect()
}

pub(crate) fn name_defect(name: &str) -> Option<Defect> {
    size_defect("name", name, limits::RISK_NAME)
        .or_else(|| (!is_name(name)).then(|| Defect::NotAName(name.to_owned())))
}

pub(crate) fn message_defect(message: &str) -> Option<Defect> {
    size_defect("message", message, MAX_MESSAGE)
}

pub(crate) fn url_defect(url: &str) -> Option<Defect> {
    size_defect("url", url, limits::URL)
        .or_else(|| (!is_uri(url)).then(|| Defect::NotAUri(url.to_owned())))
}

fn size_defect(what: &'static str, text: &str, most: usize) -> Option<Defect> {
    if text.trim().is_empty() {
        return Some(Defect::Missing(what));
    }
    (text.len() > most).then_some(Defect::TooLong { what, length: text.len(), most })
}

/// A name has to survive a command line: names are accepted in lists with commas, and a dash at
/// the end takes one out of the list.
fn is_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(legal)
        && !name.ends_with(['-', ':'])
}

/// Whether every API server takes the text where a URI is wanted: RFC 3986 with a scheme, and
/// nothing on which its readers disagree.
pub(crate) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let in_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte);
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(in_scheme)
        && !rest.is_empty()
        && rest.bytes().all(is_uri_byte)
        && percent_signs_are_escapes(rest)
        && rest.strip_prefix("//").is_none_or(has_good_authority)
}

fn is_uri_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&'()*+,;=%".contains(&byte)
}

fn percent_signs_are_escapes(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|digit| digit.is_ascii_hexdigit()))
}

/// A host, and a port where there is one; API servers take a `#` before the path for a part of
/// the host.
fn has_good_authority(text: &str) -> bool {
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
    fn names_that_can_be_accepted_on_a_command_line() {
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
    fn uris_that_every_api_server_takes() {
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
