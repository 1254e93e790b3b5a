//! What the update service is asked, and what is missing to ask it.

use fairway_api::Version;
use fairway_api::cluster_version::{Architecture, ClusterVersionSpec};
use fairway_api::reason::{Reason, retrieved_updates};
use fairway_api::validate::{ProblemKind, uuid_problem};
use url::Url;

use crate::text::{excerpt, place};

/// What the update service calls releases whose one image serves several architectures.
const MULTI: &str = "multi";

/// The release that a cluster runs. What is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Current {
    /// Its version.
    pub version: String,
    /// Its architecture, as Go calls it, or `Multi`.
    pub architecture: String,
    /// Its image.
    pub image: String,
}

/// A question to the update service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is fetched.
    pub url: Url,
    /// The channel that is asked for.
    pub channel: String,
    /// The version that updates begin at.
    pub current: Version,
    /// Whether the cluster is to have all architectures first, and its version stays.
    pub becomes_multi: bool,
}

impl Question {
    /// The service, without what is asked.
    pub fn service(&self) -> String {
        place(&self.url)
    }

    /// The architecture that is asked for.
    pub fn architecture(&self) -> Option<String> {
        let mut asked = self.url.query_pairs();
        asked.find_map(|(name, value)| (name == "arch").then(|| value.into_owned()))
    }
}

/// Why the update service is not asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is none.
    #[error("No update service is configured: set spec.upstream to its URL.")]
    NoUpstream,
    /// Its address is none.
    #[error("Invalid update service {text:?} in spec.upstream: not an absolute http or https URL.")]
    InvalidUri {
        /// What is there instead.
        text: String,
    },
    /// The cluster has no identity.
    #[error("Cannot query the update service: spec.clusterID is empty.")]
    NoId,
    /// The cluster's identity is none.
    #[error("Cannot query the update service: spec.clusterID {problem}.")]
    InvalidId {
        /// What is wrong with it.
        problem: String,
    },
    /// Nobody knows for which architecture updates are needed.
    #[error("Cannot query the update service: the architecture of the running release is unknown.")]
    NoArchitecture,
    /// Nobody knows where updates would begin.
    #[error("Cannot query the update service: the version of the running release is unknown.")]
    NoCurrentVersion,
    /// Nobody has said which updates are wanted.
    #[error(
        "The update channel has not been configured: set one with `fairway upgrade channel \
         CHANNEL`."
    )]
    NoChannel,
    /// Updates would begin at something that cannot be compared.
    #[error("The version of the running release, {text:?}, is not a semantic version.")]
    InvalidCurrentVersion {
        /// What is there instead.
        text: String,
    },
}

impl Refusal {
    /// What a condition has for it.
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

/// The services that are asked where the cluster does not name one, and where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Services {
    /// The one that is asked whatever the cluster says.
    pub instead: Option<Url>,
    /// The one that is asked where the cluster does not name one.
    pub default: Option<String>,
}

impl Default for Services {
    fn default() -> Self {
        Self {
            instead: None,
            // The one that clusters without an `upstream` have always asked.
            default: Some("https://api.openshift.com/api/upgrades_info/v1/graph".to_owned()),
        }
    }
}

/// Makes the question of a cluster. What is missing is said one by one, in the order in which
/// administrators of existing clusters know it.
pub fn ask(
    spec: &ClusterVersionSpec,
    current: &Current,
    services: &Services,
) -> Result<Question, Refusal> {
    let mut url = service(spec, services)?;
    identity(&spec.cluster_id)?;
    let asked = architecture(spec, current).ok_or(Refusal::NoArchitecture)?;
    let version = filled(&current.version).ok_or(Refusal::NoCurrentVersion)?;
    let channel = spec.channel.as_deref().and_then(filled).ok_or(Refusal::NoChannel)?;
    let parsed = Version::parse(version)
        .map_err(|_| Refusal::InvalidCurrentVersion { text: excerpt(version).into_owned() })?;
    url.query_pairs_mut()
        .append_pair("arch", asked)
        .append_pair("channel", channel)
        .append_pair("id", &spec.cluster_id)
        .append_pair("version", version);
    Ok(Question {
        url,
        channel: channel.to_owned(),
        current: parsed,
        becomes_multi: asked == MULTI && !is_multi(&current.architecture),
    })
}

fn service(spec: &ClusterVersionSpec, services: &Services) -> Result<Url, Refusal> {
    let mut url = match &services.instead {
        Some(url) => url.clone(),
        None => named_service(spec, services)?,
    };
    url.set_fragment(None);
    Ok(url)
}

fn named_service(spec: &ClusterVersionSpec, services: &Services) -> Result<Url, Refusal> {
    let named = [&spec.upstream, &services.default];
    let text = named.into_iter().find_map(|service| filled(service.as_deref()?));
    let text = text.ok_or(Refusal::NoUpstream)?;
    let usable = |url: &Url| url.has_host() && matches!(url.scheme(), "http" | "https");
    let url = Url::parse(text).ok().filter(usable);
    url.ok_or_else(|| Refusal::InvalidUri { text: excerpt(text).into_owned() })
}

