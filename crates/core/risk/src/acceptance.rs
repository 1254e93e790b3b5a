//! Risks that the administrator accepts: names, and acceptance terms in an annotation.
//!
//! Names in `spec.desiredUpdate.acceptRisks` accept. The annotation accepts nothing: it contains
//! reason, expiry and versions of accepted names. An invalid entry may have been such a limit, so
//! it counts as exceeded.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fairway_api::cluster_version::Update;
use fairway_api::{ClusterVersion, Version, limits};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text;
use crate::version_range::VersionRange;

/// Annotation of ClusterVersion with the acceptance terms.
pub const ANNOTATION: &str = "fairway.dev/accepted-risks";

/// Size limit of the annotation; the API server allows 256 KiB for all annotations of an object.
pub const ANNOTATION_BYTES: usize = 128 << 10;

/// Terms of an accepted risk, as stored in the annotation under the name of the risk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Terms")]
#[serde(rename_all = "camelCase", default, expecting = "an object with acceptance terms")]
pub struct AcceptanceTerms {
    /// Why the risk is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Expiry of the acceptance: a time, or a date, which is inclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<AcceptanceEnd>,
    /// Versions for which the risk is accepted.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub versions: Option<VersionRange>,
    /// User who accepted the risk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Digest of the accepted definition of the risk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
}

/// Time at which an acceptance expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Until")]
#[serde(try_from = "String", into = "String")]
pub struct AcceptanceEnd {
    text: String,
    end: Timestamp,
}

/// Reason why a text is not the end of an acceptance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a time such as 2026-12-31 or 2026-12-31T18:00:00Z")]
pub struct AcceptanceEndError(String);

impl AcceptanceEnd {
    /// First moment after the acceptance.
    pub fn end(&self) -> Timestamp {
        self.end
    }
}

impl TryFrom<String> for AcceptanceEnd {
    type Error = AcceptanceEndError;

    fn try_from(text: String) -> Result<Self, AcceptanceEndError> {
        let end = text.parse().ok().or_else(|| end_of_day(&text));
        match end {
            Some(end) => Ok(Self { text, end }),
            None => Err(AcceptanceEndError(text::truncate(&text, 80))),
        }
    }
}

fn end_of_day(text: &str) -> Option<Timestamp> {
    let next: Date = text.parse::<Date>().ok()?.checked_add(1.day()).ok()?;
    Some(next.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

impl From<AcceptanceEnd> for String {
    fn from(until: AcceptanceEnd) -> Self {
        until.text
    }
}

impl fmt::Display for AcceptanceEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The accepted risks of a cluster and their terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acceptance {
    names: BTreeSet<String>,
    terms: BTreeMap<String, Result<AcceptanceTerms, String>>,
    unreadable: Option<String>,
}

/// Whether a risk of an update is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptanceState {
    /// The risk is not accepted.
    NotAccepted,
    /// The risk is accepted.
    Accepted {
        /// The content of the risk has changed since.
        changed: bool,
    },
    /// The acceptance has expired.
    Expired(AcceptanceEnd),
    /// The risk is accepted for other versions.
    OutOfScope(VersionRange),
    /// The terms are invalid.
    TermsUnreadable(String),
}

impl AcceptanceState {
    /// Whether the risk is accepted.
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted { .. })
    }

    /// State of the acceptance in JSON documents.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotAccepted => "notAccepted",
            Self::Accepted { changed: false } => "accepted",
            Self::Accepted { changed: true } => "acceptedBeforeChange",
            Self::Expired(_) => "expired",
            Self::OutOfScope(_) => "outOfScope",
            Self::TermsUnreadable(_) => "invalidTerms",
        }
    }
}

impl fmt::Display for AcceptanceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAccepted => f.write_str("The risk is not accepted."),
            Self::Accepted { changed: false } => f.write_str("The risk is accepted."),
            Self::Accepted { changed: true } => {
                f.write_str("The risk is accepted; its content has changed since.")
            }
            Self::Expired(until) => write!(f, "The acceptance of the risk expired at {until}."),
            Self::OutOfScope(versions) => {
                write!(f, "The risk is accepted for {versions} only, not for this version.")
            }
            Self::TermsUnreadable(why) => write!(
                f,
                "The risk counts as not accepted: cannot read its terms in annotation \
                {ANNOTATION}: {why}."
            ),
        }
    }
}

