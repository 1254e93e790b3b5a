//! Unaccepted risks of an update. A request accepts exactly the risks that it shows.

use std::fmt;

use fairway_api::cluster_version::ConditionalUpdate;
use fairway_api::{ClusterVersion, ClusterVersionStatus};
use fairway_risk::{Acceptance, AcceptanceState, AcceptanceTerms};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::risks::{self, Exposure, exposure_text};
use crate::errors::OpenRisk;
use crate::foreign_text::OneLine;

/// Risk that blocks an update.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UnacceptedRisk {
    /// Name by which the risk is accepted.
    pub(super) name: String,
    /// Whether the risk applies to the cluster.
    pub(super) exposure: Exposure,
    /// Description of the risk.
    pub(super) message: Option<String>,
    /// Page about the risk.
    pub(super) url: Option<String>,
    #[serde(skip)]
    acceptance_state: AcceptanceState,
}

/// Unaccepted risks of an update that apply or may apply.
pub(super) fn unaccepted_risks(
    cluster_version: &ClusterVersion,
    status: &ClusterVersionStatus,
    update: &ConditionalUpdate,
    now: Timestamp,
) -> Vec<UnacceptedRisk> {
    let acceptance = risks::acceptance(cluster_version);
    let risks = risks::names(update).into_iter().map(|name| {
        let definition = risks::definition(status, name);
        let acceptance_state = acceptance_state(&acceptance, status, update, name, now);
        UnacceptedRisk {
            name: name.to_owned(),
            exposure: Exposure::of(status, update, name, acceptance_state.is_accepted()),
            message: definition.map(|risk| risk.message.clone()),
            url: definition.map(|risk| risk.url.clone()),
            acceptance_state,
        }
    });
    risks
        .filter(|risk| {
            risk.exposure != Exposure::NotExposed && !risk.acceptance_state.is_accepted()
        })
        .collect()
}

fn acceptance_state(
    acceptance: &Acceptance,
    status: &ClusterVersionStatus,
    update: &ConditionalUpdate,
    name: &str,
    now: Timestamp,
) -> AcceptanceState {
    let hash = risks::definition_hash(status, name);
    acceptance.state(name, &update.release.version, &hash, now)
}

impl UnacceptedRisk {
    /// Whether the risk was never accepted, with any terms.
    pub(super) fn is_new(&self) -> bool {
        self.acceptance_state == AcceptanceState::NotAccepted
    }

    /// The risk in the document of a refusal.
    pub(super) fn refusal(&self) -> OpenRisk {
        OpenRisk {
            name: self.name.clone(),
            exposure: self.exposure.into(),
            message: self.message.clone(),
            url: self.url.clone(),
            acceptance: self.acceptance_state.as_str(),
        }
    }

    /// Terms of the acceptance: for this version, and those of a previous acceptance.
    pub(super) fn terms(
        &self,
        status: &ClusterVersionStatus,
        version: &str,
        by: Option<&str>,
    ) -> AcceptanceTerms {
        let versions = match &self.acceptance_state {
            AcceptanceState::OutOfScope(others) => format!("{others} || {version}"),
            _ => version.to_owned(),
        };
        AcceptanceTerms {
            versions: versions.parse().ok(),
            by: by.map(str::to_owned),
            definition: risks::definition(status, &self.name).map(fairway_risk::definition_hash),
            ..AcceptanceTerms::default()
        }
    }
}

impl fmt::Display for UnacceptedRisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", OneLine(&self.name), exposure_text(self.exposure))
    }
}
