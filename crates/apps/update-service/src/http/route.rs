//! Which path means what.

/// What a path asks for.
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
    Status,
    Metrics,
}

impl<'a> Route<'a> {
    pub(super) fn of(prefix: &str, path: &'a str) -> Option<Self> {
        match path.strip_prefix(prefix) {
            Some("/graph") => Some(Self::Graph),
            Some("/v1/graph") => Some(Self::V1Graph),
            Some("/v1/channels") => Some(Self::Channels),
            Some("/v1/latest") => Some(Self::Latest),
            Some("/graph-data") => Some(Self::GraphData),
            Some("/openapi" | "/v1/openapi") => Some(Self::OpenApi),
            Some(rest) if rest.starts_with("/signatures/") => Self::signature(rest),
            _ => Self::of_operations(path),
        }
    }

    fn signature(path: &'a str) -> Option<Self> {
        let (image, name) = path.strip_prefix("/signatures/")?.split_once('/')?;
        let (algorithm, digest) = image.split_once('=')?;
        Some(Self::Signature { algorithm, digest, name })
    }

    fn of_operations(path: &str) -> Option<Self> {
        match path {
            "/healthz" | "/livez" => Some(Self::Health),
            "/readyz" => Some(Self::Ready),
            "/status" => Some(Self::Status),
            "/metrics" => Some(Self::Metrics),
            "/openapi.json" => Some(Self::OpenApi),
            _ => None,
        }
    }

    /// Whether it is answered even when there is too much to do.
    pub(super) fn is_probe(self) -> bool {
        matches!(self, Self::Health | Self::Ready | Self::Status | Self::Metrics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_exact() {
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
            assert_eq!(Route::of("/api/upgrades_info", path), expected, "{path}");
        }
    }
}
