//! The condition `Failing`: what stands in the way of the release, or is unhealthy in it.

use fairway_api::cluster_version::Release;
use fairway_api::reason::failing;
use fairway_api::{ConditionStatus, OperatorCondition};
use jiff::Timestamp;

use crate::stage::rollout::Rollout;
use crate::stage::rollout::failure::{Summary, failing};
use crate::stage::rollout::waiting::waiting;

/// What is waited for as expected is no failure. What takes longer than that may become one.
pub(in super::super) fn condition(rollout: &Rollout, now: Timestamp) -> OperatorCondition {
    if let Some(Summary { reason, message, .. }) = failing(&rollout.failures) {
        return OperatorCondition::new(failing::TYPE, true).reason(reason).message(message);
    }
    match waiting(&rollout.failures, now).filter(|waiting| waiting.is_slow) {
        Some(waiting) => OperatorCondition::new(failing::TYPE, ConditionStatus::Unknown)
            .reason(failing::SLOW_CLUSTER_OPERATOR)
            .message(waiting.message),
        None => initial(),
    }
}

/// Before anybody knows.
pub(in super::super) fn initial() -> OperatorCondition {
    OperatorCondition::new(failing::TYPE, false)
}

/// Nothing can be rolled out without an image.
pub(in super::super) fn without_image(release: &Release) -> Option<OperatorCondition> {
    release.image.is_empty().then(|| {
        OperatorCondition::new(failing::TYPE, true)
            .reason(failing::NO_DESIRED_IMAGE)
            .message("The operator does not know its release image and cannot roll out a release")
    })
}
