//! Content negotiation: media types, codings, entity tags.

use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderName, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue};

/// Media types of graphs; the bytes are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaType {
    Json,
    CincinnatiV1,
}

impl MediaType {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::CincinnatiV1 => "application/vnd.redhat.cincinnati.v1+json",
        }
    }
}

/// Quality value in thousandths (RFC 9110).
type Quality = u16;

const MAX_QUALITY: Quality = 1000;

/// Precision of a media range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precision {
    Anything,
    Group,
    Exact,
}

/// The media type to send; `None` if the client accepts neither. Without `Accept`, it is the type
/// of the protocol; for wildcards, JSON.
pub(super) fn media_type(headers: &HeaderMap) -> Option<MediaType> {
    let selection: Vec<(&str, Quality)> = members(headers, &ACCEPT).collect();
    if selection.is_empty() {
        // A header with only invalid members is not an absent header.
        let silent =
            headers.get_all(ACCEPT).iter().all(|value| value.as_bytes().trim_ascii().is_empty());
        return silent.then_some(MediaType::CincinnatiV1);
    }
    let (json, own) =
        (quality(MediaType::Json, &selection), quality(MediaType::CincinnatiV1, &selection));
    let better = match own.1.cmp(&json.1) {
        std::cmp::Ordering::Equal if own.0 == Some(Precision::Exact) => MediaType::CincinnatiV1,
        std::cmp::Ordering::Greater => MediaType::CincinnatiV1,
        _ => MediaType::Json,
    };
    (own.1.max(json.1) > 0).then_some(better)
}

/// The quality of a media type and the range that determines it: the most precise one.
fn quality(offered: MediaType, selection: &[(&str, Quality)]) -> (Option<Precision>, Quality) {
    let precision = |range: &str| match range {
        "*" | "*/*" => Some(Precision::Anything),
        "application/*" => Some(Precision::Group),
        _ => range.eq_ignore_ascii_case(offered.name()).then_some(Precision::Exact),
    };
    let fitting = selection.iter().filter_map(|(range, weight)| Some((precision(range)?, *weight)));
    fitting.max().map_or((None, 0), |(precision, weight)| (Some(precision), weight))
}

/// Whether the client accepts gzip with at least the quality of the identity coding.
pub(super) fn gzip(headers: &HeaderMap) -> bool {
    let (mut gzip, mut anything, mut identity) = (None, None, 0);
    for (coding, weight) in members(headers, &ACCEPT_ENCODING) {
        if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") {
            gzip = Some(weight);
        } else if coding == "*" {
            anything = Some(weight);
        } else if coding.eq_ignore_ascii_case("identity") {
            identity = weight;
        }
    }
    let gzip = gzip.or(anything).unwrap_or(0);
    gzip > 0 && gzip >= identity
}

/// The members of a list with their quality, without other parameters. Invalid members are ignored.
fn members<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = (&'a str, Quality)> {
    let lists = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).filter_map(|member| {
        let mut parts = member.split(';').map(str::trim);
        let value = parts.next().filter(|value| !value.is_empty())?;
        let mut weights = parts.filter_map(|parameter| {
            let (name, weight) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then(|| weight.trim())
        });
        Some((value, weights.next_back().map_or(Some(MAX_QUALITY), parse_quality)?))
    })
}

/// Parses a quality value: `0`, `1`, or one of them with up to three decimals.
fn parse_quality(text: &str) -> Option<Quality> {
    let (whole, digits) = text.split_once('.').unwrap_or((text, ""));
    if digits.len() > 3 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let thousandths: Quality = format!("{digits:0<3}").parse().ok()?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(MAX_QUALITY),
        _ => None,
    }
}

/// Whether `If-None-Match` contains the entity tag.
pub(super) fn matches_etag(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let named = headers.get_all(IF_NONE_MATCH).into_iter();
    named.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).any(|named| {
        let named = named.trim_ascii();
        named == b"*" || named.strip_prefix(b"W/").unwrap_or(named) == tag.as_bytes()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "application/vnd.redhat.cincinnati.v1+json";

    fn with(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_bytes(value.as_bytes()).unwrap())])
    }

    #[test]
    fn media_type_selects_highest_quality() {
        let (json, own) = (Some(MediaType::Json), Some(MediaType::CincinnatiV1));
        assert_eq!(media_type(&HeaderMap::new()), own);
        for (accept, expected) in [
            ("", own),
            ("application/json", json),
            ("*", json),
            ("*/*", json),
            ("application/*", json),
            (OWN, own),
            ("Application/JSON", json),
            ("application/json, text/plain", json),
            ("application/json;q=0.9", json),
            ("text/html, */*;q=0.1", json),
            (&format!("{OWN}, application/json"), own),
            (&format!("application/json;q=0.5, {OWN};q=0.4"), json),
            (&format!("application/json;q=0.4, {OWN};q=0.5"), own),
            (&format!("*/*, {OWN};q=0"), json),
            ("*/*, application/json;q=0", own),
            ("application/json; charset=utf-8", json),
            ("text/html", None),
            ("application/json;q=0", None),
            ("*/*;q=0.000", None),
            ("application/json;q=high", None),
            ("application/jsön", None),
            (";;,,", None),
        ] {
            assert_eq!(media_type(&with(ACCEPT, accept)), expected, "{accept}");
        }
    }

    #[test]
    fn gzip_with_accepting_client_returns_true() {
        for (accept, expected) in [
            ("gzip", true),
            ("GZIP", true),
            ("deflate, gzip;q=1.0, *;q=0.5", true),
            ("*", true),
            ("br, *;q=0.1", true),
            ("gzip;q=0", false),
            ("gzip;q=0.5, identity", false),
            ("identity", false),
            ("gzip;q=0, *", false),
            ("br", false),
            ("", false),
        ] {
            assert_eq!(gzip(&with(ACCEPT_ENCODING, accept)), expected, "{accept}");
        }
    }

    #[test]
    fn parse_quality_with_invalid_text_returns_none() {
        for (text, expected) in [
            ("1", Some(1000)),
            ("1.000", Some(1000)),
            ("0.5", Some(500)),
            ("0.05", Some(50)),
            ("0", Some(0)),
            ("0.", Some(0)),
            ("1.001", None),
            ("0.1234", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(parse_quality(text), expected, "{text}");
        }
    }

    #[test]
    fn matches_etag_finds_tag_in_list() {
        let tag = HeaderValue::from_static("\"a1\"");
        for (value, expected) in [
            ("\"a1\"", true),
            ("W/\"a1\"", true),
            ("\"b2\" , \"a1\"", true),
            ("*", true),
            ("\"b2\"", false),
            ("a1", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static(value))]);
            assert_eq!(matches_etag(&headers, &tag), expected, "{value}");
        }
        assert!(!matches_etag(&HeaderMap::new(), &tag));
    }
}
