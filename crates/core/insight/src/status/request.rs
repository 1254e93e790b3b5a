//! A release that is asked for and not begun with.

use fairway_api::cluster_version::Architecture;
use fairway_api::reason::release_accepted;
use fairway_api::{
    ClusterVersion, ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition,
    image,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::age::{seconds_since, time};

/// Requested release whose rollout has not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Requested version.
    pub version: Option<String>,
    /// Requested image.
    pub image: Option<String>,
    /// Whether the operator has observed the request.
    pub spec_observed: bool,
    /// Whether the operator refuses the request.
    pub refused: bool,
    /// Reason of the condition that the operator reports, one CamelCase word.
    pub reason: Option<String>,
    /// Message of the condition.
    pub message: Option<String>,
    /// Time of the latest change of the condition.
    #[schemars(with = "Option<String>")]
    pub last_transition_time: Option<Timestamp>,
    /// Seconds since `lastTransitionTime`.
    pub age_seconds: Option<i64>,
}

/// What is asked for, where the cluster is not on its way there.
pub(super) fn of(
    version: &ClusterVersion,
    status: &ClusterVersionStatus,
    now: Timestamp,
) -> Option<Request> {
    let wanted = version.spec.desired_update.as_ref().filter(|update| update.is_update())?;
    let other_version = wanted.version().is_some_and(|version| version != status.desired.version);
    let other_image =
        wanted.image().is_some_and(|wanted| !image::same_content(wanted, &status.desired.image));
    let other_architecture =
        wanted.architecture().is_some_and(|wanted| !has_architecture(status, wanted));
    if !other_version && !other_image && !other_architecture {
        return None;
    }
    let accepted = status.conditions.find(release_accepted::TYPE);
    let refusal = accepted.filter(|condition| condition.status != ConditionStatus::True);
    let seen = Some(status.observed_generation) >= version.metadata.generation;
    let is_no = |condition: &OperatorCondition| condition.status == ConditionStatus::False;
    let since = refusal.and_then(|condition| time(condition.last_transition_time.as_ref()));
    Some(Request {
        version: wanted.version().map(str::to_owned),
        image: wanted.image().map(str::to_owned),
        spec_observed: seen,
        refused: seen && refusal.is_some_and(is_no),
        reason: refusal.and_then(|condition| condition.reason.clone()),
        message: refusal.and_then(|condition| condition.message.clone()),
        last_transition_time: since,
        age_seconds: seconds_since(since, now),
    })
}

/// Whether the release that the operator works towards is for that architecture. Operators that
/// do not write it down as such say it of the release that they have accepted.
pub fn has_architecture(status: &ClusterVersionStatus, wanted: &Architecture) -> bool {
    let says = |condition: &OperatorCondition| {
        let word = format!("architecture=\"{wanted}\"");
        condition.message.as_ref().is_some_and(|message| message.contains(&word))
    };
    let accepted = status.conditions.find(release_accepted::TYPE);
    let accepted = accepted.filter(|condition| condition.status == ConditionStatus::True);
    status.desired.architecture.as_ref() == Some(wanted) || accepted.is_some_and(says)
}

impl Request {
    /// The version, or the image where none is asked for.
    pub fn name(&self) -> &str {
        self.version.as_deref().or(self.image.as_deref()).unwrap_or_default()
    }
}
