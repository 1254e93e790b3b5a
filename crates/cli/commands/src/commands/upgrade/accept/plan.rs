//! What is to be written, and what comes of it.

use fairway_api::cluster_version::AcceptRisk;
use fairway_api::{ClusterVersion, ClusterVersionStatus};
use fairway_risk::Terms;
use jiff::Timestamp;
use serde_json::Value;

use super::super::stored::{How, Stored, accepted};
use super::super::{risks, similar};
use super::effect::Effect;
use super::outcome::{Accepted, Outcome};
use super::wish::Wish;
use crate::foreign_text::OneLine;

/// What is to be written, and what comes of it.
pub(super) struct Plan {
    /// A merge patch of ClusterVersion; none where nothing changes.
    pub(super) patch: Option<Value>,
    pub(super) outcome: Outcome,
    names: Vec<AcceptRisk>,
}

impl Plan {
    /// What the wish means for a ClusterVersion.
    pub(super) fn of(
        cluster_version: &ClusterVersion,
        wish: &Wish,
        now: Timestamp,
    ) -> anyhow::Result<Self> {
        let nothing = ClusterVersionStatus::default();
        let status = cluster_version.status.as_ref().unwrap_or(&nothing);
        let mut stored = Stored::of(cluster_version, wish.others)?;
        let removed = stored.retain(|name| wish.keeps(name));
        let (mut accepted, mut unchanged) = (Vec::new(), Vec::new());
        for (name, terms) in &wish.accept {
            let terms = terms_of(status, name, terms);
            match stored.accept(name, &terms)? {
                How::Already => unchanged.push(name.clone()),
                how => accepted.push(Accepted {
                    name: name.clone(),
                    terms,
                    previously_accepted: how == How::NewTerms,
                }),
            }
        }
        stored.check()?;
        let acceptance = stored.acceptance()?;

        let changed: Vec<&str> =
            accepted.iter().map(|risk| &risk.name).chain(&removed).map(String::as_str).collect();
        let patch = if changed.is_empty() { None } else { Some(stored.patch(cluster_version)?) };
        let outcome = Outcome {
            dry_run: false,
            effect: Effect::of(cluster_version, &acceptance, &changed, now),
            accept_risks: stored.names.iter().map(|risk| risk.name.clone()).collect(),
            warnings: warnings(cluster_version, status, wish),
            accepted,
            removed,
            unchanged,
        };
        Ok(Self { patch, outcome, names: stored.names })
    }

    /// Whether a server that applied the patch has kept what it asks for.
    pub(super) fn is_kept_in(&self, result: &ClusterVersion) -> bool {
        accepted(result) == self.names
    }
}

/// The terms for one risk: with what it said when somebody thought about it, which is now unless the
/// terms come from elsewhere, so that a change is noticed later.
fn terms_of(status: &ClusterVersionStatus, name: &str, terms: &Terms) -> Terms {
    let now = || risks::definition(status, name).map(fairway_risk::definition_hash);
    let definition = terms.definition.clone().or_else(now);
    Terms { definition, ..terms.clone() }
}

/// What may not be what was meant.
fn warnings(
    cluster_version: &ClusterVersion,
    status: &ClusterVersionStatus,
    wish: &Wish,
) -> Vec<String> {
    let listed = risks::all_names(status);
    let unlisted = wish.accept.keys().filter(|name| !listed.contains(name.as_str()));
    let unlisted = unlisted.map(|name| {
        let meant = did_you_mean(name, listed.iter().copied());
        format!("no available update has a risk named {}{meant}", OneLine(name))
    });
    let before = || accepted(cluster_version).iter().map(|risk| risk.name.as_str());
    let never = wish.remove.iter().filter(|name| before().all(|accepted| accepted != **name));
    let never = never.map(|name| {
        let meant = did_you_mean(name, before());
        format!("{} is not an accepted risk{meant}", OneLine(name))
    });
    unlisted.chain(never).collect()
}

fn did_you_mean<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let meant = similar::most_like(name, names);
    meant.map_or_else(String::new, |meant| format!("; did you mean {}?", OneLine(meant)))
}
