//! Which risks the administrator takes: by name, and on the terms of an annotation.
//!
//! Names in `spec.desiredUpdate.acceptRisks` accept. The annotation accepts nothing: it says why,
//! until when and for which versions a name was accepted. What of it cannot be read may have been
//! such a limit, so it counts as one that is exceeded.

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

use crate::range::Range;
use crate::text;

/// The annotation of ClusterVersion with the terms on which risks were accepted.
pub const ANNOTATION: &str = "fairway.dev/accepted-risks";

/// Bytes of the annotation that are read; all annotations of an object together may have 256 KiB.
pub const ANNOTATION_BYTES: usize = 128 << 10;

/// Terms of an accepted risk, as stored in the annotation under the name of the risk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object with acceptance terms")]
pub struct Terms {
    /// Why the risk is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// End of the acceptance: a time, or a date that is included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Versions for which the risk is accepted.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub versions: Option<Range>,
    /// User who accepted the risk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Digest of the accepted definition of the risk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
}

/// End of an acceptance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Until {
    text: String,
    end: Timestamp,
}

/// Why a text is not the end of an acceptance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a time such as 2026-12-31 or 2026-12-31T18:00:00Z")]
pub struct UntilError(String);

impl Until {
    /// The first moment after it.
    pub fn end(&self) -> Timestamp {
        self.end
    }
}

impl TryFrom<String> for Until {
    type Error = UntilError;

    fn try_from(text: String) -> Result<Self, UntilError> {
        let end = text.parse().ok().or_else(|| end_of_day(&text));
        match end {
            Some(end) => Ok(Self { text, end }),
            None => Err(UntilError(text::excerpt(&text, 80))),
        }
    }
}

fn end_of_day(text: &str) -> Option<Timestamp> {
    let next: Date = text.parse::<Date>().ok()?.checked_add(1.day()).ok()?;
    Some(next.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

impl From<Until> for String {
    fn from(until: Until) -> Self {
        until.text
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What the administrator accepts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acceptance {
    names: BTreeSet<String>,
    terms: BTreeMap<String, Result<Terms, String>>,
    unreadable: Option<String>,
}

/// Whether a risk of an update was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was not.
    NotAccepted,
    /// It was.
    Accepted {
        /// The risk says something else than it did then.
        changed: bool,
    },
    /// It was, until a time that has passed.
    Expired(Until),
    /// It was, for other versions.
    OutOfScope(Range),
    /// The terms cannot be read.
    TermsUnreadable(String),
}

impl Standing {
    /// Whether the risk was accepted.
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted { .. })
    }

    /// State of the acceptance in JSON documents.
    pub fn word(&self) -> &'static str {
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

impl fmt::Display for Standing {
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
    /// What the administrator of a cluster accepts.
    pub fn of(cluster_version: &ClusterVersion) -> Self {
        let annotations = cluster_version.metadata.annotations.as_ref();
        let annotation = annotations.and_then(|all| all.get(ANNOTATION)).map(String::as_str);
        Self::read(cluster_version.spec.desired_update.as_ref(), annotation)
    }

    /// What `spec.desiredUpdate` accepts on the terms of the annotation.
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

    /// The names that are accepted, on whatever terms.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// On which terms that name is accepted, where there are some that can be read.
    pub fn terms(&self, name: &str) -> Option<&Terms> {
        self.names.get(name).and(self.terms.get(name)?.as_ref().ok())
    }

    /// What is wrong with the annotation, for the operator's log and for people who look.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        let whole = self.unreadable.iter().map(|why| {
            format!("No risk counts as accepted: cannot read annotation {ANNOTATION}: {why}.")
        });
        let entries = self.terms.iter().filter_map(|(name, terms)| {
            let why = terms.as_ref().err()?;
            Some(format!(
                "Risk {:?} counts as not accepted: cannot read its entry in annotation \
                {ANNOTATION}: {why}.",
                text::excerpt(name, 80)
            ))
        });
        whole.chain(entries)
    }

    /// Whether the risk of that name counts as accepted for an update to that version. `hash` is
    /// what the risk says now.
    pub fn standing(&self, name: &str, version: &str, hash: &str, now: Timestamp) -> Standing {
        if !self.names.contains(name) {
            return Standing::NotAccepted;
        }
        if let Some(why) = &self.unreadable {
            return Standing::TermsUnreadable(why.clone());
        }
        let terms = match self.terms.get(name) {
            None => return Standing::Accepted { changed: false },
            Some(Err(why)) => return Standing::TermsUnreadable(why.clone()),
            Some(Ok(terms)) => terms,
        };
        if let Some(until) = terms.until.as_ref().filter(|until| until.end <= now) {
            return Standing::Expired(until.clone());
        }
        let covers =
            |range: &Range| Version::parse(version).is_ok_and(|version| range.covers(&version));
        if let Some(versions) = terms.versions.as_ref().filter(|versions| !covers(versions)) {
            return Standing::OutOfScope(versions.clone());
        }
        Standing::Accepted { changed: self.was_for_another(name, hash) }
    }

    /// Whether the risk of that name was accepted when it said something else than now.
    pub(crate) fn was_for_another(&self, name: &str, hash: &str) -> bool {
        let terms = self.terms.get(name).and_then(|terms| terms.as_ref().ok());
        let then = terms.and_then(|terms| terms.definition.as_deref());
        self.names.contains(name) && then.is_some_and(|then| then != hash)
    }

    /// When an acceptance ends next, so that somebody can look again then.
    pub fn next_end(&self, now: Timestamp) -> Option<Timestamp> {
        let accepted = self.terms.iter().filter(|(name, _)| self.names.contains(*name));
        let ends = accepted.filter_map(|(_, terms)| Some(terms.as_ref().ok()?.until.as_ref()?.end));
        ends.filter(|end| *end > now).min()
    }
}

/// The entries of the annotation; one that cannot be read costs the others nothing.
fn terms(annotation: &str) -> Result<BTreeMap<String, Result<Terms, String>>, String> {
    if annotation.len() > ANNOTATION_BYTES {
        return Err(format!(
            "{} bytes exceed the limit of {ANNOTATION_BYTES} bytes",
            annotation.len()
        ));
    }
    let entries: BTreeMap<String, Value> =
        serde_json::from_str(annotation).map_err(|error| text::excerpt(&error.to_string(), 200))?;
    let read = |(name, value)| {
        let terms = Terms::deserialize(&value);
        (name, terms.map_err(|error: serde_json::Error| text::excerpt(&error.to_string(), 200)))
    };
    Ok(entries.into_iter().map(read).collect())
}
