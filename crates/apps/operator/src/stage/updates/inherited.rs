//! What stands before there is an answer: the updates that the operator before this one left in
//! the status.
//!
//! Whoever waits for an update to be offered is not to be told otherwise because an operator was
//! started again during an outage. Nothing becomes more recommended by that: every risk that the
//! status tells of counts, and is evaluated again.

use std::sync::Arc;

use fairway_api::cluster_version::{ClusterVersionStatus, ConditionalUpdateRisk};
use fairway_api::reason::retrieved_updates;
use fairway_api::{ClusterVersion, ConditionStatus, Conditions as _};
use fairway_cincinnati::question::Current;
use fairway_risk::{Candidate, Risk};
use jiff::Timestamp;
use tokio::time::Instant;

use super::memory::KEPT;
use super::same_content;

/// Updates that somebody else has found.
#[derive(Debug)]
pub(super) struct Inherited {
    pub(super) candidates: Arc<[Candidate]>,
    /// When they are dropped: for deciding, and for saying so.
    pub(super) until: Instant,
    pub(super) until_time: Timestamp,
}

impl Inherited {
    /// The updates in the status, if they are those of this release and of this spec.
    pub(super) fn of(
        cluster_version: &ClusterVersion,
        current: &Current,
        (now, time): (Instant, Timestamp),
    ) -> Option<Self> {
        let status = cluster_version.status.as_ref()?;
        let is_about_this = same_content(&status.desired.image, &current.image)
            && Some(status.observed_generation) == cluster_version.metadata.generation;
        let since = since(status, time).filter(|_| is_about_this)?;
        let until_time = since + KEPT;
        let left = until_time.duration_since(time).try_into().ok()?;
        let candidates = candidates(status);
        let until = now + KEPT.min(left);
        (!candidates.is_empty()).then_some(Self { candidates, until, until_time })
    }
}

/// Since when the updates in the status are not confirmed any more, or may not be.
fn since(status: &ClusterVersionStatus, now: Timestamp) -> Option<Timestamp> {
    let retrieved = status.conditions.find(retrieved_updates::TYPE)?;
    match retrieved.status {
        ConditionStatus::True => Some(now),
        // A clock may have been wrong.
        _ => Some(retrieved.last_transition_time.as_ref()?.0.min(now)),
    }
}

/// What the update service must have said. An update that is in both lists has its risks.
fn candidates(status: &ClusterVersionStatus) -> Arc<[Candidate]> {
    let conditional = status.conditional_updates.iter().map(|update| Candidate {
        release: update.release.clone(),
        risks: update.risks.iter().map(risk).collect(),
    });
    let available = status.available_updates.iter().flatten();
    let available =
        available.map(|release| Candidate { release: release.clone(), risks: Vec::new() });
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

    fn current(version: &str) -> Current {
        let Release { version, image, .. } = objects::release(version);
        Current { version, image, ..Current::default() }
    }

    /// A cluster at 5.1.0 with an update that has no risk, and one that is recommended though it
    /// has one. Whether updates were retrieved changed so many hours before noon.
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

    fn inherited(object: &ClusterVersion, current: &Current) -> Option<(Duration, Vec<Candidate>)> {
        let now = Instant::now();
        let inherited = Inherited::of(object, current, (now, noon()))?;
        Some((inherited.until - now, inherited.candidates.to_vec()))
    }

    #[test]
    fn every_risk_of_the_status_counts() {
        let (_, candidates) = inherited(&cluster_version(true, 1000), &current("5.1.0")).unwrap();
        let ledger = fairway_risk::Ledger::new("5.1.0", candidates, Vec::new());
        let evaluated = ledger.evaluate(fairway_risk::Round {
            outcomes: &fairway_risk::Outcomes::default(),
            policy: &fairway_risk::QueryPolicy::default(),
            acceptance: &fairway_risk::Acceptance::default(),
            previous: &fairway_risk::Previous::default(),
            now: noon(),
        });
        assert_eq!(evaluated.available_updates, [objects::release("5.1.1")]);
        assert_eq!(evaluated.wanted_queries, ["up"]);
    }

    #[test]
    fn updates_stand_for_a_day_after_they_were_last_confirmed() {
        for (retrieved, hours, left) in [
            (true, 1000, Some(24)),
            (false, 0, Some(24)),
            (false, 23, Some(1)),
            (false, 25, None),
            // Some clock is wrong.
            (false, -1000, Some(24)),
        ] {
            let object = cluster_version(retrieved, hours);
            let found = inherited(&object, &current("5.1.0")).map(|(left, _)| left);
            assert_eq!(found, left.map(Duration::from_hours), "{retrieved} for {hours} hours");
        }
    }

    #[test]
    fn only_updates_from_this_release_and_for_this_spec_are_inherited() {
        let mut object = cluster_version(true, 1);
        assert!(inherited(&object, &current("5.1.1")).is_none());
        object.metadata.generation = Some(4);
        assert!(inherited(&object, &current("5.1.0")).is_none());
        object.status = None;
        assert!(inherited(&object, &current("5.1.0")).is_none());
    }
}
