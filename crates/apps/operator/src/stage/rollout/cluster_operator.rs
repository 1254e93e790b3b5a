//! ClusterOperators during a rollout: creation, and whether they report what the release requires.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fairway_api::cluster_operator::OperandVersion;
use fairway_api::reason::{Reason, cluster_operator as condition, rollout as reason};
use fairway_api::{ClusterOperator, ClusterOperatorStatus, ConditionStatus, Conditions as _};
use fairway_apply::{FIELD_MANAGER, within_time};
use fairway_release::task_graph::Task;
use fairway_release::{Manifest, ObjectId};
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource as _};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::release_rollout::ReleaseRollout;
use super::{Effect, Phase};
use crate::cluster::Objects;
use crate::text;
use crate::text::one_line;

/// Problem of a ClusterOperator, in the order of evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperatorProblem {
    /// Its manifest does not declare versions.
    NoVersions,
    /// `Available` is not `True`.
    NotAvailable,
    /// It does not report the desired versions.
    Updating,
    /// `Degraded` is not `False`.
    Degraded,
}

impl OperatorProblem {
    const ALL: [Self; 4] = [Self::NoVersions, Self::NotAvailable, Self::Updating, Self::Degraded];

    /// The problem with a reason code.
    pub(super) fn of_reason(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|problem| problem.reason().code == code)
    }

    /// `Degraded` never blocks: a later manifest of the release may repair it.
    pub(super) fn effect(self) -> Effect {
        match self {
            Self::NoVersions | Self::NotAvailable => Effect::Fail,
            Self::Updating => Effect::Wait,
            Self::Degraded => Effect::Report,
        }
    }

    /// Reason for one ClusterOperator.
    pub(super) fn reason(self) -> Reason {
        match self {
            Self::NoVersions => reason::CLUSTER_OPERATOR_NO_VERSIONS,
            Self::NotAvailable => reason::CLUSTER_OPERATOR_NOT_AVAILABLE,
            Self::Updating => reason::CLUSTER_OPERATOR_UPDATING,
            Self::Degraded => reason::CLUSTER_OPERATOR_DEGRADED,
        }
    }

    /// Reason for several ClusterOperators.
    pub(super) fn plural_reason(self) -> Reason {
        match self {
            Self::NoVersions => reason::CLUSTER_OPERATORS_NO_VERSIONS,
            Self::NotAvailable => reason::CLUSTER_OPERATORS_NOT_AVAILABLE,
            Self::Updating => reason::CLUSTER_OPERATORS_UPDATING,
            Self::Degraded => reason::CLUSTER_OPERATORS_DEGRADED,
        }
    }

    /// Message about one ClusterOperator.
    pub(super) fn sentence(self, name: &str) -> String {
        match self {
            Self::NoVersions => format!("Cluster operator {name} does not declare its versions"),
            Self::NotAvailable => format!("Cluster operator {name} is not available"),
            Self::Updating => format!("Cluster operator {name} is updating versions"),
            Self::Degraded => format!("Cluster operator {name} is degraded"),
        }
    }

    /// Message about several ClusterOperators.
    pub(super) fn plural_sentence(self, names: &str) -> String {
        match self {
            Self::NoVersions => format!("Cluster operators {names} do not declare their versions"),
            Self::NotAvailable => format!("Cluster operators {names} are not available"),
            Self::Updating => format!("Cluster operators {names} are updating versions"),
            Self::Degraded => format!("Cluster operators {names} are degraded"),
        }
    }
}

/// Problem of a ClusterOperator, with the text of its condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OperatorDiagnosis {
    pub(super) problem: OperatorProblem,
    pub(super) detail: String,
}

/// Identity of a ClusterOperator among the objects of a release.
pub(super) fn id(name: &str) -> ObjectId {
    ObjectId {
        group: ClusterOperator::group(&()).into_owned(),
        kind: ClusterOperator::kind(&()).into_owned(),
        namespace: String::new(),
        name: name.to_owned(),
    }
}

/// State of a ClusterOperator that may affect other manifests: versions, `Available`, `Degraded`.
type OperatorState = (Vec<(String, String)>, Option<ConditionStatus>, Option<ConditionStatus>);

