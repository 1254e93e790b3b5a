//! String formats that the API server enforces; it ignores all others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::civil::Date;
use regex::Regex;

/// An enforced format with its name in the schema.
#[derive(Debug)]
pub(crate) struct Format {
    pub(crate) name: String,
    holds: fn(&str) -> bool,
}

impl Format {
    /// The format with a name, if it is enforced. Dashes in the name are ignored.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let holds = match name.replace('-', "").as_str() {
            "datetime" => is_date_time,
            "date" => is_date,
            "duration" => is_duration,
            "uri" => is_uri,
            "email" => is_email,
            "hostname" => is_hostname,
            "ipv4" => is_ipv4,
            "ipv6" => is_ipv6,
            "cidr" => is_cidr,
            "mac" => is_mac,
            "uuid" => |text: &str| UUID.is_match(text),
            "uuid3" => |text: &str| UUID.is_match(text) && version_of(text) == Some('3'),
            "uuid4" => |text: &str| is_uuid_of(text, '4'),
            "uuid5" => |text: &str| is_uuid_of(text, '5'),
            "byte" => is_base64,
            "hexcolor" => |text: &str| HEX_COLOR.is_match(text),
            "ssn" => |text: &str| SSN.is_match(text),
            "bsonobjectid" => |text: &str| OBJECT_ID.is_match(text),
            _ => return None,
        };
        Some(Self { name: name.to_owned(), holds })
    }

    pub(crate) fn holds(&self, text: &str) -> bool {
        (self.holds)(text)
    }
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$")
});
static UUID: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$")
});
static HOSTNAME: LazyLock<Regex> = LazyLock::new(|| {
    let (word, dashed) = (r"[a-zA-Z0-9\p{S}\p{L}]", r"[a-zA-Z0-9\-\p{S}\p{L}]");
    regex(&format!(
        r"^({word}(-?{word}{{0,62}})?|({word}({dashed}{{0,61}}{word})?\.)+{word}(-?{word}){{1,62}})$"
    ))
});
static DURATION: LazyLock<Regex> = LazyLock::new(|| {
    let part = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)";
    regex(&format!("^[-+]?({part})+$"))
});
static DURATION_IN_WORDS: LazyLock<Regex> = LazyLock::new(|| {
    let units = "ns|us|µs|ms|s|m|h|hr|d|w|wk|(nano|micro|milli|sec|min|hour|day|week)[a-zµ]*";
    regex(&format!(r"(?i)[0-9]+\s*({units})([^a-zµ]|$)"))
});
static SCHEME: LazyLock<Regex> = LazyLock::new(|| regex(r"^[a-zA-Z][a-zA-Z0-9+.-]*:"));
static EMAIL: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^([^<>@]*<)?[^\s<>@"(),:;\[\]\\]+@[^\s<>@"(),:;\[\]\\]+>?$"#));
static HEX_COLOR: LazyLock<Regex> = LazyLock::new(|| regex(r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"));
static SSN: LazyLock<Regex> = LazyLock::new(|| regex(r"^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"));
static OBJECT_ID: LazyLock<Regex> = LazyLock::new(|| regex(r"^[0-9a-fA-F]{24}$"));

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let Some(time) = TIME.captures(time) else { return false };
    is_date(date) && &time[1] <= "23" && &time[2] <= "59" && &time[3] <= "59"
}

/// The API server accepts a duration if one part has a known unit, and ignores the rest.
fn is_duration(text: &str) -> bool {
    text == "0" || DURATION.is_match(text) || DURATION_IN_WORDS.is_match(text)
}

/// Whether a text is a URI with a scheme, or an absolute path.
fn is_uri(text: &str) -> bool {
    let well_formed = !text.chars().any(char::is_control) && percent_signs_are_escapes(text);
    well_formed && (text.starts_with('/') || SCHEME.is_match(text)) && has_valid_authority(text)
}

fn percent_signs_are_escapes(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|digit| digit.is_ascii_hexdigit()))
}

fn has_valid_authority(text: &str) -> bool {
    let after_scheme = SCHEME.find(text).map_or("", |scheme| &text[scheme.end()..]);
    let Some(rest) = after_scheme.strip_prefix("//") else { return true };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let port = match host.rsplit_once(']') {
        Some((_, after)) => after.strip_prefix(':').unwrap_or_default(),
        None => host.split_once(':').map_or("", |(_, port)| port),
    };
    !authority.contains([' ', '"', '<', '>']) && port.bytes().all(|digit| digit.is_ascii_digit())
}

fn is_email(text: &str) -> bool {
    EMAIL.is_match(text.trim()) && text.contains('<') == text.trim().ends_with('>')
}

fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|label| label.len() <= 63) && HOSTNAME.is_match(text)
}

fn is_ipv4(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok() && text.contains('.')
}

fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let longest = match (address.parse::<Ipv4Addr>(), address.parse::<Ipv6Addr>()) {
        (Ok(_), _) => 32,
        (_, Ok(_)) => 128,
        _ => return false,
    };
    let digits = !length.is_empty() && length.bytes().all(|digit| digit.is_ascii_digit());
    digits && length.parse::<u8>().is_ok_and(|length| length <= longest)
}

fn is_mac(text: &str) -> bool {
    let (separator, width) = match text {
        text if text.contains(':') => (':', 2),
        text if text.contains('-') => ('-', 2),
        _ => ('.', 4),
    };
    let parts: Vec<&str> = text.split(separator).collect();
    let hexadecimal =
        |part: &&str| part.len() == width && part.bytes().all(|digit| digit.is_ascii_hexdigit());
    [6, 8, 20].contains(&(parts.len() * width / 2)) && parts.iter().all(hexadecimal)
}

fn version_of(uuid: &str) -> Option<char> {
    uuid.chars().filter(|&character| character != '-').nth(12)
}

fn is_uuid_of(text: &str, version: char) -> bool {
    let variant = text.chars().filter(|&character| character != '-').nth(16);
    UUID.is_match(text)
        && version_of(text) == Some(version)
        && variant.is_some_and(|variant| "89abAB".contains(variant))
}

/// The API server rejects an empty string as base64.
fn is_base64(text: &str) -> bool {
    !text.is_empty() && STANDARD.decode(text).is_ok()
}
