//! What a client is willing to read.

use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderName};

/// The types in which a graph is sent; the bytes are the same.
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

/// How much a client wants something, in thousandths.
type Weight = u16;

const MOST: Weight = 1000;

/// How exactly a client names something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precision {
    Anything,
    Group,
    Exact,
}

/// The type to send, or `None` if the client reads neither. Whoever does not say gets the
/// protocol's own type, and whoever reads anything plain JSON.
pub(super) fn media_type(headers: &HeaderMap) -> Option<MediaType> {
    let wanted: Vec<(&str, Weight)> = members(headers, &ACCEPT).collect();
    if wanted.is_empty() {
        // Members that make no sense were meant to say something.
        let silent =
            headers.get_all(ACCEPT).iter().all(|value| value.as_bytes().trim_ascii().is_empty());
        return silent.then_some(MediaType::CincinnatiV1);
    }
    let (json, own) = (weigh(MediaType::Json, &wanted), weigh(MediaType::CincinnatiV1, &wanted));
    let better = match own.1.cmp(&json.1) {
        std::cmp::Ordering::Equal if own.0 == Some(Precision::Exact) => MediaType::CincinnatiV1,
        std::cmp::Ordering::Greater => MediaType::CincinnatiV1,
        _ => MediaType::Json,
    };
    (own.1.max(json.1) > 0).then_some(better)
}

/// How much a type is wanted, and by which kind of range: the most precise one counts.
fn weigh(offered: MediaType, wanted: &[(&str, Weight)]) -> (Option<Precision>, Weight) {
    let precision = |range: &str| match range {
        "*" | "*/*" => Some(Precision::Anything),
        "application/*" => Some(Precision::Group),
        _ => range.eq_ignore_ascii_case(offered.name()).then_some(Precision::Exact),
    };
    let fitting = wanted.iter().filter_map(|(range, weight)| Some((precision(range)?, *weight)));
    fitting.max().map_or((None, 0), |(precision, weight)| (Some(precision), weight))
}

/// Whether the client likes gzip at least as much as what is not compressed.
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

/// The members of a list with their weights, without other parameters; what makes no sense is
/// left out.
fn members<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = (&'a str, Weight)> {
    let lists = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).filter_map(|member| {
        let mut parts = member.split(';').map(str::trim);
        let value = parts.next().filter(|value| !value.is_empty())?;
        let mut weights = parts.filter_map(|parameter| {
            let (name, weight) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then(|| weight.trim())
        });
        Some((value, weights.next_back().map_or(Some(MOST), parse_weight)?))
    })
}

/// `0`, `1`, or one of them with up to three digits after the point.
fn parse_weight(text: &str) -> Option<Weight> {
    let (whole, digits) = text.split_once('.').unwrap_or((text, ""));
    if digits.len() > 3 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let thousandths: Weight = format!("{digits:0<3}").parse().ok()?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(MOST),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    const OWN: &str = "application/vnd.redhat.cincinnati.v1+json";

    fn with(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_bytes(value.as_bytes()).unwrap())])
    }

    #[test]
    fn the_type_is_what_the_client_likes_best() {
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
    fn gzip_is_sent_to_those_who_like_it() {
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
    fn weights_are_read_as_written() {
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
            assert_eq!(parse_weight(text), expected, "{text}");
        }
    }
}