/// State of all ClusterOperators.
pub(super) fn operator_states(
    operators: Option<&Objects<ClusterOperator>>,
) -> BTreeMap<String, OperatorState> {
    let state = |operator: &ClusterOperator| {
        let status = operator.status.clone().unwrap_or_default();
        let of = |type_| status.conditions.find(type_).map(|condition| condition.status.clone());
        let (available, degraded) = (of(condition::available::TYPE), of(condition::degraded::TYPE));
        let versions = status.versions.into_iter().map(|version| (version.name, version.version));
        (versions.collect(), available, degraded)
    };
    let operators = operators.into_iter().flat_map(|operators| operators.iter());
    operators.map(|(name, operator)| (name.clone(), state(operator))).collect()
}

/// Versions that a ClusterOperator must report, from its manifest.
pub(super) fn desired_versions(manifest: &Manifest) -> Vec<OperandVersion> {
    let object = manifest.object();
    let versions = object.pointer("/status/versions");
    versions.and_then(|versions| Vec::deserialize(versions).ok()).unwrap_or_default()
}

/// The first problem of a ClusterOperator. During an installation versions are not compared: no old
/// version can be running.
pub(super) fn check(
    wanted: &[OperandVersion],
    live: Option<&ClusterOperator>,
    phase: Phase,
) -> Option<OperatorDiagnosis> {
    let diagnosis = |problem, detail| Some(OperatorDiagnosis { problem, detail });
    if wanted.is_empty() {
        let detail = "its manifest has no status.versions".to_owned();
        return diagnosis(OperatorProblem::NoVersions, detail);
    }
    let Some(live) = live else {
        return diagnosis(
            OperatorProblem::NotAvailable,
            "the ClusterOperator does not exist".to_owned(),
        );
    };
    let nothing = ClusterOperatorStatus::default();
    let status = live.status.as_ref().unwrap_or(&nothing);
    if !status.conditions.is_true(condition::available::TYPE) {
        return diagnosis(
            OperatorProblem::NotAvailable,
            condition_text(status, condition::available::TYPE),
        );
    }
    let missing_versions = missing_versions(wanted, status);
    if phase != Phase::Installing && !missing_versions.is_empty() {
        return diagnosis(OperatorProblem::Updating, missing_versions.join(", "));
    }
    if !status.conditions.is_false(condition::degraded::TYPE) {
        return diagnosis(
            OperatorProblem::Degraded,
            condition_text(status, condition::degraded::TYPE),
        );
    }
    None
}

/// Desired versions that are not reported.
fn missing_versions(wanted: &[OperandVersion], status: &ClusterOperatorStatus) -> Vec<String> {
    let differs = |wanted: &&OperandVersion| {
        !status
            .versions
            .iter()
            .any(|reached| (&reached.name, &reached.version) == (&wanted.name, &wanted.version))
    };
    let text = |OperandVersion { name, version, .. }: &OperandVersion| match status.version_of(name)
    {
        Some(reached) => format!("{name} from {} to {version}", one_line(reached)),
        None => format!("{name} to {version}"),
    };
    wanted.iter().filter(differs).map(text).collect()
}

/// Reason and message of a condition.
fn condition_text(status: &ClusterOperatorStatus, type_: &str) -> String {
    let Some(condition) = status.conditions.find(type_) else {
        return format!("condition {type_} is not reported");
    };
    let mut parts = Vec::new();
    if !matches!(condition.status, ConditionStatus::True | ConditionStatus::False) {
        parts.push(format!("{type_} is {}", one_line(condition.status.as_str())));
    }
    let texts = [&condition.reason, &condition.message].into_iter().flatten();
    parts.extend(texts.map(|text| one_line(text)).filter(|text| !text.is_empty()));
    if parts.is_empty() {
        return format!("condition {type_} has no reason or message");
    }
    parts.join(": ")
}

