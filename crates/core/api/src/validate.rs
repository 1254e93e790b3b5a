//! What is wrong in a ClusterVersion that could be read.
//!
//! An API server with the generated CRD refuses most of this, but not every server knows every
//! rule, and a file has met none. Only what is asked for is looked at, and nothing but the object.

use std::collections::HashSet;
use std::fmt;

use url::Url;

use crate::cluster_version::{
    AcceptRisk, Capabilities, ClusterVersionSpec, ComponentOverride, Update, UpdateMode,
};
use crate::{ClusterVersion, Version, limits};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, such as `spec.desiredUpdate.version`.
    pub field: String,
    /// What is wrong there.
    pub kind: ProblemKind,
}

/// What can be wrong in a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// It is not a URL that could be asked.
    NotAUrl(String),
    /// It is not a UUID of the RFC 4122 variant.
    NotAUuid(String),
    /// It is a UUID, but not a random one.
    NotARandomUuid(String),
    /// It is not a semantic version.
    NotAVersion(String),
    /// It is a word that the API does not have.
    UnknownWord {
        /// The word.
        word: String,
        /// Those that the API has.
        known: &'static [&'static str],
    },
    /// An update that names nothing to update to.
    NothingToUpdateTo,
    /// It cannot stand beside another field.
    Excludes(&'static str),
    /// It cannot stand without another field.
    Needs(&'static str),
    /// It occurs twice in a list of unique ones.
    Twice(String),
    /// It is not a name that an object can have.
    NotAName(String),
    /// A risk's name of that length.
    NotARiskName(usize),
    /// A list is too long.
    TooMany {
        /// How long it is.
        len: usize,
        /// How long it may be.
        most: usize,
    },
    /// The first capability is wanted without the second.
    CapabilityNeeds(&'static str, &'static str),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.kind)
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAUrl(text) => write!(f, "{text:?} is not an absolute http or https URL"),
            Self::NotAUuid(text) => write!(f, "{text:?} is not an RFC 4122 UUID"),
            Self::NotARandomUuid(text) => write!(f, "{text:?} is not a version 4 UUID"),
            Self::NotAVersion(text) => {
                write!(f, "{text:?} is not a semantic version such as 5.1.0 or 5.2.0-rc.1")
            }
            Self::UnknownWord { word, known } => {
                write!(f, "{word:?} is not supported; use {}", quoted(known))
            }
            Self::NothingToUpdateTo => f.write_str(
                "has no target; set a version, an image, an architecture or \
                    acceptRisks, or remove it",
            ),
            Self::Excludes(other) => write!(f, "cannot be set together with {other}"),
            Self::Needs(other) => write!(f, "requires {other}"),
            Self::Twice(name) => write!(f, "{name:?} occurs twice"),
            Self::NotAName(text) => {
                write!(f, "{text:?} is not a name of lower-case letters, digits and dashes")
            }
            Self::NotARiskName(len) => {
                write!(f, "the name of a risk has 1 to {} bytes, found {len}", limits::RISK_NAME)
            }
            Self::TooMany { len, most } => write!(f, "{len} entries exceed the limit of {most}"),
            Self::CapabilityNeeds(capability, needed) => {
                write!(f, "{capability:?} requires {needed:?}")
            }
        }
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" or ")
}

/// Everything that is wrong in what is asked for, in the order of the fields.
pub fn cluster_version(object: &ClusterVersion) -> Vec<Problem> {
    let mut problems = Problems::default();
    let ClusterVersionSpec {
        cluster_id,
        desired_update,
        upstream,
        channel: _,
        capabilities,
        signature_stores,
        overrides,
        unknown: _,
    } = &object.spec;
    let name = object.metadata.name.as_deref().unwrap_or_default();
    if !is_label(name) {
        problems.add("metadata.name", ProblemKind::NotAName(name.to_owned()));
    }
    if !cluster_id.is_empty() {
        problems.add_some("spec.clusterID", uuid_problem(cluster_id));
    }
    if let Some(update) = desired_update {
        desired(update, &mut problems);
    }
    if let Some(upstream) = upstream.as_deref().filter(|upstream| !upstream.is_empty()) {
        problems.add_some("spec.upstream", url_problem(upstream));
    }
    if let Some(capabilities) = capabilities {
        let enabled = object.status.as_ref().and_then(|status| status.capabilities.as_ref());
        let enabled = enabled.map_or(&[][..], |enabled| &enabled.enabled_capabilities);
        wanted(capabilities, enabled, &mut problems);
    }
    let signature_stores = signature_stores.as_deref().unwrap_or_default();
    problems.at_most("spec.signatureStores", signature_stores.len(), limits::SIGNATURE_STORES);
    for (index, store) in signature_stores.iter().enumerate() {
        problems.add_some(&format!("spec.signatureStores[{index}].url"), url_problem(&store.url));
    }
    problems.unique("spec.signatureStores", signature_stores.iter().map(|store| &store.url));
    let keys =
        overrides.iter().map(|ComponentOverride { kind, group, namespace, name, .. }| {
            format!("{kind}.{group} {namespace}/{name}")
        });
    problems.unique("spec.overrides", keys);
    problems.0
}

/// Capabilities that make no sense without another.
const NEEDED: &[(&str, &str)] =
    &[("marketplace", "OperatorLifecycleManager"), ("ClusterAPI", "CompatibilityRequirements")];

