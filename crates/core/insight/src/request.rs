//! Progress of the requests in `spec.desiredUpdate`: updates and preflights.
//!
//! This is the only place that derives the state of a request from ClusterVersion.

use fairway_api::cluster_version::{Architecture, Update, UpdateState};
use fairway_api::image::same_content;
use fairway_api::reason::{invalid, preflight_running, progressing, release_accepted};
use fairway_api::{
    ClusterVersion, ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::text::{seconds_since, time};

/// Status of an update request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RequestStatus {
    /// State of the request.
    pub state: RequestState,
    /// Reason of the condition that the state is from.
    pub reason: Option<String>,
    /// Message of the condition.
    pub message: Option<String>,
}

/// State of an update request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RequestState {
    /// The operator has not decided; it may wait for the signature of the release.
    Pending,
    /// The operator refuses the release and keeps the previous one.
    Refused,
    /// The operator has accepted the release but not started its rollout.
    Accepted,
    /// The rollout is in progress.
    Started,
    /// The rollout is complete.
    Completed,
    /// Another client has changed `spec.desiredUpdate`.
    Superseded,
}

impl RequestStatus {
    /// Status of a request that the operator has not observed.
    pub fn pending() -> Self {
        Self { state: RequestState::Pending, reason: None, message: None }
    }

    /// Status of the request for `update`.
    pub fn of(cluster_version: &ClusterVersion, update: &Update) -> Self {
        let desired = cluster_version.spec.desired_update.as_ref();
        if !desired
            .is_some_and(|desired| is_same_release(desired, update) && desired.mode.is_none())
        {
            return Self { state: RequestState::Superseded, ..Self::pending() };
        }
        // Conditions of an earlier generation are about another request.
        let status = cluster_version.status.as_ref().filter(|_| is_observed(cluster_version));
        status.map_or_else(Self::pending, |status| Self::observed(status, update))
    }

    fn observed(status: &ClusterVersionStatus, update: &Update) -> Self {
        let find = |type_| status.conditions.find(type_);
        if let Some(accepted) = find(release_accepted::TYPE) {
            match accepted.status {
                ConditionStatus::False => {
                    return Self::from_condition(RequestState::Refused, Some(accepted));
                }
                ConditionStatus::True => {}
                _ => return Self::from_condition(RequestState::Pending, Some(accepted)),
            }
        }
        match find(invalid::TYPE).filter(|_| status.conditions.is_true(invalid::TYPE)) {
            _ if is_desired(status, update) => {
                Self::from_condition(rollout_state(status), find(progressing::TYPE))
            }
            Some(invalid) => Self::from_condition(RequestState::Refused, Some(invalid)),
            None => Self::pending(),
        }
    }

    fn from_condition(state: RequestState, condition: Option<&OperatorCondition>) -> Self {
        Self {
            state,
            reason: condition.and_then(|condition| condition.reason.clone()),
            message: condition.and_then(|condition| condition.message.clone()),
        }
    }

    /// Whether the operator has accepted or refused the request, or does not process it any more.
    pub fn is_decided(&self) -> bool {
        self.state != RequestState::Pending
    }

    /// Whether the state changes only after another change of the cluster.
    pub fn is_final(&self) -> bool {
        use RequestState::{Completed, Refused, Superseded};
        matches!(self.state, Refused | Completed | Superseded)
    }
}

/// Whether two requests are for the same release.
pub fn is_same_release(one: &Update, other: &Update) -> bool {
    (one.version(), one.image(), one.architecture())
        == (other.version(), other.image(), other.architecture())
}

/// Whether the operator has observed the latest generation of the spec.
pub fn is_observed(cluster_version: &ClusterVersion) -> bool {
    let observed = cluster_version.status.as_ref().map(|status| status.observed_generation);
    observed >= cluster_version.metadata.generation
}

/// Whether the requested release is `status.desired`: the operator has accepted it.
pub fn is_desired(status: &ClusterVersionStatus, update: &Update) -> bool {
    let desired = &status.desired;
    let same_image = update.image().is_none_or(|image| same_content(image, &desired.image));
    let same_version = update.version().is_none_or(|version| version == desired.version);
    let same_architecture = update.architecture().is_none_or(|one| has_architecture(status, one));
    update.names_a_release() && same_image && same_version && same_architecture
}

