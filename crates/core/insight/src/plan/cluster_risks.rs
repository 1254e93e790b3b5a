//! Risks that the cluster reports, and for which hops of a path they are valid.

use std::collections::{BTreeMap, BTreeSet};

use fairway_api::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk};
use fairway_api::reason::{applies, recommended, upgradeable};
use fairway_api::{ConditionStatus, Conditions as _, Version};
use fairway_graph::Graph;
use fairway_risk::sources::{self, AdminGate, ConfigMapData};
use fairway_risk::{AffectedUpdates, DOCS_URL, ReportedRisk, Risk, RiskAssessment, RiskSource};

use super::ClusterState;
use crate::exposure::{is_advice, publisher};

/// Risks of the operator that a plan represents in another way: the graph says whether an update is
/// offered, and an update in progress is a prerequisite.
const HANDLED_BY_PLAN: [&str; 2] =
    [recommended::NOT_OFFERED_BY_UPDATE_SERVICE.code, sources::UPDATING];

/// Risk that the cluster reports, and the hops for which it is valid.
pub(super) struct ClusterRisk {
    pub(super) concern: ReportedRisk,
    pub(super) validity: Validity,
}

/// Hops of a path for which a risk is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Validity {
    /// All hops: the risk is about the target release or the spec.
    Always,
    /// Hops that start at this minor version; the operators of later minor versions report again.
    Minor(String),
    /// Hops that start at the current version of the cluster.
    CurrentVersion,
}

impl Validity {
    /// Whether the risk is valid for updates from that version.
    pub(super) fn at(&self, from: &Version, is_current: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Minor(stream) => from.stream() == *stream,
            Self::CurrentVersion => is_current,
        }
    }
}

/// Name of the risk for `Upgradeable=False` of ClusterVersion without a more specific risk. The
/// name is that of `oc adm upgrade recommend`; the operator does not know it, so it cannot be
/// accepted.
pub(super) const UPGRADEABLE_FALSE: &str = "UpgradeableFalse";

/// Admin gates and their acknowledgements. An error is why a ConfigMap could not be read; like the
/// operator, the plan then treats the gates as unknown.
#[derive(Clone, Debug)]
pub struct AdminGates {
    /// Data of ConfigMap `openshift-config-managed/admin-gates`.
    pub gates: Result<ConfigMapData, String>,
    /// Data of ConfigMap `openshift-config/admin-acks`.
    pub acks: Result<ConfigMapData, String>,
}

impl Default for AdminGates {
    fn default() -> Self {
        Self { gates: Ok(ConfigMapData::new()), acks: Ok(ConfigMapData::new()) }
    }
}

/// Risks that the cluster reports, and the unacknowledged admin gates by the name of their risk.
pub(super) fn of(
    cluster: &ClusterState,
    graph: &Graph,
) -> (Vec<ClusterRisk>, BTreeMap<String, AdminGate>) {
    let stream = cluster.version().map(|version| version.stream()).unwrap_or_default();
    let mut risks: Vec<ClusterRisk> = sources::cluster_operators(cluster.components)
        .into_iter()
        .map(|concern| {
            let validity = match concern.source {
                RiskSource::Upgradeable(_) => Validity::Minor(stream.clone()),
                _ => Validity::Always,
            };
            ClusterRisk { concern, validity }
        })
        .collect();
    let operators_error = cluster.operators_error.map(sources::unlisted_cluster_operators);
    let in_stream = |concern| ClusterRisk { concern, validity: Validity::Minor(stream.clone()) };
    risks.extend(operators_error.map(in_stream));
    let overrides = sources::overrides(&cluster.cluster_version.spec.overrides);
    risks.extend(overrides.map(|concern| ClusterRisk { concern, validity: Validity::Always }));
    let mut open_gates = BTreeMap::new();
    let AdminGates { gates, acks } = cluster.gates;
    // Unreadable gates are unknown only for the current minor version; later ones may be readable.
    let is_known_now = |version: &Version| gates.is_ok() || version.stream() == stream;
    for version in one_of_each_stream(graph).filter(is_known_now) {
        let [gates, acks] = [gates, acks].map(|it| it.as_ref().map_err(String::as_str));
        let open = sources::admin_gates(&version.to_string(), gates, acks);
        let validity = Validity::Minor(version.stream());
        risks.extend(
            open.into_iter().map(|concern| ClusterRisk { concern, validity: validity.clone() }),
        );
    }
    if let (Ok(gates), Ok(acks)) = (gates, acks) {
        let open = sources::unacknowledged(|_| true, gates, acks);
        open_gates.extend(open.map(|gate| (gate.name.clone(), gate)));
    }
    let is_explained = risks.iter().any(|it| {
        it.concern.targets == AffectedUpdates::MinorOrMajor && it.concern.risk.claim.is_none()
    });
    risks.extend(not_upgradeable(cluster).filter(|_| !is_explained).map(in_stream));
    (risks, open_gates)
}

