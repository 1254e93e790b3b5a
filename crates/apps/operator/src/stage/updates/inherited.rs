//! Updates of the last status, which apply until the update service answers.
//!
//! A restart of the operator during an outage of the update service does not remove updates that a
//! client waits for. No update becomes more recommended: all risks of the status are evaluated again.

use std::sync::Arc;

use fairway_api::cluster_version::{ClusterVersionStatus, ConditionalUpdateRisk};
use fairway_api::reason::retrieved_updates;
use fairway_api::{ClusterVersion, ConditionStatus, Conditions as _};
use fairway_cincinnati::query::RunningRelease;
use fairway_risk::{CandidateUpdate, Risk};
use jiff::Timestamp;
use tokio::time::Instant;

use super::graph_cache::GRAPH_TTL;
use super::same_content;

/// Updates of a status that another operator wrote.
#[derive(Debug)]
pub(super) struct Inherited {
    pub(super) candidates: Arc<[CandidateUpdate]>,
    /// Expiry: for decisions, and for messages.
    pub(super) until: Instant,
    pub(super) until_time: Timestamp,
}

impl Inherited {
    /// The updates of the status, if it is about this release and this generation of the spec.
    pub(super) fn from_status(
        cluster_version: &ClusterVersion,
        current: &RunningRelease,
        (now, time): (Instant, Timestamp),
    ) -> Option<Self> {
        let status = cluster_version.status.as_ref()?;
        let is_about_this = same_content(&status.desired.image, &current.image)
            && Some(status.observed_generation) == cluster_version.metadata.generation;
        let since = since(status, time).filter(|_| is_about_this)?;
        let until_time = since + GRAPH_TTL;
        let left = until_time.duration_since(time).try_into().ok()?;
        let candidates = candidates(status);
        let until = now + GRAPH_TTL.min(left);
        (!candidates.is_empty()).then_some(Self { candidates, until, until_time })
    }
}

/// The time since which the updates of the status are not confirmed.
fn since(status: &ClusterVersionStatus, now: Timestamp) -> Option<Timestamp> {
    let retrieved = status.conditions.find(retrieved_updates::TYPE)?;
    match retrieved.status {
        ConditionStatus::True => Some(now),
        // The clock may have been wrong.
        _ => Some(retrieved.last_transition_time.as_ref()?.0.min(now)),
    }
}

/// The candidates of a status. Of an update in both lists, the one with risks comes first.
fn candidates(status: &ClusterVersionStatus) -> Arc<[CandidateUpdate]> {
    let conditional = status.conditional_updates.iter().map(|update| CandidateUpdate {
        release: update.release.clone(),
        risks: update.risks.iter().map(risk).collect(),
    });
    let available = status.available_updates.iter().flatten();
    let available =
        available.map(|release| CandidateUpdate { release: release.clone(), risks: Vec::new() });
    conditional.chain(available).collect()
}

fn risk(published: &ConditionalUpdateRisk) -> Arc<Risk> {
    Arc::new(Risk {
        name: published.name.clone(),
        message: published.message.clone(),
        url: published.url.clone(),
        matching_rules: published.matching_rules.clone(),
        claim: None,
    })
}

#[cfg(test)]
mod tests {
    use fairway_api::OperatorCondition;
    use fairway_api::cluster_version::{
        ConditionalUpdate, MatchingRule, MatchingRuleType, PromQl, Release,
    };
    use fairway_testkit::objects;
    use std::time::Duration;

    use super::*;

    fn noon() -> Timestamp {
        "2026-11-15T12:00:00Z".parse().unwrap()
    }

    fn current(version: &str) -> RunningRelease {
        let Release { version, image, .. } = objects::release(version);
        RunningRelease { version, image, ..RunningRelease::default() }
    }

    /// A cluster at 5.1.0 with an update without risks, and a recommended one with a risk.
    /// `RetrievedUpdates` changed that many hours before noon.
    fn cluster_version(retrieved: bool, hours: i64) -> ClusterVersion {
        let risk = ConditionalUpdateRisk {
            name: "SomeRisk".to_owned(),
            message: "It may break.".to_owned(),
            url: "https://example.com".to_owned(),
            matching_rules: vec![MatchingRule {
                type_: MatchingRuleType::PromQl,
                promql: Some(PromQl { promql: "up".to_owned(), ..PromQl::default() }),
                ..MatchingRule::default()
            }],
            ..ConditionalUpdateRisk::default()
        };
        let risky = ConditionalUpdate {
            release: objects::release("5.2.0"),
            risks: vec![risk],
            ..ConditionalUpdate::default()
        };
        let mut status = ClusterVersionStatus {
            observed_generation: 3,
            available_updates: Some(vec![objects::release("5.2.0"), objects::release("5.1.1")]),
            conditional_updates: vec![risky],
            ..objects::status_at("5.1.0")
        };
        let condition = OperatorCondition::new(retrieved_updates::TYPE, retrieved);
        let changed = noon() - jiff::SignedDuration::from_hours(hours);
        status.conditions.set(condition, changed);
        let mut object = objects::cluster_version();
        object.metadata.generation = Some(3);
        object.status = Some(status);
        object
    }

    fn inherited(
        object: &ClusterVersion,
        current: &RunningRelease,
    ) -> Option<(Duration, Vec<CandidateUpdate>)> {
        let now = Instant::now();
        let inherited = Inherited::from_status(object, current, (now, noon()))?;
        Some((inherited.until - now, inherited.candidates.to_vec()))
    }

    #[test]
    fn inherited_risks_are_evaluated_again() {
        let (_, candidates) = inherited(&cluster_version(true, 1000), &current("5.1.0")).unwrap();
        let ledger = fairway_risk::Ledger::new("5.1.0", candidates, Vec::new());
        let evaluated = ledger.evaluate(fairway_risk::EvaluationInput {
            outcomes: &fairway_risk::QueryOutcomes::default(),
            policy: &fairway_risk::QueryPolicy::default(),
            acceptance: &fairway_risk::Acceptance::default(),
            previous: &fairway_risk::PreviousEvaluation::default(),
            now: noon(),
        });
        assert_eq!(evaluated.available_updates, [objects::release("5.1.1")]);
        assert_eq!(evaluated.wanted_queries, ["up"]);
    }

    #[test]
    fn inherited_updates_expire_after_a_day() {
        for (retrieved, hours, left) in [
            (true, 1000, Some(24)),
            (false, 0, Some(24)),
            (false, 23, Some(1)),
            (false, 25, None),
            // A wrong clock.
            (false, -1000, Some(24)),
        ] {
            let object = cluster_version(retrieved, hours);
            let found = inherited(&object, &current("5.1.0")).map(|(left, _)| left);
            assert_eq!(found, left.map(Duration::from_hours), "{retrieved} for {hours} hours");
        }
    }

    #[test]
    fn inherited_requires_same_release_and_generation() {
        let mut object = cluster_version(true, 1);
        assert!(inherited(&object, &current("5.1.1")).is_none());
        object.metadata.generation = Some(4);
        assert!(inherited(&object, &current("5.1.0")).is_none());
        object.status = None;
        assert!(inherited(&object, &current("5.1.0")).is_none());
    }
}
