//! What the cluster itself says against updates, and how far along the way that holds.

use std::collections::{BTreeMap, BTreeSet};

use fairway_api::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk};
use fairway_api::reason::{applies, recommended};
use fairway_api::{Conditions as _, Version};
use fairway_graph::Graph;
use fairway_risk::sources::{self, ConfigData, Gate};
use fairway_risk::{Claim, Concern, Risk, Source, Targets};

use super::Outlook;

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

/// What administrators are asked to confirm, and what they have confirmed.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    /// The data of `openshift-config-managed/admin-gates`.
    pub asked: ConfigData,
    /// The data of `openshift-config/admin-acks`.
    pub confirmed: ConfigData,
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
    let overrides = sources::overrides(&outlook.cluster_version.spec.overrides);
    raised.extend(overrides.map(|concern| Raised { concern, holds: Holds::Always }));
    let mut gates = BTreeMap::new();
    if let Some(Gates { asked, confirmed }) = outlook.gates {
        for version in one_of_each_stream(graph) {
            let open = sources::admin_gates(&version.to_string(), Ok(asked), Ok(confirmed));
            let holds = Holds::In(version.stream());
            raised.extend(open.into_iter().map(|concern| Raised { concern, holds: holds.clone() }));
        }
        let open = sources::unconfirmed(|_| true, asked, confirmed);
        gates.extend(open.map(|gate| (gate.name.clone(), gate)));
    }
    (raised, gates)
}

fn one_of_each_stream(graph: &Graph) -> impl Iterator<Item = Version> {
    let streams: BTreeSet<(u64, u64)> =
        graph.nodes().iter().map(|node| (node.version.major(), node.version.minor())).collect();
    streams.into_iter().map(|(major, minor)| Version::new(major, minor, 0))
}

/// What the operator has published about the next update and nobody else knows: alerts, findings of
/// preflights, what is being deleted. `known` are the names of all other risks.
pub(super) fn published(outlook: &Outlook, known: &[&str]) -> Vec<Raised> {
    let Some(status) = &outlook.cluster_version.status else { return Vec::new() };
    let mut raised = Vec::new();
    for update in &status.conditional_updates {
        let spelled_out = update.risks.iter();
        let by_name = status.conditional_update_risks.iter();
        let by_name = by_name.filter(|risk| update.risk_names.contains(&risk.name));
        let mut seen = BTreeSet::new();
        for risk in spelled_out.chain(by_name) {
            let name = risk.name.as_str();
            if SEEN_OTHERWISE.contains(&name) || known.contains(&name) || !seen.insert(name) {
                continue;
            }
            raised.push(Raised { concern: concern(update, risk), holds: Holds::Here });
        }
    }
    raised
}

fn concern(update: &ConditionalUpdate, risk: &ConditionalUpdateRisk) -> Concern {
    let claim = risk.conditions.find(applies::TYPE).map(|applies| {
        let claim = Claim::new(applies.status.clone(), &applies.reason, &applies.message);
        // What is recommended all the same is held up by nothing, and neither is anything by
        // preflights that are not complete.
        let holds_nothing_up = update.conditions.is_true(recommended::TYPE)
            || is_of_preflight(&claim.reason) && claim.reason != applies::PREFLIGHT_VALIDATION.code;
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
        source: origin(risk),
        targets: range.map_or(Targets::All, Targets::Range),
    }
}

/// Where the operator has a risk from, as far as it says.
fn origin(risk: &ConditionalUpdateRisk) -> Source {
    let reason = risk.conditions.find(applies::TYPE).map_or("", |applies| applies.reason.as_str());
    match reason {
        _ if reason == applies::ALERT_FIRING.code => Source::Alert,
        _ if is_of_preflight(reason) => Source::Preflight,
        _ => Source::Graph,
    }
}

fn is_of_preflight(reason: &str) -> bool {
    reason.starts_with("Preflight")
}
