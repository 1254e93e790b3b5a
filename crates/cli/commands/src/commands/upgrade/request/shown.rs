//! The risks that stand against an update: they are shown, and only what is shown is accepted.

use fairway_api::cluster_version::ConditionalUpdate;
use fairway_api::{ClusterVersion, ClusterVersionStatus};
use fairway_risk::{Acceptance, Standing, Terms};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::risks::{self, Exposure};
use crate::errors::{self, OpenRisk};

/// Risk that blocks an update.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Shown {
    /// Name by which the risk is accepted.
    pub(super) name: String,
    /// Whether the risk applies to the cluster.
    pub(super) exposure: Exposure,
    /// Description of the risk.
    pub(super) message: Option<String>,
    /// Page about the risk.
    pub(super) url: Option<String>,
    #[serde(skip)]
    standing: Standing,
}

/// The risks of an update that apply, or may do so, and are not accepted.
pub(super) fn open_risks(
    cluster_version: &ClusterVersion,
    status: &ClusterVersionStatus,
    update: &ConditionalUpdate,
    now: Timestamp,
) -> Vec<Shown> {
    let acceptance = risks::acceptance(cluster_version);
    let shown = risks::names(update).into_iter().map(|name| {
        let definition = risks::definition(status, name);
        let standing = standing(&acceptance, status, update, name, now);
        Shown {
            name: name.to_owned(),
            exposure: Exposure::of(status, update, name, standing.is_accepted()),
            message: definition.map(|risk| risk.message.clone()),
            url: definition.map(|risk| risk.url.clone()),
            standing,
        }
    });
    shown
        .filter(|risk| risk.exposure != Exposure::NotExposed && !risk.standing.is_accepted())
        .collect()
}

fn standing(
    acceptance: &Acceptance,
    status: &ClusterVersionStatus,
    update: &ConditionalUpdate,
    name: &str,
    now: Timestamp,
) -> Standing {
    let hash = risks::definition_hash(status, name);
    acceptance.standing(name, &update.release.version, &hash, now)
}

impl Shown {
    /// Whether nobody has ever accepted it, on whatever terms.
    pub(super) fn was_never_accepted(&self) -> bool {
        self.standing == Standing::NotAccepted
    }

    /// What a refusal says about it.
    pub(super) fn refused(&self) -> OpenRisk {
        OpenRisk {
            name: self.name.clone(),
            exposure: match self.exposure {
                Exposure::Exposed => errors::Exposure::Exposed,
                _ => errors::Exposure::Unknown,
            },
            message: self.message.clone(),
            url: self.url.clone(),
            acceptance: self.standing.word(),
        }
    }

    /// The terms on which it is accepted: for this version, and those for which it was before.
    pub(super) fn terms(
        &self,
        status: &ClusterVersionStatus,
        version: &str,
        by: Option<&str>,
    ) -> Terms {
        let versions = match &self.standing {
            Standing::OutOfScope(others) => format!("{others} || {version}"),
            _ => version.to_owned(),
        };
        Terms {
            versions: versions.parse().ok(),
            by: by.map(str::to_owned),
            definition: risks::definition(status, &self.name).map(fairway_risk::definition_hash),
            ..Terms::default()
        }
    }
}