/// Existing clusters have identities of every version: only what is no UUID at all is refused.
fn identity(id: &str) -> Result<(), Refusal> {
    if id.is_empty() {
        return Err(Refusal::NoId);
    }
    match uuid_problem(&excerpt(id)) {
        None | Some(ProblemKind::NotARandomUuid(_)) => Ok(()),
        Some(problem) => Err(Refusal::InvalidId { problem: problem.to_string() }),
    }
}

/// The architecture that releases are asked for: the one that is wanted, else that of the cluster.
fn architecture<'a>(spec: &ClusterVersionSpec, current: &'a Current) -> Option<&'a str> {
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

    fn current() -> Current {
        Current {
            version: "5.1.0".to_owned(),
            architecture: "amd64".to_owned(),
            ..Current::default()
        }
    }

    fn nobody() -> Services {
        Services { instead: None, default: None }
    }

    fn url(spec: &ClusterVersionSpec, current: &Current, services: &Services) -> String {
        ask(spec, current, services).unwrap().url.to_string()
    }

    fn wants(architecture: Architecture) -> ClusterVersionSpec {
        let update = Update { architecture: Some(architecture), ..Update::default() };
        ClusterVersionSpec { desired_update: Some(update), ..spec() }
    }

    #[test]
    fn what_is_asked() {
        let question = ask(&spec(), &current(), &nobody()).unwrap();
        insta::assert_snapshot!(question.url, @"https://updates.example/graph?arch=amd64&channel=stable-5.1&id=5c4c9b2a-9d5c-4f0e-8d53-0d4a3b2f7a10&version=5.1.0");
        assert_eq!(question.service(), "https://updates.example/graph");
        assert!(!question.becomes_multi);
    }

    #[test]
    fn what_the_address_has_already_stays_there() {
        let upstream = "https://me:secret@updates.example/graph?fleet=a%20b#part";
        let spec = ClusterVersionSpec {
            upstream: Some(upstream.to_owned()),
            channel: Some("a&b=c".to_owned()),
            ..spec()
        };
        let question = ask(&spec, &current(), &nobody()).unwrap();
        insta::assert_snapshot!(question.url, @"https://me:secret@updates.example/graph?fleet=a%20b&arch=amd64&channel=a%26b%3Dc&id=5c4c9b2a-9d5c-4f0e-8d53-0d4a3b2f7a10&version=5.1.0");
        assert_eq!(question.service(), "https://updates.example/graph");
    }

    #[test]
    fn which_service_is_asked() {
        let own =
            |upstream: &str| ClusterVersionSpec { upstream: Some(upstream.to_owned()), ..spec() };
        let services = |instead: Option<&str>, default: Option<&str>| Services {
            instead: instead.map(|url| url.parse().unwrap()),
            default: default.map(str::to_owned),
        };
        let (a, b, c) = ("http://a.example/", "http://b.example/", "http://c.example/");
        for (spec, services, expected) in [
            (own(b), services(Some(a), Some(c)), a),
            (own(b), services(None, Some(c)), b),
            (own(""), services(None, Some(c)), c),
            (own("mailto:nobody"), services(Some(a), Some(c)), a),
            (own(""), Services::default(), "https://api.openshift.com/api/upgrades_info/v1/graph"),
        ] {
            let asked = url(&spec, &current(), &services);
            assert!(asked.starts_with(&format!("{expected}?arch=")), "{asked}");
        }
    }

    #[test]
    fn which_architecture_is_asked_for() {
        let runs =
            |architecture: &str| Current { architecture: architecture.to_owned(), ..current() };
        for (spec, current, expected, becomes_multi) in [
            (spec(), runs("arm64"), "arch=arm64&", false),
            (spec(), runs("Multi"), "arch=multi&", false),
            (wants(Architecture::Multi), runs("Multi"), "arch=multi&", false),
            (wants(Architecture::Multi), runs("amd64"), "arch=multi&", true),
            (wants(Architecture::Unset), runs("amd64"), "arch=amd64&", false),
            (wants(Architecture::Other("m68k".to_owned())), runs("amd64"), "arch=amd64&", false),
        ] {
            let question = ask(&spec, &current, &nobody()).unwrap();
            assert!(question.url.as_str().contains(expected), "{}", question.url);
            assert_eq!(question.becomes_multi, becomes_multi, "{}", question.url);
        }
    }

    #[test]
    fn an_identity_of_any_version_will_do() {
        let spec = ClusterVersionSpec {
            cluster_id: "00000000-0000-1000-8000-000000000000".to_owned(),
            ..spec()
        };
        assert!(ask(&spec, &current(), &nobody()).is_ok());
    }

    #[test]
    fn what_is_missing_is_said_one_by_one() {
        let mut spec = ClusterVersionSpec::default();
        let mut current = Current::default();
        let mut told = Vec::new();
        let mut tell = |spec: &ClusterVersionSpec, current: &Current| {
            let refusal = ask(spec, current, &nobody()).unwrap_err();
            told.push(format!("{}: {refusal}", refusal.reason()));
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
        insta::assert_snapshot!(told.join("\n"), @r#"
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
        assert!(ask(&spec, &current, &nobody()).is_ok());
    }
}