/// `Upgradeable=False` of ClusterVersion, if the operator publishes no risk ledger that has the
/// individual risks.
fn not_upgradeable(cluster: &ClusterState) -> Option<ReportedRisk> {
    let status = cluster.cluster_version.status.as_ref()?;
    let has_ledger = !status.conditional_update_risks.is_empty()
        || status.conditional_updates.iter().any(|update| !update.risk_names.is_empty());
    let condition = status.conditions.find(upgradeable::TYPE)?;
    if has_ledger || condition.status != ConditionStatus::False {
        return None;
    }
    let texts = [&condition.message, &condition.reason].into_iter().flatten();
    let message = texts.map(String::as_str).find(|text| !text.trim().is_empty());
    let message = message.unwrap_or("No reason in ClusterVersion.");
    let risk = Risk::always(UPGRADEABLE_FALSE, message, format!("{DOCS_URL}#cluster-operators"));
    Some(ReportedRisk {
        risk,
        source: RiskSource::ClusterOperators,
        targets: AffectedUpdates::MinorOrMajor,
    })
}

fn one_of_each_stream(graph: &Graph) -> impl Iterator<Item = Version> {
    let streams: BTreeSet<(u64, u64)> =
        graph.nodes().iter().map(|node| (node.version.major(), node.version.minor())).collect();
    streams.into_iter().map(|(major, minor)| Version::new(major, minor, 0))
}

/// Risks that only the operator knows: alerts, preflight findings, objects in deletion. `is_known`
/// returns whether the update from the current version to a version already has the risk of a name.
pub(super) fn published(
    cluster: &ClusterState,
    is_known: impl Fn(&str, &str) -> bool,
) -> Vec<ClusterRisk> {
    let Some(status) = &cluster.cluster_version.status else { return Vec::new() };
    let stream = cluster.version().map(|version| version.stream()).unwrap_or_default();
    let mut risks = Vec::new();
    for update in &status.conditional_updates {
        let spelled_out = update.risks.iter();
        let by_name = status.conditional_update_risks.iter();
        let by_name = by_name.filter(|risk| update.risk_names.contains(&risk.name));
        let mut seen = BTreeSet::new();
        for risk in spelled_out.chain(by_name) {
            let name = risk.name.as_str();
            let is_known =
                HANDLED_BY_PLAN.contains(&name) || is_known(&update.release.version, name);
            if is_known || !seen.insert(name) {
                continue;
            }
            let concern = concern(update, risk);
            // A preflight finding is about the target release, whatever the source version.
            let validity = match concern.source {
                RiskSource::Preflight => Validity::Always,
                _ if is_reported_per_minor(name) => Validity::Minor(stream.clone()),
                _ => Validity::CurrentVersion,
            };
            risks.push(ClusterRisk { concern, validity });
        }
    }
    risks
}

/// Whether the operator of a later minor version reports the risk again.
fn is_reported_per_minor(name: &str) -> bool {
    let source = sources::source_of(name);
    matches!(
        source,
        Some(RiskSource::AdminGate | RiskSource::ClusterOperators | RiskSource::Upgradeable(_))
    )
}

fn concern(update: &ConditionalUpdate, risk: &ConditionalUpdateRisk) -> ReportedRisk {
    let applies = risk.conditions.find(applies::TYPE);
    let claim = applies.map(|applies| {
        let claim = RiskAssessment::new(applies.status.clone(), &applies.reason, &applies.message);
        // Risks of a recommended update and of incomplete preflights do not block.
        let is_advice_only =
            update.conditions.is_true(recommended::TYPE) || is_advice(&claim.reason);
        if is_advice_only { claim.as_advisory() } else { claim }
    });
    let range = update.release.version.parse().ok();
    ReportedRisk {
        risk: Risk {
            name: risk.name.clone(),
            message: risk.message.clone(),
            url: risk.url.clone(),
            matching_rules: risk.matching_rules.clone(),
            claim,
        },
        source: publisher(applies).unwrap_or(RiskSource::Graph),
        targets: range.map_or(AffectedUpdates::All, AffectedUpdates::Range),
    }
}
