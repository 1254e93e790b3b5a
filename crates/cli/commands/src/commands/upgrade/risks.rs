//! Risks of updates in ClusterVersion.

use std::collections::BTreeSet;

use fairway_api::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk};
use fairway_api::{ClusterVersion, ClusterVersionStatus, Version};
use fairway_risk::{ANNOTATION, Acceptance};
use jiff::Timestamp;

use crate::errors;

pub(super) use fairway_insight::Exposure;
pub(super) use fairway_insight::exposure::applies_condition;

/// Definition of a risk for all updates, which is what an administrator accepts.
pub(super) fn definition<'a>(
    status: &'a ClusterVersionStatus,
    name: &str,
) -> Option<&'a ConditionalUpdateRisk> {
    let of_updates = status.conditional_updates.iter().flat_map(|update| &update.risks);
    status.conditional_update_risks.iter().chain(of_updates).find(|risk| risk.name == name)
}

/// Digest of the definition of a risk, empty if it is unknown.
pub(super) fn definition_hash(status: &ClusterVersionStatus, name: &str) -> String {
    definition(status, name).map(fairway_risk::definition_hash).unwrap_or_default()
}

/// Names of the risks of an update.
pub(super) fn names(update: &ConditionalUpdate) -> BTreeSet<&str> {
    let spelled_out = update.risks.iter().map(|risk| &risk.name);
    spelled_out.chain(&update.risk_names).map(String::as_str).collect()
}

/// Names of all risks.
pub(super) fn all_names(status: &ClusterVersionStatus) -> BTreeSet<&str> {
    let ledger = status.conditional_update_risks.iter().map(|risk| risk.name.as_str());
    ledger.chain(status.conditional_updates.iter().flat_map(names)).collect()
}

/// Accepted risks with their terms.
pub(super) fn acceptance(cluster_version: &ClusterVersion) -> Acceptance {
    Acceptance::from_cluster_version(cluster_version)
}

/// Whether any risk is accepted for updates to a version. Then further risks are new to the
/// administrator.
pub(super) fn any_accepted_for(acceptance: &Acceptance, version: &str, now: Timestamp) -> bool {
    acceptance.names().any(|name| acceptance.state(name, version, "", now).is_accepted())
}

/// Annotation with the acceptance terms.
pub(super) fn annotation(cluster_version: &ClusterVersion) -> Option<&str> {
    cluster_version.metadata.annotations.as_ref()?.get(ANNOTATION).map(String::as_str)
}

/// Sort key: latest version first, invalid versions last.
pub(super) fn latest_first(version: &str) -> impl Ord + use<> {
    std::cmp::Reverse((Version::parse(version).ok(), version.to_owned()))
}

/// Text of an exposure, for lists of risks that apply or may apply.
pub(super) fn exposure_text(exposure: Exposure) -> &'static str {
    match exposure {
        Exposure::Exposed => "applies",
        Exposure::NotExposed => "does not apply",
        Exposure::Unknown | Exposure::NotReported | Exposure::NotEvaluated => "may apply",
    }
}

// The JSON document of failures only has risks that apply or may apply.
impl From<Exposure> for errors::Exposure {
    fn from(exposure: Exposure) -> Self {
        match exposure {
            Exposure::Exposed => Self::Exposed,
            _ => Self::Unknown,
        }
    }
}
