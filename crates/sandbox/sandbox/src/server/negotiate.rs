//! Content negotiation by the `Accept` header.

use http::HeaderMap;
use http::header::{ACCEPT, USER_AGENT};

use crate::api::{ApiResult, QueryParams, StatusError};

/// Maximum length of the header; `kubectl` sends 200 bytes.
const MAX_ACCEPT_LENGTH: usize = 4096;

/// User agents of tools whose output people read, so that it is indented.
const PRETTY_USER_AGENTS: [&str; 3] = ["curl", "Wget", "Mozilla/5.0"];

const DISCOVERY_KIND: &str = "APIGroupDiscoveryList";

/// The negotiated response format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ResponseFormat {
    pub(super) syntax: Syntax,
    pub(super) representation: Representation,
    pub(super) pretty: bool,
}

/// The serialization.
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

/// The representation of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Representation {
    /// The object or list itself.
    #[default]
    Full,
    /// A `Table`, as `kubectl get` prints it.
    Table,
    /// A `PartialObjectMetadata`.
    Partial,
    /// A `PartialObjectMetadataList`.
    PartialList,
    /// An `APIGroupDiscoveryList`.
    AggregatedDiscovery,
}

/// The first supported alternative of the `Accept` header.
pub(super) fn negotiate(headers: &HeaderMap, query: &QueryParams) -> ApiResult<ResponseFormat> {
    let pretty = pretty(headers, query);
    let accept = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let accept = accept.collect::<Vec<_>>().join(",");
    if accept.trim().is_empty() {
        return Ok(ResponseFormat { pretty, ..ResponseFormat::default() });
    }
    if accept.len() > MAX_ACCEPT_LENGTH {
        return Err(not_acceptable());
    }
    let mut alternatives: Vec<_> = accept.split(',').map(Alternative::parse).collect();
    // The sort is stable: alternatives of equal quality keep their order.
    alternatives.sort_by(|left, right| right.quality.total_cmp(&left.quality));
    let supported = alternatives.iter().find_map(Alternative::supported);
    let (syntax, representation) = supported.ok_or_else(not_acceptable)?;
    Ok(ResponseFormat { syntax, representation, pretty })
}

fn pretty(headers: &HeaderMap, query: &QueryParams) -> bool {
    if let Some(word) = query.get("pretty") {
        return !matches!(word, "false" | "0");
    }
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    agent.is_some_and(|agent| PRETTY_USER_AGENTS.iter().any(|it| agent.starts_with(it)))
}

fn not_acceptable() -> StatusError {
    let message = "only the following media types are accepted: application/json, application/yaml";
    StatusError::new(406, "NotAcceptable", message)
}

/// An alternative in an `Accept` header.
struct Alternative<'a> {
    media_type: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f64,
}

impl<'a> Alternative<'a> {
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

    fn supported(&self) -> Option<(Syntax, Representation)> {
        let syntax = match self.media_type {
            "application/json" | "application/*" | "*/*" => Syntax::Json,
            "application/yaml" => Syntax::Yaml,
            _ => return None,
        };
        let representation = match (self.parameter("as"), self.parameter("g"), self.parameter("v"))
        {
            ("", ..) => Representation::Full,
            ("Table", "meta.k8s.io", "v1") => Representation::Table,
            ("PartialObjectMetadata", "meta.k8s.io", "v1") => Representation::Partial,
            ("PartialObjectMetadataList", "meta.k8s.io", "v1") => Representation::PartialList,
            (DISCOVERY_KIND, "apidiscovery.k8s.io", "v2") => Representation::AggregatedDiscovery,
            _ => return None,
        };
        Some((syntax, representation))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn negotiated(accept: &'static str) -> Result<(Syntax, Representation), String> {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
        let format = negotiate(&headers, &QueryParams::default());
        format.map(|it| (it.syntax, it.representation)).map_err(|error| error.message)
    }

    #[test]
    fn negotiate_returns_first_supported_alternative() {
        use Representation::{AggregatedDiscovery, Full, Partial, Table};
        use Syntax::{Json, Yaml};

        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        let unknown_table = "application/json;as=Table;g=meta.k8s.io;v=v1beta9,application/json";
        let partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let discovery =
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
        for (accept, expected) in [
            ("", (Json, Full)),
            ("*/*", (Json, Full)),
            ("application/yaml", (Yaml, Full)),
            ("application/json;q=0.5, application/yaml", (Yaml, Full)),
            ("application/vnd.kubernetes.protobuf,application/json", (Json, Full)),
            ("text/html, */*;q=0.1", (Json, Full)),
            (table, (Json, Table)),
            (unknown_table, (Json, Full)),
            (partial, (Json, Partial)),
            (discovery, (Json, AggregatedDiscovery)),
        ] {
            assert_eq!(negotiated(accept), Ok(expected), "{accept:?}");
        }
    }

    #[test]
    fn pretty_by_user_agent_and_query() {
        for (agent, query, expected) in [
            ("curl/8", "", true),
            ("curl/8", "pretty=false", false),
            ("kubectl/v1.32", "", false),
            ("kubectl/v1.32", "pretty=true", true),
        ] {
            let headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(agent))]);
            assert_eq!(pretty(&headers, &QueryParams::parse(query)), expected, "{agent} {query}");
        }
    }
}
