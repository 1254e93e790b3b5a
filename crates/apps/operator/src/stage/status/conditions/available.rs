//! The condition `Available`: whether a release was ever in place.

use fairway_api::OperatorCondition;
use fairway_api::cluster_version::Release;
use fairway_api::reason::available;

use super::name;
use crate::stage::rollout::{Phase, Rollout};

/// Until all of a release is in place, the one before is what is available.
pub(in super::super) fn condition(
    release: &Release,
    rollout: &Rollout,
) -> Option<OperatorCondition> {
    let done = rollout.phase == Phase::Reconciling;
    done.then(|| {
        OperatorCondition::new(available::TYPE, true)
            .message(format!("Done applying {}", name(release)))
    })
}

/// Before anybody knows.
pub(in super::super) fn initial() -> OperatorCondition {
    OperatorCondition::new(available::TYPE, false)
}
