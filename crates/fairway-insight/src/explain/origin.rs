//! Where a risk comes from. ClusterVersion does not say it, but what speaks in the cluster can be
//! looked at again, and names and reasons tell the rest apart.

use std::collections::BTreeSet;

use fairway_api::cluster_version::ConditionalUpdateRisk;
use fairway_api::reason::applies;
use fairway_api::{ClusterOperator, ClusterVersion, Conditions as _};
use fairway_risk::{Source, sources};

/// Everybody who publishes the risk of that name, as these updates have it.
pub(super) fn of(
    name: &str,
    risks: &[&ConditionalUpdateRisk],
    version: &ClusterVersion,
    components: &[ClusterOperator],
) -> Vec<Source> {
    let mut found: BTreeSet<Source> = said_in_cluster(name, version, components).collect();
    found.extend(risks.iter().filter_map(|risk| by_reason(risk)));
    if found.is_empty() {
        found.extend(by_name(name));
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

/// Alerts and preflights have reasons of their own.
fn by_reason(risk: &ConditionalUpdateRisk) -> Option<Source> {
    let reason = risk.conditions.find(applies::TYPE)?.reason.as_str();
    match reason {
        _ if reason == applies::ALERT_FIRING.code => Some(Source::Alert),
        _ if reason.starts_with("Preflight") => Some(Source::Preflight),
        _ => None,
    }
}

/// The names that the operator itself gives.
fn by_name(name: &str) -> Option<Source> {
    let of_operator = name.strip_prefix("ClusterOperatorUpgradeable-");
    let of_report = name.strip_prefix("RiskReport-");
    match name {
        "ClusterOperatorUpgradeableUnknown" => Some(Source::ClusterOperators),
        "ClusterVersionOverrides" => Some(Source::Overrides),
        "ClusterVersionUpdating" => Some(Source::Updating),
        "ResourceDeletionInProgress" => Some(Source::Deletions),
        "MoreAlerts" => Some(Source::Alert),
        "AdminAckUnknown" => Some(Source::AdminGate),
        _ if name.starts_with("AdminAck-") => Some(Source::AdminGate),
        _ => of_operator
            .map(|operator| Source::Upgradeable(operator.to_owned()))
            .or_else(|| of_report.map(|operator| Source::RiskReport(operator.to_owned()))),
    }
}
