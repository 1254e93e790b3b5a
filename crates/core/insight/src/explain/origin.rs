//! Where a risk comes from. ClusterVersion does not say it, but what speaks in the cluster can be
//! looked at again, and names and reasons tell the rest apart.

use std::collections::BTreeSet;

use fairway_api::cluster_version::ConditionalUpdateRisk;
use fairway_api::reason::applies;
use fairway_api::{ClusterOperator, ClusterVersion, Conditions as _};
use fairway_risk::{Source, sources};

use crate::exposure::publisher;

/// Everybody who publishes the risk of that name, as these updates have it.
pub(super) fn of(
    name: &str,
    risks: &[&ConditionalUpdateRisk],
    version: &ClusterVersion,
    components: &[ClusterOperator],
) -> Vec<Source> {
    let mut found: BTreeSet<Source> = said_in_cluster(name, version, components).collect();
    let applies = risks.iter().map(|risk| risk.conditions.find(applies::TYPE));
    found.extend(applies.filter_map(publisher));
    if found.is_empty() {
        found.extend(sources::source_of(name));
    }
    let asks = |risk: &&ConditionalUpdateRisk| {
        risk.matching_rules.iter().any(|rule| rule.promql.is_some())
    };
    let is_published = !risks.is_empty();
    if is_published && (found.is_empty() || risks.iter().any(asks)) {
        found.insert(Source::Graph);
    }
    found.into_iter().collect()
}

/// What can be looked at again.
fn said_in_cluster(
    name: &str,
    version: &ClusterVersion,
    components: &[ClusterOperator],
) -> impl Iterator<Item = Source> {
    let conditions = version.status.as_ref().map_or(&[][..], |status| &status.conditions);
    let concerns = sources::cluster_operators(components)
        .into_iter()
        .chain(sources::overrides(&version.spec.overrides))
        .chain(sources::updating(conditions));
    concerns.filter(move |concern| concern.risk.name == name).map(|concern| concern.source)
}
