//! Whether the administrator takes a risk, and on which terms.

use fairway_api::ClusterVersion;
use fairway_risk::{Acceptance, Standing, Terms, definition_hash};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::listed::Listed;

/// Whether the administrator takes a risk, and on which terms.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// Whether `spec.desiredUpdate` names it.
    pub named: bool,
    /// Whether that counts at present: it has not expired, and its terms can be read.
    pub counts: bool,
    /// Whether the risk says something else than it did then.
    pub changed: bool,
    /// By whom, why, until when, for which versions, and what the risk said then.
    #[serde(flatten)]
    pub terms: Terms,
    /// What the risk says now, as `definition` is what it said then.
    pub definition_now: Option<String>,
    /// What is wrong with the terms.
    pub problem: Option<String>,
    /// The same as a sentence is made of it.
    #[serde(skip)]
    pub standing: Standing,
}

/// Whether the risk of that name is accepted, for whichever version.
pub(super) fn of(name: &str, version: &ClusterVersion, now: Timestamp) -> Accepted {
    let acceptance = Acceptance::of(version);
    let definition_now = Listed::of(version).whole(name).map(definition_hash);
    let hash = definition_now.as_deref().unwrap_or_default();
    let standing = acceptance.standing(name, "", hash, now);
    let terms = acceptance.terms(name).cloned().unwrap_or_default();
    let is_another = |then: &String| definition_now.as_ref().is_some_and(|now| now != then);
    Accepted {
        named: standing != Standing::NotAccepted,
        counts: standing.is_accepted() || matches!(standing, Standing::OutOfScope(_)),
        changed: terms.definition.as_ref().is_some_and(is_another),
        problem: match &standing {
            Standing::TermsUnreadable(why) => Some(why.clone()),
            _ => None,
        },
        terms,
        definition_now,
        standing,
    }
}
