//! Paths and query parameters of requests.

use std::borrow::Cow;

use url::form_urlencoded;

use super::response::RequestError;

/// Architecture of requests without `arch`.
const DEFAULT_ARCHITECTURE: &str = "amd64";

/// Known parameters. The last of repeated ones wins; others are ignored.
#[derive(Debug, Default)]
pub(super) struct Query<'a> {
    channel: Option<Cow<'a, str>>,
    arch: Option<Cow<'a, str>>,
    version: Option<Cow<'a, str>>,
}

impl<'a> Query<'a> {
    pub(super) fn parse(query: Option<&'a str>) -> Self {
        let mut parsed = Self::default();
        for (key, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match key.as_ref() {
                "channel" => parsed.channel = Some(value),
                "arch" => parsed.arch = Some(value),
                "version" => parsed.version = Some(value),
                _ => {}
            }
        }
        parsed
    }

    pub(super) fn channel(&self) -> Result<&str, RequestError> {
        let channel = self.channel.as_deref().ok_or(RequestError::Missing("channel"))?;
        let allowed = |byte: u8| is_plain(byte) || byte == b'-' || byte == b'.';
        check("channel", channel, allowed, r"^[0-9a-z\-\.]+$")
    }

    /// The architecture, or the default.
    pub(super) fn architecture(&self) -> Result<&str, RequestError> {
        Ok(self.given_architecture()?.unwrap_or(DEFAULT_ARCHITECTURE))
    }

    pub(super) fn given_architecture(&self) -> Result<Option<&str>, RequestError> {
        let given = self.arch.as_deref();
        given.map(|arch| check("arch", arch, is_plain, "^[0-9a-z]+$")).transpose()
    }

    pub(super) fn version(&self) -> Result<&str, RequestError> {
        self.version.as_deref().ok_or(RequestError::Missing("version"))
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn check<'a>(
    name: &'static str,
    value: &'a str,
    allowed: impl Fn(u8) -> bool,
    pattern: &'static str,
) -> Result<&'a str, RequestError> {
    if !value.is_empty() && value.bytes().all(allowed) {
        return Ok(value);
    }
    Err(RequestError::Invalid { name, value: value.to_owned(), pattern })
}

/// Endpoint of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route<'a> {
    Graph,
    V1Graph,
    Channels,
    Latest,
    GraphData,
    Signature { algorithm: &'a str, digest: &'a str, name: &'a str },
    OpenApi,
    Health,
    Ready,
    ServiceStatus,
    Metrics,
}

impl<'a> Route<'a> {
    pub(super) fn parse(prefix: &str, path: &'a str) -> Option<Self> {
        match path.strip_prefix(prefix) {
            Some("/graph") => Some(Self::Graph),
            Some("/v1/graph") => Some(Self::V1Graph),
            Some("/v1/channels") => Some(Self::Channels),
            Some("/v1/latest") => Some(Self::Latest),
            Some("/graph-data") => Some(Self::GraphData),
            Some("/openapi" | "/v1/openapi") => Some(Self::OpenApi),
            Some(rest) if rest.starts_with("/signatures/") => Self::signature(rest),
            _ => Self::parse_operations(path),
        }
    }

    fn signature(path: &'a str) -> Option<Self> {
        let (image, name) = path.strip_prefix("/signatures/")?.split_once('/')?;
        let (algorithm, digest) = image.split_once('=')?;
        Some(Self::Signature { algorithm, digest, name })
    }

    fn parse_operations(path: &str) -> Option<Self> {
        match path {
            "/healthz" | "/livez" => Some(Self::Health),
            "/readyz" => Some(Self::Ready),
            "/status" => Some(Self::ServiceStatus),
            "/metrics" => Some(Self::Metrics),
            "/openapi.json" => Some(Self::OpenApi),
            _ => None,
        }
    }

    /// Whether it is a probe, which is served even under overload.
    pub(super) fn is_probe(self) -> bool {
        matches!(self, Self::Health | Self::Ready | Self::ServiceStatus | Self::Metrics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_with_other_paths_returns_none() {
        for (path, expected) in [
            ("/api/upgrades_info/graph", Some(Route::Graph)),
            ("/api/upgrades_info/v1/graph", Some(Route::V1Graph)),
            ("/api/upgrades_info/v1/graph/", None),
            ("/api/upgrades_info/v2/graph", None),
            ("/graph", None),
            ("/healthz", Some(Route::Health)),
            ("/api/upgrades_info/healthz", None),
            (
                "/api/upgrades_info/signatures/sha256=ab/signature-1",
                Some(Route::Signature { algorithm: "sha256", digest: "ab", name: "signature-1" }),
            ),
            ("/api/upgrades_info/signatures/sha256=ab", None),
        ] {
            assert_eq!(Route::parse("/api/upgrades_info", path), expected, "{path}");
        }
    }
}
