//! Risks that several clusters have.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use fairway_api::Conditions as _;
use fairway_api::cluster_version::ConditionalUpdateRisk;
use fairway_api::reason::upgradeable;
use schemars::JsonSchema;
use serde::Serialize;

use super::FleetMember;
use super::cluster::ClusterReport;
use super::target::TargetReport;
use crate::recommend::UPGRADEABLE_FALSE;

/// Unaccepted risk, and the clusters to which it applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommonRisk {
    /// Name by which the risk is accepted.
    pub name: String,
    /// Description of the risk, from the first of the clusters.
    pub message: Option<String>,
    /// Page about the risk.
    pub url: Option<String>,
    /// Names of the clusters.
    pub clusters: Vec<String>,
    /// Versions that the risk blocks.
    pub targets: BTreeSet<String>,
}

/// Unaccepted risks of all targets, the most common first.
pub(super) fn of(clusters: &[FleetMember], reports: &[ClusterReport]) -> Vec<CommonRisk> {
    let mut risks: BTreeMap<&str, CommonRisk> = BTreeMap::new();
    for (cluster, report) in clusters.iter().zip(reports) {
        for target in &report.targets {
            for name in names(target) {
                let risk = risks.entry(name).or_insert_with(|| CommonRisk::unknown(name));
                risk.add(cluster, target);
            }
        }
    }
    let mut risks: Vec<CommonRisk> = risks.into_values().collect();
    risks.sort_by_key(|risk| Reverse(risk.clusters.len()));
    risks
}

/// Names of the risks and findings that block an update.
fn names(target: &TargetReport) -> impl Iterator<Item = &str> {
    let found = target.preflight.iter().flat_map(|preflight| &preflight.findings);
    target.risks.iter().chain(found).map(String::as_str)
}

impl CommonRisk {
    fn unknown(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            message: None,
            url: None,
            clusters: Vec::new(),
            targets: BTreeSet::new(),
        }
    }

    fn add(&mut self, cluster: &FleetMember, target: &TargetReport) {
        if self.clusters.last() != Some(&cluster.name) {
            self.clusters.push(cluster.name.clone());
        }
        self.targets.insert(target.version.clone());
        if self.message.is_some() {
            return;
        }
        if let Some(defined) = definition(cluster, &self.name) {
            let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
            self.message = known(&defined.message);
            self.url = known(&defined.url);
        } else if self.name == UPGRADEABLE_FALSE {
            self.message = not_upgradeable(cluster);
        }
    }
}

/// Message of `Upgradeable`.
fn not_upgradeable(cluster: &FleetMember) -> Option<String> {
    let status = cluster.snapshot.as_ref().ok()?.version.status.as_ref()?;
    status.conditions.find(upgradeable::TYPE)?.message.clone()
}

/// Definition of a risk in a cluster.
fn definition<'a>(cluster: &'a FleetMember, name: &str) -> Option<&'a ConditionalUpdateRisk> {
    let status = cluster.snapshot.as_ref().ok()?.version.status.as_ref()?;
    let of_updates = status.conditional_updates.iter().flat_map(|update| &update.risks);
    status.conditional_update_risks.iter().chain(of_updates).find(|risk| risk.name == name)
}
