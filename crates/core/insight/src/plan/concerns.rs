//! What the cluster itself says against updates, and how far along the way that holds.

use std::collections::{BTreeMap, BTreeSet};

use fairway_api::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk};
use fairway_api::reason::{applies, recommended, upgradeable};
use fairway_api::{ConditionStatus, Conditions as _, Version};
use fairway_graph::Graph;
use fairway_risk::sources::{self, ConfigData, Gate};
use fairway_risk::{Claim, Concern, DOCS, Risk, Source, Targets};

use super::Outlook;
use crate::exposure::{is_advice, publisher};

/// Risks of the operator that a plan sees otherwise: whether an update is offered is what the graph
/// says, and an update that is under way is waited for.
const SEEN_OTHERWISE: [&str; 2] =
    [recommended::NOT_OFFERED_BY_UPDATE_SERVICE.code, sources::UPDATING];

/// A concern, and how far along the way it holds.
pub(super) struct Raised {
    pub(super) concern: Concern,
    pub(super) holds: Holds,
}

/// How far along the way a concern holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Wherever the cluster is: it is about the target, or the spec.
    Always,
    /// For as long as the cluster has that minor version: later ones say it anew.
    In(String),
    /// Where the cluster is now.
    Here,
}

impl Holds {
    /// Whether it holds for updates that begin at that version.
    pub(super) fn at(&self, from: &Version, is_here: bool) -> bool {
        match self {
            Self::Always => true,
            Self::In(stream) => from.stream() == *stream,
            Self::Here => is_here,
        }
    }
}

/// That ClusterVersion is not upgradeable, where nobody else says why. It goes by the name that
/// `oc` has for it, and nobody can accept it.
pub(super) const UPGRADEABLE_FALSE: &str = "UpgradeableFalse";

/// What administrators are asked to confirm, and what they have confirmed. An error says why it
/// cannot be read: as for the operator, gates that are not there are not known.
#[derive(Clone, Debug)]
pub struct Gates {
    /// The data of `openshift-config-managed/admin-gates`.
    pub asked: Result<ConfigData, String>,
    /// The data of `openshift-config/admin-acks`.
    pub confirmed: Result<ConfigData, String>,
}

impl Default for Gates {
    fn default() -> Self {
        Self { asked: Ok(ConfigData::new()), confirmed: Ok(ConfigData::new()) }
    }
}

/// What the cluster says, and the gates that nobody has confirmed, by the names of their risks.
pub(super) fn of(outlook: &Outlook, graph: &Graph) -> (Vec<Raised>, BTreeMap<String, Gate>) {
    let stream = outlook.version().map(|version| version.stream()).unwrap_or_default();
    let mut raised: Vec<Raised> = sources::cluster_operators(outlook.components)
        .into_iter()
        .map(|concern| {
            let holds = match concern.source {
                Source::Upgradeable(_) => Holds::In(stream.clone()),
                _ => Holds::Always,
            };
            Raised { concern, holds }
        })
        .collect();
    let unlisted = outlook.unlisted.map(sources::unlisted_cluster_operators);
    let in_stream = |concern| Raised { concern, holds: Holds::In(stream.clone()) };
    raised.extend(unlisted.map(in_stream));
    let overrides = sources::overrides(&outlook.cluster_version.spec.overrides);
    raised.extend(overrides.map(|concern| Raised { concern, holds: Holds::Always }));
    let mut gates = BTreeMap::new();
    let Gates { asked, confirmed } = outlook.gates;
    // Gates that cannot be read are not known now; later minor versions say it anew.
    let is_said = |version: &Version| asked.is_ok() || version.stream() == stream;
    for version in one_of_each_stream(graph).filter(is_said) {
        let [asked, confirmed] = [asked, confirmed].map(|it| it.as_ref().map_err(String::as_str));
        let open = sources::admin_gates(&version.to_string(), asked, confirmed);
        let holds = Holds::In(version.stream());
        raised.extend(open.into_iter().map(|concern| Raised { concern, holds: holds.clone() }));
    }
    if let (Ok(asked), Ok(confirmed)) = (asked, confirmed) {
        let open = sources::unconfirmed(|_| true, asked, confirmed);
        gates.extend(open.map(|gate| (gate.name.clone(), gate)));
    }
    let is_explained = raised
        .iter()
        .any(|it| it.concern.targets == Targets::MinorOrMajor && it.concern.risk.claim.is_none());
    raised.extend(not_upgradeable(outlook).filter(|_| !is_explained).map(in_stream));
    (raised, gates)
}