/// Whether the rollout of `status.desired` is in progress.
pub fn is_rollout_in_progress(status: &ClusterVersionStatus) -> bool {
    status.history.first().is_some_and(|newest| newest.state == UpdateState::Partial)
}

/// State of the rollout of `status.desired`.
fn rollout_state(status: &ClusterVersionStatus) -> RequestState {
    let newest = status.history.first();
    let newest = newest.filter(|newest| same_content(&newest.image, &status.desired.image));
    match newest.map(|newest| &newest.state) {
        None => RequestState::Accepted,
        Some(UpdateState::Completed) => RequestState::Completed,
        Some(_) => RequestState::Started,
    }
}

/// Whether `status.desired` is for an architecture. Operators that do not set
/// `status.desired.architecture` name it in the message of `ReleaseAccepted`.
pub fn has_architecture(status: &ClusterVersionStatus, architecture: &Architecture) -> bool {
    let names_it = |condition: &OperatorCondition| {
        let text = format!("architecture=\"{architecture}\"");
        condition.message.as_ref().is_some_and(|message| message.contains(&text))
    };
    let accepted = status.conditions.find(release_accepted::TYPE);
    let accepted = accepted.filter(|condition| condition.status == ConditionStatus::True);
    status.desired.architecture.as_ref() == Some(architecture) || accepted.is_some_and(names_it)
}

/// Requested release whose rollout has not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingRequest {
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

impl PendingRequest {
    /// The requested update, `None` if there is none or its rollout has started.
    pub(crate) fn of(cluster_version: &ClusterVersion, now: Timestamp) -> Option<Self> {
        let default = ClusterVersionStatus::default();
        let status = cluster_version.status.as_ref().unwrap_or(&default);
        let update = cluster_version.spec.desired_update.as_ref();
        let update = update.filter(|update| update.is_update() && !is_desired(status, update))?;
        let accepted = status.conditions.find(release_accepted::TYPE);
        let open = accepted.filter(|condition| condition.status != ConditionStatus::True);
        let spec_observed = is_observed(cluster_version);
        let is_refusal = |condition: &OperatorCondition| condition.status == ConditionStatus::False;
        let since = open.and_then(|condition| time(condition.last_transition_time.as_ref()));
        Some(Self {
            version: update.version().map(str::to_owned),
            image: update.image().map(str::to_owned),
            spec_observed,
            refused: spec_observed && open.is_some_and(is_refusal),
            reason: open.and_then(|condition| condition.reason.clone()),
            message: open.and_then(|condition| condition.message.clone()),
            last_transition_time: since,
            age_seconds: seconds_since(since, now),
        })
    }

    /// Requested version, or the image without a version.
    pub fn name(&self) -> &str {
        self.version.as_deref().or(self.image.as_deref()).unwrap_or_default()
    }
}

/// Phase of the requested preflight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PreflightPhase {
    /// The operator does not support preflights.
    Unsupported,
    /// No preflight is requested.
    NotRequested,
    /// The operator has not observed the request.
    Pending,
    /// The operator retrieves and verifies the release, and starts its preflight.
    Starting,
    /// The first run of the checks is in progress.
    Checking,
    /// The preflight restarts on another node.
    Restarting,
    /// All checks have completed once, and run again when the cluster changes.
    Monitoring,
    /// The operator has stopped the preflight.
    Stopped,
    /// The operator cannot start the preflight.
    Held,
}

impl PreflightPhase {
    /// Phase of the preflight that `spec.desiredUpdate` requests.
    pub fn of(cluster_version: &ClusterVersion) -> Self {
        let status = cluster_version.status.as_ref();
        let Some(running) =
            status.and_then(|status| status.conditions.find(preflight_running::TYPE))
        else {
            return Self::Unsupported;
        };
        let desired = cluster_version.spec.desired_update.as_ref();
        if desired.is_none_or(|desired| desired.mode.is_none()) {
            return Self::NotRequested;
        }
        if !is_observed(cluster_version) {
            return Self::Pending;
        }
        let reason = running.reason.as_deref().unwrap_or_default();
        let phases = [
            (preflight_running::NOT_REQUESTED, Self::Pending),
            (preflight_running::STARTING, Self::Starting),
            (preflight_running::CHECKING, Self::Checking),
            (preflight_running::MONITORING, Self::Monitoring),
            (preflight_running::RESTARTING, Self::Restarting),
            (preflight_running::STOPPED, Self::Stopped),
            (preflight_running::HELD, Self::Held),
        ];
        match phases.into_iter().find(|(known, _)| known.code == reason) {
            Some((_, phase)) => phase,
            // A reason of a later operator.
            None if running.status == ConditionStatus::True => Self::Checking,
            None => Self::Stopped,
        }
    }

