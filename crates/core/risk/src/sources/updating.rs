//! An update that is under way.

use fairway_api::reason::progressing;
use fairway_api::{ConditionStatus, OperatorCondition};

use super::against_minor;
use super::names::UPDATING;
use crate::risk::{Concern, Source};

/// While the cluster is on its way to a release, later minor versions have to wait.
pub fn updating(conditions: &[OperatorCondition]) -> Option<Concern> {
    let progressing = conditions.iter().find(|condition| condition.type_ == progressing::TYPE)?;
    (progressing.status == ConditionStatus::True).then(|| {
        let message = "An update is in progress; see the condition Progressing. Until it \
            completes, only updates to patch releases are recommended.";
        against_minor(UPDATING, message, "update-in-progress", Source::Updating)
    })
}