/// What ClusterVersion sums up, where no ledger has counted it risk by risk.
fn not_upgradeable(outlook: &Outlook) -> Option<Concern> {
    let status = outlook.cluster_version.status.as_ref()?;
    let has_ledger = !status.conditional_update_risks.is_empty()
        || status.conditional_updates.iter().any(|update| !update.risk_names.is_empty());
    let condition = status.conditions.find(upgradeable::TYPE)?;
    if has_ledger || condition.status != ConditionStatus::False {
        return None;
    }
    let told = [&condition.message, &condition.reason].into_iter().flatten();
    let message = told.map(String::as_str).find(|text| !text.trim().is_empty());
    let message = message.unwrap_or("ClusterVersion gives no reason.");
    let risk = Risk::always(UPGRADEABLE_FALSE, message, format!("{DOCS}#cluster-operators"));
    Some(Concern { risk, source: Source::ClusterOperators, targets: Targets::MinorOrMajor })
}

fn one_of_each_stream(graph: &Graph) -> impl Iterator<Item = Version> {
    let streams: BTreeSet<(u64, u64)> =
        graph.nodes().iter().map(|node| (node.version.major(), node.version.minor())).collect();
    streams.into_iter().map(|(major, minor)| Version::new(major, minor, 0))
}

/// What the operator has published about the next update and nobody else knows: alerts, findings of
/// preflights, what is being deleted. `is_known` tells of a version and a name whether the update
/// from here to there has that risk anyhow.
pub(super) fn published(outlook: &Outlook, is_known: impl Fn(&str, &str) -> bool) -> Vec<Raised> {
    let Some(status) = &outlook.cluster_version.status else { return Vec::new() };
    let stream = outlook.version().map(|version| version.stream()).unwrap_or_default();
    let mut raised = Vec::new();
    for update in &status.conditional_updates {
        let spelled_out = update.risks.iter();
        let by_name = status.conditional_update_risks.iter();
        let by_name = by_name.filter(|risk| update.risk_names.contains(&risk.name));
        let mut seen = BTreeSet::new();
        for risk in spelled_out.chain(by_name) {
            let name = risk.name.as_str();
            let is_known =
                SEEN_OTHERWISE.contains(&name) || is_known(&update.release.version, name);
            if is_known || !seen.insert(name) {
                continue;
            }
            let concern = concern(update, risk);
            // What a preflight finds is about the release, wherever the cluster comes from.
            let holds = match concern.source {
                Source::Preflight => Holds::Always,
                _ if is_said_anew(name) => Holds::In(stream.clone()),
                _ => Holds::Here,
            };
            raised.push(Raised { concern, holds });
        }
    }
    raised
}

/// Whether later minor versions say it anew.
fn is_said_anew(name: &str) -> bool {
    let source = sources::source_of(name);
    matches!(source, Some(Source::AdminGate | Source::ClusterOperators | Source::Upgradeable(_)))
}

fn concern(update: &ConditionalUpdate, risk: &ConditionalUpdateRisk) -> Concern {
    let applies = risk.conditions.find(applies::TYPE);
    let claim = applies.map(|applies| {
        let claim = Claim::new(applies.status.clone(), &applies.reason, &applies.message);
        // What is recommended all the same is held up by nothing, and neither is anything by
        // preflights that are not complete.
        let holds_nothing_up =
            update.conditions.is_true(recommended::TYPE) || is_advice(&claim.reason);
        if holds_nothing_up { claim.as_advice() } else { claim }
    });
    let range = update.release.version.parse().ok();
    Concern {
        risk: Risk {
            name: risk.name.clone(),
            message: risk.message.clone(),
            url: risk.url.clone(),
            matching_rules: risk.matching_rules.clone(),
            claim,
        },
        source: publisher(applies).unwrap_or(Source::Graph),
        targets: range.map_or(Targets::All, Targets::Range),
    }
}