impl Acceptance {
    /// Reads the accepted risks of a cluster.
    pub fn from_cluster_version(cluster_version: &ClusterVersion) -> Self {
        let annotations = cluster_version.metadata.annotations.as_ref();
        let annotation = annotations.and_then(|all| all.get(ANNOTATION)).map(String::as_str);
        Self::read(cluster_version.spec.desired_update.as_ref(), annotation)
    }

    /// Reads the accepted risks of `spec.desiredUpdate` with the terms of the annotation.
    pub fn read(desired: Option<&Update>, annotation: Option<&str>) -> Self {
        let accepted = desired.iter().flat_map(|update| &update.accept_risks);
        let names = accepted.take(limits::ACCEPTED_RISKS).map(|risk| risk.name.clone()).collect();
        let (terms, unreadable) = match annotation.map(terms) {
            None => (BTreeMap::new(), None),
            Some(Ok(terms)) => (terms, None),
            Some(Err(why)) => (BTreeMap::new(), Some(why)),
        };
        Self { names, terms, unreadable }
    }

    /// Accepted names, independent of their terms.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Valid terms of an accepted name.
    pub fn terms(&self, name: &str) -> Option<&AcceptanceTerms> {
        self.names.get(name).and(self.terms.get(name)?.as_ref().ok())
    }

    /// Problems of the annotation, for the operator's log and for users.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        let whole = self.unreadable.iter().map(|why| {
            format!("No risk counts as accepted: cannot read annotation {ANNOTATION}: {why}.")
        });
        let entries = self.terms.iter().filter_map(|(name, terms)| {
            let why = terms.as_ref().err()?;
            Some(format!(
                "Risk {:?} counts as not accepted: cannot read its entry in annotation \
                {ANNOTATION}: {why}.",
                text::truncate(name, 80)
            ))
        });
        whole.chain(entries)
    }

    /// Whether a risk is accepted for an update to a version. `hash` is the current definition hash
    /// of the risk.
    pub fn state(&self, name: &str, version: &str, hash: &str, now: Timestamp) -> AcceptanceState {
        if !self.names.contains(name) {
            return AcceptanceState::NotAccepted;
        }
        if let Some(why) = &self.unreadable {
            return AcceptanceState::TermsUnreadable(why.clone());
        }
        let terms = match self.terms.get(name) {
            None => return AcceptanceState::Accepted { changed: false },
            Some(Err(why)) => return AcceptanceState::TermsUnreadable(why.clone()),
            Some(Ok(terms)) => terms,
        };
        if let Some(until) = terms.until.as_ref().filter(|until| until.end <= now) {
            return AcceptanceState::Expired(until.clone());
        }
        let covers = |range: &VersionRange| {
            Version::parse(version).is_ok_and(|version| range.covers(&version))
        };
        if let Some(versions) = terms.versions.as_ref().filter(|versions| !covers(versions)) {
            return AcceptanceState::OutOfScope(versions.clone());
        }
        AcceptanceState::Accepted { changed: self.changed_since_acceptance(name, hash) }
    }

    /// Whether the risk is accepted with another definition than the current one.
    pub(crate) fn changed_since_acceptance(&self, name: &str, hash: &str) -> bool {
        let terms = self.terms.get(name).and_then(|terms| terms.as_ref().ok());
        let then = terms.and_then(|terms| terms.definition.as_deref());
        self.names.contains(name) && then.is_some_and(|then| then != hash)
    }

    /// Next time at which an acceptance expires, so that the caller can re-evaluate then.
    pub fn next_end(&self, now: Timestamp) -> Option<Timestamp> {
        let accepted = self.terms.iter().filter(|(name, _)| self.names.contains(*name));
        let ends = accepted.filter_map(|(_, terms)| Some(terms.as_ref().ok()?.until.as_ref()?.end));
        ends.filter(|end| *end > now).min()
    }
}

/// Entries of the annotation. An invalid entry does not affect the others.
fn terms(annotation: &str) -> Result<BTreeMap<String, Result<AcceptanceTerms, String>>, String> {
    if annotation.len() > ANNOTATION_BYTES {
        return Err(format!(
            "{} bytes exceed the limit of {ANNOTATION_BYTES} bytes",
            annotation.len()
        ));
    }
    let entries: BTreeMap<String, Value> = serde_json::from_str(annotation)
        .map_err(|error| text::truncate(&error.to_string(), 200))?;
    let read = |(name, value)| {
        let terms = AcceptanceTerms::deserialize(&value);
        (name, terms.map_err(|error: serde_json::Error| text::truncate(&error.to_string(), 200)))
    };
    Ok(entries.into_iter().map(read).collect())
}
