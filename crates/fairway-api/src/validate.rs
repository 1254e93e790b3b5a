//! What is wrong in a ClusterVersion that could be read.
//!
//! An API server with the generated CRD refuses most of this, but not every server knows every
//! rule, and a file has met none. Nothing here looks at anything but the object.

use std::collections::HashSet;
use std::fmt;

use url::Url;

use crate::cluster_version::{ClusterVersionSpec, Update, UpdateMode};
use crate::{ClusterVersion, Version};

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
    /// A name occurs twice in a list of unique names.
    Twice(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.kind)
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAUrl(text) => write!(f, "{text:?} is not a valid URL; leave it empty or give an absolute one"),
            Self::NotAUuid(text) => write!(f, "{text:?} is not an RFC 4122 UUID"),
            Self::NotARandomUuid(text) => write!(f, "{text:?} is not a version 4 UUID"),
            Self::NotAVersion(text) => {
                write!(f, "{text:?} is not a semantic version such as 5.1.0 or 5.2.0-rc.1")
            }
            Self::UnknownWord { word, known } => {
                write!(f, "{word:?} is not supported; use {}", quoted(known))
            }
            Self::NothingToUpdateTo => {
                f.write_str("names nothing to update to; give a version, an image, an architecture or acceptRisks, or take it out")
            }
            Self::Excludes(other) => write!(f, "cannot be set together with {other}"),
            Self::Needs(other) => write!(f, "needs {other} to be set as well"),
            Self::Twice(name) => write!(f, "{name:?} occurs twice"),
        }
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" or ")
}

/// Everything that is wrong in the spec, in the order of the fields.
pub fn cluster_version(object: &ClusterVersion) -> Vec<Problem> {
    let mut problems = Problems::default();
    let ClusterVersionSpec {
        cluster_id,
        desired_update,
        upstream,
        channel: _,
        capabilities: _,
        signature_stores,
        overrides: _,
        unknown: _,
    } = &object.spec;
    if !cluster_id.is_empty() {
        problems.add_some("spec.clusterID", uuid_problem(cluster_id));
    }
    if let Some(update) = desired_update {
        desired(update, &mut problems);
    }
    if let Some(upstream) = upstream.as_deref().filter(|upstream| !upstream.is_empty()) {
        problems.add_some("spec.upstream", url_problem(upstream));
    }
    let mut seen = HashSet::new();
    for (index, store) in signature_stores.iter().enumerate() {
        let field = format!("spec.signatureStores[{index}].url");
        problems.add_some(&field, url_problem(&store.url));
        if !seen.insert(&store.url) {
            problems.add(&field, ProblemKind::Twice(store.url.clone()));
        }
    }
    problems.0
}

fn desired(update: &Update, problems: &mut Problems) {
    let Update { architecture, version: _, image: _, force: _, accept_risks, mode, unknown: _ } =
        update;
    if update.architecture().is_none()
        && update.version().is_none()
        && update.image().is_none()
        && accept_risks.is_empty()
    {
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
    let mut seen = HashSet::new();
    for (index, risk) in accept_risks.iter().enumerate() {
        if !seen.insert(&risk.name) {
            let field = format!("spec.desiredUpdate.acceptRisks[{index}].name");
            problems.add(&field, ProblemKind::Twice(risk.name.clone()));
        }
    }
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

    fn add_some(&mut self, field: &str, kind: Option<ProblemKind>) {
        self.0.extend(kind.map(|kind| Problem { field: field.to_owned(), kind }));
    }
}

fn url_problem(text: &str) -> Option<ProblemKind> {
    let usable = Url::parse(text).is_ok_and(|url| url.has_host());
    (!usable).then(|| ProblemKind::NotAUrl(text.to_owned()))
}

/// `xxxxxxxx-xxxx-Vxxx-Nxxx-xxxxxxxxxxxx`: V is the version, the top bits of N the variant.
fn uuid_problem(text: &str) -> Option<ProblemKind> {
    let groups: Vec<&str> = text.split('-').collect();
    let shape = groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if !shape || !groups[3].starts_with(['8', '9', 'a', 'b', 'A', 'B']) {
        return Some(ProblemKind::NotAUuid(text.to_owned()));
    }
    (!groups[2].starts_with('4')).then(|| ProblemKind::NotARandomUuid(text.to_owned()))
}
