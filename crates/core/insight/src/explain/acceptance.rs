//! Whether the administrator takes a risk, and on which terms.

use fairway_api::ClusterVersion;
use fairway_risk::{Acceptance, Standing, Terms, definition_hash};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::listed::Listed;

/// Acceptance of a risk, with its terms.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// Whether `spec.desiredUpdate.acceptRisks` has the risk.
    pub listed: bool,
    /// Whether the acceptance is valid: not expired, and with valid terms.
    pub effective: bool,
    /// Whether the definition of the risk has changed since the acceptance.
    pub changed: bool,
    /// Terms of the acceptance.
    #[serde(flatten)]
    pub terms: Terms,
    /// Digest of the current definition; `definition` is the accepted one.
    pub current_definition: Option<String>,
    /// Why the terms are invalid.
    pub problem: Option<String>,
    /// State of the acceptance, for the text output.
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
        listed: standing != Standing::NotAccepted,
        effective: standing.is_accepted() || matches!(standing, Standing::OutOfScope(_)),
        changed: terms.definition.as_ref().is_some_and(is_another),
        problem: match &standing {
            Standing::TermsUnreadable(why) => Some(why.clone()),
            _ => None,
        },
        terms,
        current_definition: definition_now,
        standing,
    }
}
