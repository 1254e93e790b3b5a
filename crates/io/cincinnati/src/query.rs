//! Queries to the update service.

use fairway_api::Version;
use fairway_api::cluster_version::{Architecture, ClusterVersionSpec};
use fairway_api::reason::{Reason, retrieved_updates};
use fairway_api::validate::{FieldProblemKind, uuid_problem};
use fairway_text::place;
use url::Url;

use crate::excerpt;

/// Architecture of multi-platform releases in the Cincinnati protocol.
const MULTI: &str = "multi";

/// The running release of a cluster. Unknown fields are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunningRelease {
    /// Version.
    pub version: String,
    /// Architecture in Go's spelling, or `Multi`.
    pub architecture: String,
    /// Image.
    pub image: String,
}

/// A query to the update service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphQuery {
    /// URL with all parameters.
    pub url: Url,
    /// Channel.
    pub channel: String,
    /// Version of the running release.
    pub current: Version,
    /// Whether the query is for the multi-architecture image of the same version.
    pub becomes_multi: bool,
}

impl GraphQuery {
    /// URL of the service without query and credentials.
    pub fn service(&self) -> String {
        place(&self.url)
    }

    /// Architecture in the query.
    pub fn architecture(&self) -> Option<String> {
        let mut asked = self.url.query_pairs();
        asked.find_map(|(name, value)| (name == "arch").then(|| value.into_owned()))
    }
}

/// A query that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum QueryError {
    /// No update service is configured.
    #[error("No update service is configured: set spec.upstream to its URL.")]
    NoUpstream,
    /// The URL is invalid.
    #[error("Invalid update service {text:?} in spec.upstream: not an absolute http or https URL.")]
    InvalidUri { text: String },
    /// The cluster ID is empty.
    #[error("Cannot query the update service: spec.clusterID is empty.")]
    NoId,
    /// The cluster ID is invalid.
    #[error("Cannot query the update service: spec.clusterID {problem}.")]
    InvalidId { problem: String },
    /// The architecture of the running release is unknown.
    #[error("Cannot query the update service: the architecture of the running release is unknown.")]
    NoArchitecture,
    /// The version of the running release is unknown.
    #[error("Cannot query the update service: the version of the running release is unknown.")]
    NoCurrentVersion,
    /// No channel is set.
    #[error(
        "The update channel has not been configured: set one with `fairway upgrade channel \
         CHANNEL`."
    )]
    NoChannel,
    /// The version of the running release is not semantic.
    #[error("The version of the running release, {text:?}, is not a semantic version.")]
    InvalidCurrentVersion { text: String },
}

impl QueryError {
    /// The reason for the condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::NoUpstream => retrieved_updates::NO_UPSTREAM,
            Self::InvalidUri { .. } => retrieved_updates::INVALID_URI,
            Self::NoId | Self::InvalidId { .. } => retrieved_updates::INVALID_ID,
            Self::NoArchitecture => retrieved_updates::NO_ARCHITECTURE,
            Self::NoCurrentVersion => retrieved_updates::NO_CURRENT_VERSION,
            Self::NoChannel => retrieved_updates::NO_CHANNEL,
            Self::InvalidCurrentVersion { .. } => retrieved_updates::INVALID_CURRENT_VERSION,
        }
    }
}

/// Default and override of the update service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateServices {
    /// Overrides `spec.upstream`.
    pub instead: Option<Url>,
    /// Used without `spec.upstream`.
    pub default: Option<String>,
}

impl Default for UpdateServices {
    fn default() -> Self {
        Self {
            instead: None,
            // The default of the Go operator.
            default: Some("https://api.openshift.com/api/upgrades_info/v1/graph".to_owned()),
        }
    }
}

/// Builds the query of a cluster. Problems are checked in the order of the Go operator.
pub fn build_query(
    spec: &ClusterVersionSpec,
    current: &RunningRelease,
    services: &UpdateServices,
) -> Result<GraphQuery, QueryError> {
    let mut url = service(spec, services)?;
    identity(&spec.cluster_id)?;
    let asked = architecture(spec, current).ok_or(QueryError::NoArchitecture)?;
    let version = filled(&current.version).ok_or(QueryError::NoCurrentVersion)?;
    let channel = spec.channel.as_deref().and_then(filled).ok_or(QueryError::NoChannel)?;
    let parsed = Version::parse(version)
        .map_err(|_| QueryError::InvalidCurrentVersion { text: excerpt(version).into_owned() })?;
    url.query_pairs_mut()
        .append_pair("arch", asked)
        .append_pair("channel", channel)
        .append_pair("id", &spec.cluster_id)
        .append_pair("version", version);
    Ok(GraphQuery {
        url,
        channel: channel.to_owned(),
        current: parsed,
        becomes_multi: asked == MULTI && !is_multi(&current.architecture),
    })
}

