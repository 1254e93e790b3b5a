//! A cluster whose status is composed repeatedly, and failures of its rollout.

use std::fmt::Write as _;

use fairway_api::cluster_version::UpdateHistory;
use fairway_api::reason::{release_accepted, rollout as reason};
use fairway_release::inclusion::ManifestFilter;

use super::*;
use crate::payload::Payload;
use crate::stage::rollout::{Effect, Failure, Phase, Rollout};
use crate::stage::target::{Capabilities, Target};

/// A cluster with an operator of 5.0.1.
pub(super) struct Cluster {
    pub(super) object: ClusterVersion,
    pub(super) target: Target,
    pub(super) rollout: Option<Rollout>,
}

impl Cluster {
    /// A cluster without a status.
    pub(super) fn new() -> Self {
        Self { object: cluster_version(), target: target("5.0.1"), rollout: None }
    }

    /// A cluster with 5.0.1.
    pub(super) fn installed() -> Self {
        let mut cluster = Self::new();
        cluster.set_progress(Phase::Reconciling, 100, &[]);
        cluster.compose(0);
        cluster
    }

    /// A cluster that updates to 5.1.0.
    pub(super) fn updating() -> Self {
        let mut cluster = Self::installed();
        cluster.target = Target { verified: true, ..target("5.1.0") };
        cluster.compose(60);
        cluster
    }

    /// Sets the progress of the rollout.
    pub(super) fn set_progress(&mut self, phase: Phase, done: usize, failures: &[Failure]) {
        self.rollout = Some(Rollout {
            image: self.target.payload.release.image.clone(),
            phase,
            done,
            total: 100,
            failures: failures.to_vec(),
            deleting: Vec::new(),
        });
    }

    /// Composes and stores the status.
    pub(super) fn compose(&mut self, second: i64) {
        let (own, risks) = (own(), recommending(&[]));
        let outputs = StageOutputs {
            risks: Some(&risks),
            target: Some(&self.target),
            rollout: self.rollout.as_ref(),
            ..outputs(&own)
        };
        let status = compose(&self.object, outputs, at(second));
        self.object.status = Some(status);
        let again = compose(&self.object, outputs, at(second));
        assert_eq!(self.object.status, Some(again), "composing is idempotent");
    }

    /// Composes the status and prints it: release, history, conditions with their times.
    pub(super) fn compose_text(&mut self, second: i64) -> String {
        self.compose(second);
        let status = self.object.status.as_ref().unwrap();
        let mut text = format!("towards {} ({})\n", status.desired.version, status.version_hash);
        for UpdateHistory { state, started_time, completion_time, version, .. } in &status.history {
            let began = started_time.as_ref().map(since).unwrap();
            let version = version.as_deref().unwrap();
            write!(text, "{state} {version} {began}s–").unwrap();
            match completion_time.as_ref().map(since) {
                Some(ended) => writeln!(text, "{ended}s").unwrap(),
                None => writeln!(text).unwrap(),
            }
        }
        text + &self.conditions_text(&["Available", "Failing", "Progressing"])
    }

    /// Composes the status and prints the conditions about failures and progress.
    pub(super) fn compose_failing(&mut self, second: i64) -> String {
        self.compose(second);
        self.conditions_text(&["Failing", "Progressing"])
    }

    fn conditions_text(&self, types: &[&str]) -> String {
        let status = self.object.status.as_ref().unwrap();
        let mut text = String::new();
        for type_ in types {
            let condition = status.conditions.find(type_).unwrap();
            let since = condition.last_transition_time.as_ref().map(since).unwrap();
            write!(text, "{type_}={} since {since}s", condition.status).unwrap();
            for part in [&condition.reason, &condition.message].into_iter().flatten() {
                write!(text, " | {part}").unwrap();
            }
            text.push('\n');
        }
        text
    }
}

fn since(time: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Time) -> i64 {
    time.0.as_second() - at(0).as_second()
}

pub(super) fn target(version: &str) -> Target {
    let accepted = OperatorCondition::new(release_accepted::TYPE, true)
        .reason(release_accepted::PAYLOAD_LOADED)
        .message(format!("Payload loaded version={version:?}"));
    Target {
        generation: 1,
        payload: Arc::new(Payload {
            release: objects::release(version),
            manifests: Vec::new(),
            version_hash: format!("hash of {version}"),
        }),
        is_read: true,
        verified: false,
        accepted_risks: None,
        filter: ManifestFilter::default(),
        capabilities: Capabilities::default(),
        release_accepted: accepted,
    }
}

fn operator(
    effect: Effect,
    reason: &fairway_api::reason::Reason,
    name: &str,
    message: &str,
) -> Failure {
    Failure {
        effect,
        reason: reason.code,
        message: message.to_owned(),
        cluster_operator: Some(name.to_owned()),
        since: at(120),
    }
}

pub(super) fn degraded(name: &str) -> Failure {
    let message = format!("Cluster operator {name} is degraded: Slow: disks");
    operator(Effect::Report, &reason::CLUSTER_OPERATOR_DEGRADED, name, &message)
}

pub(super) fn unavailable(name: &str) -> Failure {
    let message = format!("Cluster operator {name} is not available: Crash: loop");
    operator(Effect::Fail, &reason::CLUSTER_OPERATOR_NOT_AVAILABLE, name, &message)
}

pub(super) fn updating(name: &str) -> Failure {
    let message = format!("Cluster operator {name} is updating versions: operator to 5.1.0");
    operator(Effect::Wait, &reason::CLUSTER_OPERATOR_UPDATING, name, &message)
}

pub(super) fn forbidden(object: &str) -> Failure {
    Failure {
        effect: Effect::Fail,
        reason: reason::UPDATE_PAYLOAD_RESOURCE_FORBIDDEN.code,
        message: format!("Could not update {object}: the server has forbidden updates to it"),
        cluster_operator: None,
        since: at(120),
    }
}
