//! Validation of a parsed ClusterVersion.
//!
//! An API server with the generated CRD rejects most of these problems, but not every server
//! supports all rules, and files are not validated. Only the spec is validated.

use std::collections::HashSet;
use std::fmt;

use url::Url;

use crate::cluster_version::{
    AcceptRisk, Capabilities, ClusterVersionSpec, ComponentOverride, Update, UpdateMode,
};
use crate::image::is_reference;
use crate::{ClusterVersion, Version, limits};

/// A problem of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// Field such as `spec.desiredUpdate.version`.
    pub field: String,
    /// Kind of the problem.
    pub kind: FieldProblemKind,
}

/// Kind of a field's problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldProblemKind {
    /// Not an absolute http or https URL.
    NotAUrl(String),
    /// Not a UUID of the RFC 4122 variant.
    NotAUuid(String),
    /// A UUID that is not random (version 4).
    NotARandomUuid(String),
    /// Not a semantic version.
    NotAVersion(String),
    /// Not an image reference.
    NotAnImage(String),
    /// An unknown value.
    UnknownWord {
        /// The value.
        word: String,
        /// The known values.
        known: &'static [&'static str],
    },
    /// An update without a target.
    NothingToUpdateTo,
    /// Excludes another field.
    Excludes(&'static str),
    /// Requires another field.
    Needs(&'static str),
    /// A duplicate in a list of unique items.
    Twice(String),
    /// Not a valid object name.
    NotAName(String),
    /// A risk name with an invalid length.
    NotARiskName(usize),
    /// A list that is too long.
    TooMany {
        /// Length of the list.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// The first capability requires the second.
    CapabilityNeeds(&'static str, &'static str),
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.kind)
    }
}

impl fmt::Display for FieldProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAUrl(text) => write!(f, "{text:?} is not an absolute http or https URL"),
            Self::NotAUuid(text) => write!(f, "{text:?} is not an RFC 4122 UUID"),
            Self::NotARandomUuid(text) => write!(f, "{text:?} is not a version 4 UUID"),
            Self::NotAVersion(text) => {
                write!(f, "{text:?} is not a semantic version such as 5.1.0 or 5.2.0-rc.1")
            }
            Self::NotAnImage(text) => write!(
                f,
                "{text:?} is not an image reference such as registry.example/release@sha256:…"
            ),
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
                write!(f, "{text:?} is not a name of lowercase letters, digits and dashes")
            }
            Self::NotARiskName(len) => {
                write!(
                    f,
                    "the name of a risk must have 1 to {} bytes, found {len}",
                    limits::RISK_NAME
                )
            }
            Self::TooMany { len, limit } => write!(f, "{len} entries exceed the limit of {limit}"),
            Self::CapabilityNeeds(capability, needed) => {
                write!(f, "{capability:?} requires {needed:?}")
            }
        }
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" or ")
}