impl ReleaseRollout<'_> {
    /// Creates the missing ClusterOperators of a node with their related objects before its other
    /// manifests: `must-gather` then finds the objects of a component that never starts. Errors are
    /// ignored, because each ClusterOperator is applied again in its order.
    pub(super) async fn create_cluster_operators(&self, tasks: &[Task]) {
        for task in tasks {
            let state = &self.states[task.position];
            if !state.is_wanted || state.versions.is_none() {
                continue;
            }
            let is_known = self.operator(&task.id.name).is_some();
            if !is_known && let Err(error) = self.apply(&self.manifests()[task.position]).await {
                let error = text::cause(&error);
                tracing::warn!(manifest = %task, error, "cannot precreate ClusterOperator");
                continue;
            }
            self.ensure_related_objects(task).await;
        }
    }

    /// Writes the related objects of a ClusterOperator, unless its component has reported. A crash
    /// after the creation leaves an object without them; a failed write is repeated when the
    /// manifest is applied again. Relaxed is enough: only the task of this manifest uses the flag.
    pub(super) async fn ensure_related_objects(&self, task: &Task) {
        let has_related_objects = &self.states[task.position].has_related_objects;
        if has_related_objects.load(Ordering::Relaxed) {
            return;
        }
        let operator = self.operator(&task.id.name);
        let is_reported = operator.is_some_and(|operator| is_reported(operator.status.as_ref()));
        if is_reported || self.write_related_objects(task).await {
            has_related_objects.store(true, Ordering::Relaxed);
        }
    }

    /// Writes `status.relatedObjects`; returns whether they are in the status.
    async fn write_related_objects(&self, task: &Task) -> bool {
        let object = self.manifests()[task.position].completed_object();
        let related = object.pointer("/status/relatedObjects");
        let Some(related @ Value::Array(_)) = related else { return true };
        let writers = &self.shared.writers;
        let api: Api<ClusterOperator> = Api::all(writers.client.clone());
        let patch = Patch::Merge(json!({ "status": { "relatedObjects": related } }));
        let (name, leadership) = (task.id.name.clone(), writers.leadership.clone());
        let write = async move {
            let params = PatchParams {
                field_manager: Some(FIELD_MANAGER.to_owned()),
                ..PatchParams::default()
            };
            leadership.write(within_time(api.patch_status(&name, &params, &patch))).await
        };
        match writers.applier.complete(write).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => {
                let error = text::cause(&error);
                let manifest = task.to_string();
                tracing::warn!(manifest, error, "cannot write ClusterOperator relatedObjects");
                false
            }
            // Another operator is the leader.
            Err(_) => false,
        }
    }

    fn operator(&self, name: &str) -> Option<Arc<ClusterOperator>> {
        self.shared.operators.borrow().as_ref()?.get(name).cloned()
    }
}

/// Whether a component, or an earlier attempt, has written the status.
fn is_reported(status: Option<&ClusterOperatorStatus>) -> bool {
    status.is_some_and(|it| !it.related_objects.is_empty() || !it.conditions.is_empty())
}

#[cfg(test)]
mod tests {
    use fairway_api::{ClusterOperatorSpec, OperatorCondition};

    use super::*;

    fn versions(versions: &[(&str, &str)]) -> Vec<OperandVersion> {
        let version = |(name, version): &(&str, &str)| OperandVersion {
            name: (*name).to_owned(),
            version: (*version).to_owned(),
            ..OperandVersion::default()
        };
        versions.iter().map(version).collect()
    }

    fn condition(type_: &str, status: &str) -> OperatorCondition {
        let status: ConditionStatus = serde_json::from_value(status.into()).unwrap();
        OperatorCondition::new(type_, status).reason("Because").message(format!("so\nsaid {type_}"))
    }

    fn operator(reached: &[(&str, &str)], conditions: &[(&str, &str)]) -> ClusterOperator {
        let mut operator = ClusterOperator::new("network", ClusterOperatorSpec::default());
        operator.status = Some(ClusterOperatorStatus {
            versions: versions(reached),
            conditions: conditions.iter().map(|(type_, status)| condition(type_, status)).collect(),
            ..ClusterOperatorStatus::default()
        });
        operator
    }

    fn problem(wanted: &[(&str, &str)], live: &ClusterOperator, phase: Phase) -> String {
        match check(&versions(wanted), Some(live), phase) {
            Some(OperatorDiagnosis { problem, detail }) => format!("{problem:?}: {detail}"),
            None => "none".to_owned(),
        }
    }