    /// Whether the run is over, so that another request starts another run.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Monitoring | Self::Stopped)
    }

    /// Whether first results are outstanding.
    pub fn is_in_progress(self) -> bool {
        matches!(self, Self::Pending | Self::Starting | Self::Checking | Self::Restarting)
    }
}

/// Whether the operator of the cluster supports preflights.
///
/// Such an operator always sets the condition `PreflightRunning`. An operator that does not know the
/// condition leaves the one of its predecessor in the status and would treat the request as an
/// update. So the writer of the condition must also be the latest writer of the status, by
/// `managedFields`.
pub fn supports_preflights(cluster_version: &ClusterVersion) -> bool {
    if PreflightPhase::of(cluster_version) == PreflightPhase::Unsupported {
        return false;
    }
    let entries = cluster_version.metadata.managed_fields.as_deref().unwrap_or_default();
    let latest = |filter: fn(&ManagedFieldsEntry) -> bool| {
        entries.iter().filter(|entry| filter(entry)).map(written).max()
    };
    match (latest(has_preflight_condition), latest(|entry| status_fields(entry).is_some())) {
        (Some(writer), Some(latest)) => writer >= latest,
        // The object has no managedFields.
        (None, None) => true,
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Time of a write; `None` sorts before all times.
fn written(entry: &ManagedFieldsEntry) -> Option<Timestamp> {
    entry.time.as_ref().map(|time| time.0)
}

fn status_fields(entry: &ManagedFieldsEntry) -> Option<&Value> {
    entry.fields_v1.as_ref()?.0.get("f:status")
}

fn has_preflight_condition(entry: &ManagedFieldsEntry) -> bool {
    let Some(conditions) = status_fields(entry).and_then(|status| status.get("f:conditions"))
    else {
        return false;
    };
    let key = format!(r#"k:{{"type":"{}"}}"#, preflight_running::TYPE);
    // A CRD without list map keys makes the list atomic: one writer owns all conditions.
    conditions.get(&key).is_some() || conditions.as_object().is_some_and(serde_json::Map::is_empty)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn supports_preflights_while_writer_of_condition_writes_status() {
        let entry = |manager: &str, time: &str, fields: Value| {
            json!({"manager": manager, "operation": "Apply", "apiVersion": "config.openshift.io/v1",
                "fieldsType": "FieldsV1", "subresource": "status", "time": time, "fieldsV1": fields})
        };
        let ours = json!({"f:status": {"f:conditions": {
            "k:{\"type\":\"PreflightRunning\"}": {"f:status": {}}}}});
        let all = json!({"f:status": {"f:conditions": {}}});
        let theirs = json!({"f:status": {"f:conditions": {
            "k:{\"type\":\"Progressing\"}": {"f:status": {}}}}});
        let spec = json!({"f:spec": {"f:channel": {}}});
        let (early, late) = ("2026-03-01T10:00:00Z", "2026-03-01T10:00:01Z");
        let fairway = |fields: &Value| entry("fairway-status", early, fields.clone());
        let cases = [
            ("no managedFields", vec![], true),
            ("one operator", vec![fairway(&ours)], true),
            ("atomic list of conditions", vec![fairway(&all)], true),
            ("later spec change", vec![fairway(&ours), entry("kubectl", late, spec)], true),
            ("same second", vec![fairway(&ours), entry("x", early, theirs.clone())], true),
            (
                "another operator took over",
                vec![fairway(&ours), entry("cluster-version-operator", late, theirs.clone())],
                false,
            ),
            ("operator without the condition", vec![entry("x", early, theirs)], false),
        ];
        for (name, entries, expected) in cases {
            let object: ClusterVersion = serde_json::from_value(json!({
                "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
                "metadata": {"name": "version", "managedFields": entries},
                "spec": {"clusterID": "11111111-2222-4333-8444-555555555555"},
                "status": {"desired": {"version": "5.1.0", "image": "x"}, "conditions": [
                    {"type": "PreflightRunning", "status": "False", "reason": "NotRequested"}]},
            }))
            .unwrap();
            assert_eq!(supports_preflights(&object), expected, "{name}");
        }
    }
}