fn service(spec: &ClusterVersionSpec, services: &UpdateServices) -> Result<Url, QueryError> {
    let mut url = match &services.instead {
        Some(url) => url.clone(),
        None => named_service(spec, services)?,
    };
    url.set_fragment(None);
    Ok(url)
}

fn named_service(spec: &ClusterVersionSpec, services: &UpdateServices) -> Result<Url, QueryError> {
    let named = [&spec.upstream, &services.default];
    let text = named.into_iter().find_map(|service| filled(service.as_deref()?));
    let text = text.ok_or(QueryError::NoUpstream)?;
    let usable = |url: &Url| url.has_host() && matches!(url.scheme(), "http" | "https");
    let url = Url::parse(text).ok().filter(usable);
    url.ok_or_else(|| QueryError::InvalidUri { text: excerpt(text).into_owned() })
}

/// Existing clusters have UUIDs of all versions: only other strings are refused.
fn identity(id: &str) -> Result<(), QueryError> {
    if id.is_empty() {
        return Err(QueryError::NoId);
    }
    match uuid_problem(&excerpt(id)) {
        None | Some(FieldProblemKind::NotARandomUuid(_)) => Ok(()),
        Some(problem) => Err(QueryError::InvalidId { problem: problem.to_string() }),
    }
}

/// The requested architecture, or else that of the running release.
fn architecture<'a>(spec: &ClusterVersionSpec, current: &'a RunningRelease) -> Option<&'a str> {
    let wanted = spec.desired_update.as_ref().and_then(|update| update.architecture());
    if wanted == Some(&Architecture::Multi) || is_multi(&current.architecture) {
        return Some(MULTI);
    }
    filled(&current.architecture)
}

fn is_multi(architecture: &str) -> bool {
    architecture.eq_ignore_ascii_case(MULTI)
}

fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use fairway_api::cluster_version::Update;

    use super::*;

    const ID: &str = "5c4c9b2a-9d5c-4f0e-8d53-0d4a3b2f7a10";

    fn spec() -> ClusterVersionSpec {
        ClusterVersionSpec {
            cluster_id: ID.to_owned(),
            upstream: Some("https://updates.example/graph".to_owned()),
            channel: Some("stable-5.1".to_owned()),
            ..ClusterVersionSpec::default()
        }
    }

    fn current() -> RunningRelease {
        RunningRelease {
            version: "5.1.0".to_owned(),
            architecture: "amd64".to_owned(),
            ..RunningRelease::default()
        }
    }

    fn no_services() -> UpdateServices {
        UpdateServices { instead: None, default: None }
    }

    fn url(
        spec: &ClusterVersionSpec,
        current: &RunningRelease,
        services: &UpdateServices,
    ) -> String {
        build_query(spec, current, services).unwrap().url.to_string()
    }

    fn wants(architecture: Architecture) -> ClusterVersionSpec {
        let update = Update { architecture: Some(architecture), ..Update::default() };
        ClusterVersionSpec { desired_update: Some(update), ..spec() }
    }

    #[test]
    fn build_query_has_all_parameters() {
        let query = build_query(&spec(), &current(), &no_services()).unwrap();
        insta::assert_snapshot!(query.url, @"https://updates.example/graph?arch=amd64&channel=stable-5.1&id=5c4c9b2a-9d5c-4f0e-8d53-0d4a3b2f7a10&version=5.1.0");
        assert_eq!(query.service(), "https://updates.example/graph");
        assert!(!query.becomes_multi);
    }

    #[test]
    fn build_query_keeps_existing_parameters() {
        let upstream = "https://me:secret@updates.example/graph?fleet=a%20b#part";
        let spec = ClusterVersionSpec {
            upstream: Some(upstream.to_owned()),
            channel: Some("a&b=c".to_owned()),
            ..spec()
        };
        let query = build_query(&spec, &current(), &no_services()).unwrap();
        insta::assert_snapshot!(query.url, @"https://me:secret@updates.example/graph?fleet=a%20b&arch=amd64&channel=a%26b%3Dc&id=5c4c9b2a-9d5c-4f0e-8d53-0d4a3b2f7a10&version=5.1.0");
        assert_eq!(query.service(), "https://updates.example/graph");
    }

    #[test]
    fn build_query_selects_service() {
        let own =
            |upstream: &str| ClusterVersionSpec { upstream: Some(upstream.to_owned()), ..spec() };
        let services = |instead: Option<&str>, default: Option<&str>| UpdateServices {
            instead: instead.map(|url| url.parse().unwrap()),
            default: default.map(str::to_owned),
        };
        let (a, b, c) = ("http://a.example/", "http://b.example/", "http://c.example/");
        for (spec, services, expected) in [
            (own(b), services(Some(a), Some(c)), a),
            (own(b), services(None, Some(c)), b),
            (own(""), services(None, Some(c)), c),
            (own("mailto:nobody"), services(Some(a), Some(c)), a),
            (
                own(""),
                UpdateServices::default(),
                "https://api.openshift.com/api/upgrades_info/v1/graph",
            ),
        ] {
            let asked = url(&spec, &current(), &services);
            assert!(asked.starts_with(&format!("{expected}?arch=")), "{asked}");
        }
    }

    #[test]
    fn build_query_selects_architecture() {
        let runs = |architecture: &str| RunningRelease {
            architecture: architecture.to_owned(),
            ..current()
        };
        for (spec, current, expected, becomes_multi) in [
            (spec(), runs("arm64"), "arch=arm64&", false),
            (spec(), runs("Multi"), "arch=multi&", false),
            (wants(Architecture::Multi), runs("Multi"), "arch=multi&", false),
            (wants(Architecture::Multi), runs("amd64"), "arch=multi&", true),
            (wants(Architecture::Unset), runs("amd64"), "arch=amd64&", false),
            (wants(Architecture::Other("m68k".to_owned())), runs("amd64"), "arch=amd64&", false),
        ] {
            let query = build_query(&spec, &current, &no_services()).unwrap();
            assert!(query.url.as_str().contains(expected), "{}", query.url);
            assert_eq!(query.becomes_multi, becomes_multi, "{}", query.url);
        }
    }

    #[test]
    fn build_query_accepts_any_uuid_version() {
        let spec = ClusterVersionSpec {
            cluster_id: "00000000-0000-1000-8000-000000000000".to_owned(),
            ..spec()
        };
        assert!(build_query(&spec, &current(), &no_services()).is_ok());
    }

    #[test]
    fn build_query_reports_first_missing_field() {
        let mut spec = ClusterVersionSpec::default();
        let mut current = RunningRelease::default();
        let mut messages = Vec::new();
        let mut tell = |spec: &ClusterVersionSpec, current: &RunningRelease| {
            let refusal = build_query(spec, current, &no_services()).unwrap_err();
            messages.push(format!("{}: {refusal}", refusal.reason()));
        };
        tell(&spec, &current);
        spec.upstream = Some("ftp://updates.example".to_owned());
        tell(&spec, &current);
        spec.upstream = Some("x".repeat(10_000));
        tell(&spec, &current);
        spec.upstream = Some("https://updates.example".to_owned());
        tell(&spec, &current);
        spec.cluster_id = "mine".to_owned();
        tell(&spec, &current);
        spec.cluster_id = ID.to_owned();
        tell(&spec, &current);
        current.architecture = "amd64".to_owned();
        tell(&spec, &current);
        current.version = "latest".to_owned();
        tell(&spec, &current);
        spec.channel = Some("stable-5.1".to_owned());
        tell(&spec, &current);
        insta::assert_snapshot!(messages.join("\n"), @r#"
        NoUpstream: No update service is configured: set spec.upstream to its URL.
        InvalidURI: Invalid update service "ftp://updates.example" in spec.upstream: not an absolute http or https URL.
        InvalidURI: Invalid update service "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…" in spec.upstream: not an absolute http or https URL.
        InvalidID: Cannot query the update service: spec.clusterID is empty.
        InvalidID: Cannot query the update service: spec.clusterID "mine" is not an RFC 4122 UUID.
        NoArchitecture: Cannot query the update service: the architecture of the running release is unknown.
        NoCurrentVersion: Cannot query the update service: the version of the running release is unknown.
        NoChannel: The update channel has not been configured: set one with `fairway upgrade channel CHANNEL`.
        InvalidCurrentVersion: The version of the running release, "latest", is not a semantic version.
        "#);
        current.version = "5.1.0".to_owned();
        assert!(build_query(&spec, &current, &no_services()).is_ok());
    }
}