fn wanted(capabilities: &Capabilities, enabled: &[String], problems: &mut Problems) {
    let Capabilities { baseline_capability_set, additional_enabled_capabilities, unknown: _ } =
        capabilities;
    let Some(baseline) = baseline_capability_set else { return };
    if !is_capability_set(baseline) {
        let word = baseline.clone();
        let known = &["None", "vCurrent", "v4.18"];
        let field = "spec.capabilities.baselineCapabilitySet";
        problems.add(field, ProblemKind::UnknownWord { word, known });
    }
    let asked = |name: &str| additional_enabled_capabilities.iter().any(|asked| asked == name);
    for (capability, needed) in NEEDED {
        let has_needed = asked(needed) || enabled.iter().any(|enabled| enabled == needed);
        if baseline == "None" && asked(capability) && !has_needed {
            let field = "spec.capabilities.additionalEnabledCapabilities";
            problems.add(field, ProblemKind::CapabilityNeeds(capability, needed));
        }
    }
}

fn desired(update: &Update, problems: &mut Problems) {
    let Update { architecture, version: _, image: _, force: _, accept_risks, mode, unknown: _ } =
        update;
    if !update.names_a_release() && accept_risks.is_empty() {
        problems.add("spec.desiredUpdate", ProblemKind::NothingToUpdateTo);
    }
    if let Some(architecture) = architecture {
        let field = "spec.desiredUpdate.architecture";
        if !architecture.is_known() {
            let word = architecture.as_str().to_owned();
            problems.add(field, ProblemKind::UnknownWord { word, known: &["Multi"] });
        }
        if update.architecture().is_some() && update.image().is_some() {
            problems.add(field, ProblemKind::Excludes("spec.desiredUpdate.image"));
        }
        if update.architecture().is_some() && update.version().is_none() {
            problems.add(field, ProblemKind::Needs("spec.desiredUpdate.version"));
        }
    }
    if let Some(version) = update.version()
        && Version::parse(version).is_err()
    {
        problems.add("spec.desiredUpdate.version", ProblemKind::NotAVersion(version.to_owned()));
    }
    let field = "spec.desiredUpdate.acceptRisks";
    problems.at_most(field, accept_risks.len(), limits::ACCEPTED_RISKS);
    for (index, AcceptRisk { name, .. }) in accept_risks.iter().enumerate() {
        if name.is_empty() || name.len() > limits::RISK_NAME {
            problems.add(&format!("{field}[{index}].name"), ProblemKind::NotARiskName(name.len()));
        }
    }
    problems.unique(field, accept_risks.iter().map(|risk| &risk.name));
    if let Some(mode) = mode
        && !mode.is_known()
    {
        let word = mode.as_str().to_owned();
        let known = UpdateMode::KNOWN;
        problems.add("spec.desiredUpdate.mode", ProblemKind::UnknownWord { word, known });
    }
}

#[derive(Default)]
struct Problems(Vec<Problem>);

impl Problems {
    fn add(&mut self, field: &str, kind: ProblemKind) {
        self.0.push(Problem { field: field.to_owned(), kind });
    }

    /// Lists have limits.
    fn at_most(&mut self, field: &str, len: usize, most: usize) {
        if len > most {
            self.add(field, ProblemKind::TooMany { len, most });
        }
    }

    /// No key occurs twice.
    fn unique(&mut self, field: &str, keys: impl Iterator<Item = impl ToString>) {
        let mut seen = HashSet::new();
        for (index, key) in keys.map(|key| key.to_string()).enumerate() {
            if seen.contains(&key) {
                self.add(&format!("{field}[{index}]"), ProblemKind::Twice(key));
            } else {
                seen.insert(key);
            }
        }
    }

    fn add_some(&mut self, field: &str, kind: Option<ProblemKind>) {
        self.0.extend(kind.map(|kind| Problem { field: field.to_owned(), kind }));
    }
}

fn url_problem(text: &str) -> Option<ProblemKind> {
    let usable = Url::parse(text)
        .is_ok_and(|url| url.has_host() && matches!(url.scheme(), "http" | "https"));
    (!usable).then(|| ProblemKind::NotAUrl(text.to_owned()))
}

/// As names of objects that have to serve as DNS labels: RFC 1035.
fn is_label(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= 63
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(legal)
        && !text.ends_with('-')
}

/// `None`, `vCurrent`, or the set of a release such as `v4.18`.
fn is_capability_set(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let of_release = text.strip_prefix('v').and_then(|version| version.split_once('.'));
    matches!(text, "None" | "vCurrent")
        || of_release.is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// What is wrong with a text that is to be the random UUID of a cluster.
///
/// `xxxxxxxx-xxxx-Vxxx-Nxxx-xxxxxxxxxxxx`: V is the version, the top bits of N the variant.
pub fn uuid_problem(text: &str) -> Option<ProblemKind> {
    let groups: Vec<&str> = text.split('-').collect();
    let shape = groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if !shape || !groups[3].starts_with(['8', '9', 'a', 'b', 'A', 'B']) {
        return Some(ProblemKind::NotAUuid(text.to_owned()));
    }
    (!groups[2].starts_with('4')).then(|| ProblemKind::NotARandomUuid(text.to_owned()))
}