/// All problems of the spec, in the order of the fields.
pub fn cluster_version(object: &ClusterVersion) -> Vec<FieldProblem> {
    let mut problems = FieldProblems::default();
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
        problems.add("metadata.name", FieldProblemKind::NotAName(name.to_owned()));
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

/// Capabilities that require another one.
const NEEDED: &[(&str, &str)] =
    &[("marketplace", "OperatorLifecycleManager"), ("ClusterAPI", "CompatibilityRequirements")];

fn wanted(capabilities: &Capabilities, enabled: &[String], problems: &mut FieldProblems) {
    let Capabilities { baseline_capability_set, additional_enabled_capabilities, unknown: _ } =
        capabilities;
    let Some(baseline) = baseline_capability_set else { return };
    if !is_capability_set(baseline) {
        let word = baseline.clone();
        let known = &["None", "vCurrent", "v4.18"];
        let field = "spec.capabilities.baselineCapabilitySet";
        problems.add(field, FieldProblemKind::UnknownWord { word, known });
    }
    let requested =
        |name: &str| additional_enabled_capabilities.iter().any(|requested| requested == name);
    for (capability, needed) in NEEDED {
        let has_needed = requested(needed) || enabled.iter().any(|enabled| enabled == needed);
        if baseline == "None" && requested(capability) && !has_needed {
            let field = "spec.capabilities.additionalEnabledCapabilities";
            problems.add(field, FieldProblemKind::CapabilityNeeds(capability, needed));
        }
    }
}

fn desired(update: &Update, problems: &mut FieldProblems) {
    let Update { architecture, version: _, image: _, force: _, accept_risks, mode, unknown: _ } =
        update;
    if !update.names_a_release() && accept_risks.is_empty() {
        problems.add("spec.desiredUpdate", FieldProblemKind::NothingToUpdateTo);
    }
    if let Some(architecture) = architecture {
        let field = "spec.desiredUpdate.architecture";
        if !architecture.is_known() {
            let word = architecture.as_str().to_owned();
            problems.add(field, FieldProblemKind::UnknownWord { word, known: &["Multi"] });
        }
        if update.architecture().is_some() && update.image().is_some() {
            problems.add(field, FieldProblemKind::Excludes("spec.desiredUpdate.image"));
        }
        if update.architecture().is_some() && update.version().is_none() {
            problems.add(field, FieldProblemKind::Needs("spec.desiredUpdate.version"));
        }
    }
    if let Some(version) = update.version()
        && Version::parse(version).is_err()
    {
        problems
            .add("spec.desiredUpdate.version", FieldProblemKind::NotAVersion(version.to_owned()));
    }
    if let Some(image) = update.image()
        && !is_reference(image)
    {
        problems.add("spec.desiredUpdate.image", FieldProblemKind::NotAnImage(image.to_owned()));
    }
    let field = "spec.desiredUpdate.acceptRisks";
    problems.at_most(field, accept_risks.len(), limits::ACCEPTED_RISKS);
    for (index, AcceptRisk { name, .. }) in accept_risks.iter().enumerate() {
        if name.is_empty() || name.len() > limits::RISK_NAME {
            problems
                .add(&format!("{field}[{index}].name"), FieldProblemKind::NotARiskName(name.len()));
        }
    }
    problems.unique(field, accept_risks.iter().map(|risk| &risk.name));
    if let Some(mode) = mode
        && !mode.is_known()
    {
        let word = mode.as_str().to_owned();
        let known = UpdateMode::KNOWN;
        problems.add("spec.desiredUpdate.mode", FieldProblemKind::UnknownWord { word, known });
    }
}

#[derive(Default)]
struct FieldProblems(Vec<FieldProblem>);

impl FieldProblems {
    fn add(&mut self, field: &str, kind: FieldProblemKind) {
        self.0.push(FieldProblem { field: field.to_owned(), kind });
    }

    /// Checks the length of a list.
    fn at_most(&mut self, field: &str, len: usize, limit: usize) {
        if len > limit {
            self.add(field, FieldProblemKind::TooMany { len, limit });
        }
    }

    /// Checks that keys are unique.
    fn unique(&mut self, field: &str, keys: impl Iterator<Item = impl ToString>) {
        let mut seen = HashSet::new();
        for (index, key) in keys.map(|key| key.to_string()).enumerate() {
            if seen.contains(&key) {
                self.add(&format!("{field}[{index}]"), FieldProblemKind::Twice(key));
            } else {
                seen.insert(key);
            }
        }
    }

    fn add_some(&mut self, field: &str, kind: Option<FieldProblemKind>) {
        self.0.extend(kind.map(|kind| FieldProblem { field: field.to_owned(), kind }));
    }
}

fn url_problem(text: &str) -> Option<FieldProblemKind> {
    let usable = Url::parse(text)
        .is_ok_and(|url| url.has_host() && matches!(url.scheme(), "http" | "https"));
    (!usable).then(|| FieldProblemKind::NotAUrl(text.to_owned()))
}

/// Whether a text is an RFC 1035 label.
fn is_label(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= 63
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(legal)
        && !text.ends_with('-')
}

/// Whether a text is `None`, `vCurrent`, or the set of a release such as `v4.18`.
fn is_capability_set(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let of_release = text.strip_prefix('v').and_then(|version| version.split_once('.'));
    matches!(text, "None" | "vCurrent")
        || of_release.is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// The problem of a text that should be a random UUID.
///
/// `xxxxxxxx-xxxx-Vxxx-Nxxx-xxxxxxxxxxxx`: V is the version, the top bits of N the variant.
pub fn uuid_problem(text: &str) -> Option<FieldProblemKind> {
    let groups: Vec<&str> = text.split('-').collect();
    let shape = groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if !shape || !groups[3].starts_with(['8', '9', 'a', 'b', 'A', 'B']) {
        return Some(FieldProblemKind::NotAUuid(text.to_owned()));
    }
    (!groups[2].starts_with('4')).then(|| FieldProblemKind::NotARandomUuid(text.to_owned()))
}