    const NEW: &[(&str, &str)] = &[("operator", "5.1.0"), ("operand", "7")];
    const OLD: &[(&str, &str)] = &[("operator", "5.0.0"), ("operand", "7")];
    const GOOD: &[(&str, &str)] =
        &[("Available", "True"), ("Progressing", "False"), ("Degraded", "False")];
    const DEGRADED: &[(&str, &str)] =
        &[("Available", "True"), ("Progressing", "True"), ("Degraded", "True")];
    const DOWN: &[(&str, &str)] = &[("Available", "False"), ("Degraded", "True")];

    #[test]
    fn check_returns_first_problem() {
        type Pairs = &'static [(&'static str, &'static str)];
        let cases: [(Pairs, Pairs, Pairs, &str); 15] = [
            (&[], NEW, GOOD, "NoVersions: its manifest has no status.versions"),
            (&[], &[], DOWN, "NoVersions: its manifest has no status.versions"),
            (NEW, &[], &[], "NotAvailable: condition Available is not reported"),
            (NEW, NEW, &[], "NotAvailable: condition Available is not reported"),
            (NEW, NEW, DOWN, "NotAvailable: Because: so said Available"),
            (NEW, OLD, DOWN, "NotAvailable: Because: so said Available"),
            (
                NEW,
                NEW,
                &[("Available", "Unknown")],
                "NotAvailable: Available is Unknown: Because: so said Available",
            ),
            (
                NEW,
                NEW,
                &[("Degraded", "False")],
                "NotAvailable: condition Available is not reported",
            ),
            (NEW, OLD, GOOD, "Updating: operator from 5.0.0 to 5.1.0"),
            (NEW, &[], GOOD, "Updating: operator to 5.1.0, operand to 7"),
            (NEW, OLD, DEGRADED, "Updating: operator from 5.0.0 to 5.1.0"),
            (NEW, NEW, DEGRADED, "Degraded: Because: so said Degraded"),
            (NEW, NEW, &[("Available", "True")], "Degraded: condition Degraded is not reported"),
            (
                NEW,
                NEW,
                &[("Available", "True"), ("Degraded", "Unknown")],
                "Degraded: Degraded is Unknown: Because: so said Degraded",
            ),
            (NEW, &[("operand", "7"), ("operator", "5.1.0"), ("more", "1")], GOOD, "none"),
        ];
        for (wanted, reached, conditions, expected) in cases {
            let live = operator(reached, conditions);
            for phase in [Phase::Updating, Phase::Reconciling] {
                assert_eq!(problem(wanted, &live, phase), expected, "{phase:?} {live:?}");
            }
        }
    }

    #[test]
    fn check_while_installing_ignores_versions() {
        for (reached, conditions, expected) in [
            (OLD, GOOD, "none"),
            (&[], GOOD, "none"),
            (OLD, DEGRADED, "Degraded: Because: so said Degraded"),
            (NEW, DOWN, "NotAvailable: Because: so said Available"),
        ] {
            let live = operator(reached, conditions);
            assert_eq!(problem(NEW, &live, Phase::Installing), expected);
        }
        assert_eq!(problem(&[], &operator(NEW, GOOD), Phase::Installing), {
            "NoVersions: its manifest has no status.versions"
        });
    }

    #[test]
    fn check_without_cluster_operator_returns_not_available() {
        let found = check(&versions(NEW), None, Phase::Installing).unwrap();
        assert_eq!(found.problem, OperatorProblem::NotAvailable);
        assert_eq!(found.detail, "the ClusterOperator does not exist");
    }

    #[test]
    fn effect_of_degraded_only_reports() {
        let effects = OperatorProblem::ALL.map(|problem| (problem.reason().code, problem.effect()));
        assert_eq!(
            effects,
            [
                ("ClusterOperatorNoVersions", Effect::Fail),
                ("ClusterOperatorNotAvailable", Effect::Fail),
                ("ClusterOperatorUpdating", Effect::Wait),
                ("ClusterOperatorDegraded", Effect::Report),
            ]
        );
    }
}
