//! In which form a client wants its answer, by the header `Accept`.

use http::HeaderMap;
use http::header::{ACCEPT, USER_AGENT};

use crate::api::{Query, Refusal};

/// Longer headers are no wishes but attacks; `kubectl` sends 200 bytes.
const MAX_LENGTH: usize = 4096;

/// Programs whose answers people read.
const READ_BY_PEOPLE: [&str; 3] = ["curl", "Wget", "Mozilla/5.0"];

const DISCOVERY: &str = "APIGroupDiscoveryList";

/// In which form a client wants its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) syntax: Syntax,
    pub(super) form: Form,
    pub(super) pretty: bool,
}

/// How it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Syntax {
    #[default]
    Json,
    Yaml,
}

impl Syntax {
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
        }
    }
}

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// What was asked for.
    #[default]
    Itself,
    /// What `kubectl get` prints.
    Table,
    /// The metadata alone.
    Partial,
    /// The metadata of several objects alone.
    PartialList,
    /// All of discovery at once.
    Aggregated,
}

/// The first of the client's wishes that can be fulfilled.
pub(super) fn negotiate(headers: &HeaderMap, query: &Query) -> Result<Accepted, Refusal> {
    let pretty = pretty(headers, query);
    let accept = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let accept = accept.collect::<Vec<_>>().join(",");
    if accept.trim().is_empty() {
        return Ok(Accepted { pretty, ..Accepted::default() });
    }
    if accept.len() > MAX_LENGTH {
        return Err(not_acceptable());
    }
    let mut wishes: Vec<_> = accept.split(',').map(Wish::parse).collect();
    // A stable sort: equally wanted ones stay in the order of the header.
    wishes.sort_by(|left, right| right.quality.total_cmp(&left.quality));
    let fulfilled = wishes.iter().find_map(Wish::fulfilled);
    let (syntax, form) = fulfilled.ok_or_else(not_acceptable)?;
    Ok(Accepted { syntax, form, pretty })
}

fn pretty(headers: &HeaderMap, query: &Query) -> bool {
    if let Some(word) = query.get("pretty") {
        return !matches!(word, "false" | "0");
    }
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    agent.is_some_and(|agent| READ_BY_PEOPLE.iter().any(|it| agent.starts_with(it)))
}

fn not_acceptable() -> Refusal {
    let message = "only the following media types are accepted: application/json, application/yaml";
    Refusal::new(406, "NotAcceptable", message)
}

/// One of the alternatives in an `Accept` header.
struct Wish<'a> {
    media_type: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f64,
}

impl<'a> Wish<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
        let quality = parameters.iter().find(|(name, _)| *name == "q");
        let quality = quality.and_then(|(_, value)| value.parse().ok()).unwrap_or(1.0);
        Self { media_type, parameters, quality }
    }

    fn parameter(&self, name: &str) -> &str {
        let found = self.parameters.iter().find(|(key, _)| *key == name);
        found.map_or("", |(_, value)| value)
    }

    fn fulfilled(&self) -> Option<(Syntax, Form)> {
        let syntax = match self.media_type {
            "application/json" | "application/*" | "*/*" => Syntax::Json,
            "application/yaml" => Syntax::Yaml,
            _ => return None,
        };
        let form = match (self.parameter("as"), self.parameter("g"), self.parameter("v")) {
            ("", ..) => Form::Itself,
            ("Table", "meta.k8s.io", "v1") => Form::Table,
            ("PartialObjectMetadata", "meta.k8s.io", "v1") => Form::Partial,
            ("PartialObjectMetadataList", "meta.k8s.io", "v1") => Form::PartialList,
            (DISCOVERY, "apidiscovery.k8s.io", "v2") => Form::Aggregated,
            _ => return None,
        };
        Some((syntax, form))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn negotiated(accept: &'static str) -> Result<(Syntax, Form), String> {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
        let accepted = negotiate(&headers, &Query::default());
        accepted.map(|it| (it.syntax, it.form)).map_err(|refusal| refusal.message)
    }

    #[test]
    fn the_first_wish_that_can_be_fulfilled() {
        for (accept, expected) in [
            ("", (Syntax::Json, Form::Itself)),
            ("*/*", (Syntax::Json, Form::Itself)),
            ("application/yaml", (Syntax::Yaml, Form::Itself)),
            ("application/json;q=0.5, application/yaml", (Syntax::Yaml, Form::Itself)),
            ("application/vnd.kubernetes.protobuf,application/json", (Syntax::Json, Form::Itself)),
            ("text/html, */*;q=0.1", (Syntax::Json, Form::Itself)),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                (Syntax::Json, Form::Table),
            ),
            (
                "application/json;as=Table;g=meta.k8s.io;v=v1beta9,application/json",
                (Syntax::Json, Form::Itself),
            ),
            (
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
                (Syntax::Json, Form::Partial),
            ),
            (
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
                (Syntax::Json, Form::Aggregated),
            ),
        ] {
            assert_eq!(negotiated(accept), Ok(expected), "{accept:?}");
        }
    }

    #[test]
    fn what_cannot_be_fulfilled_is_said() {
        for accept in [
            "text/html",
            "application/vnd.kubernetes.protobuf",
            "application/json;as=Table;v=v2;g=meta.k8s.io",
            "application/json;as=Foo;v=v1;g=meta.k8s.io",
        ] {
            let message =
                "only the following media types are accepted: application/json, application/yaml";
            assert_eq!(negotiated(accept), Err(message.to_owned()), "{accept:?}");
        }
    }

    #[test]
    fn people_get_it_pretty() {
        for (agent, query, expected) in [
            ("curl/8", "", true),
            ("curl/8", "pretty=false", false),
            ("kubectl/v1.32", "", false),
            ("kubectl/v1.32", "pretty=true", true),
        ] {
            let headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(agent))]);
            assert_eq!(pretty(&headers, &Query::parse(query)), expected, "{agent} {query}");
        }
    }
}
