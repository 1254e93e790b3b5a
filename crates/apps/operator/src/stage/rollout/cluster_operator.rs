//! Whether a cluster operator is where a release wants it.

use std::collections::BTreeMap;

use fairway_api::cluster_operator::OperandVersion;
use fairway_api::reason::{Reason, cluster_operator as condition, rollout as reason};
use fairway_api::{ClusterOperator, ClusterOperatorStatus, ConditionStatus, Conditions as _};
use fairway_release::{Manifest, ObjectId};
use kube::Resource as _;
use serde::Deserialize as _;

use super::{Effect, Phase};
use crate::cluster::Objects;
use crate::text::one_line;

/// What is wrong with a cluster operator, in the order in which it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Complaint {
    /// The release does not say what it has to reach.
    NoVersions,
    /// It does not work.
    NotAvailable,
    /// It has not reached its versions.
    Updating,
    /// It works worse than it should.
    Degraded,
}

impl Complaint {
    const ALL: [Self; 4] = [Self::NoVersions, Self::NotAvailable, Self::Updating, Self::Degraded];

    /// The complaint that has this reason about one cluster operator.
    pub(super) fn of_reason(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|complaint| complaint.reason().code == code)
    }

    /// A degraded operator stands in nobody's way: what comes behind may be what repairs it.
    pub(super) fn effect(self) -> Effect {
        match self {
            Self::NoVersions | Self::NotAvailable => Effect::Fail,
            Self::Updating => Effect::Wait,
            Self::Degraded => Effect::Report,
        }
    }

    /// The reason where it is about one.
    pub(super) fn reason(self) -> Reason {
        match self {
            Self::NoVersions => reason::CLUSTER_OPERATOR_NO_VERSIONS,
            Self::NotAvailable => reason::CLUSTER_OPERATOR_NOT_AVAILABLE,
            Self::Updating => reason::CLUSTER_OPERATOR_UPDATING,
            Self::Degraded => reason::CLUSTER_OPERATOR_DEGRADED,
        }
    }

    /// The reason where it is about several.
    pub(super) fn plural_reason(self) -> Reason {
        match self {
            Self::NoVersions => reason::CLUSTER_OPERATORS_NO_VERSIONS,
            Self::NotAvailable => reason::CLUSTER_OPERATORS_NOT_AVAILABLE,
            Self::Updating => reason::CLUSTER_OPERATORS_UPDATING,
            Self::Degraded => reason::CLUSTER_OPERATORS_DEGRADED,
        }
    }

    /// What is said about one.
    pub(super) fn sentence(self, name: &str) -> String {
        match self {
            Self::NoVersions => format!("Cluster operator {name} does not declare its versions"),
            Self::NotAvailable => format!("Cluster operator {name} is not available"),
            Self::Updating => format!("Cluster operator {name} is updating versions"),
            Self::Degraded => format!("Cluster operator {name} is degraded"),
        }
    }

    /// What is said about several.
    pub(super) fn plural_sentence(self, names: &str) -> String {
        match self {
            Self::NoVersions => format!("Cluster operators {names} do not declare their versions"),
            Self::NotAvailable => format!("Cluster operators {names} are not available"),
            Self::Updating => format!("Cluster operators {names} are updating versions"),
            Self::Degraded => format!("Cluster operators {names} are degraded"),
        }
    }
}

/// A complaint about a cluster operator, and what it says about that itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) complaint: Complaint,
    pub(super) detail: String,
}

/// What a cluster operator is called among the objects of a release.
pub(super) fn id(name: &str) -> ObjectId {
    ObjectId {
        group: ClusterOperator::group(&()).into_owned(),
        kind: ClusterOperator::kind(&()).into_owned(),
        namespace: String::new(),
        name: name.to_owned(),
    }
}

/// What of a cluster operator may repair what others fail at: its versions, and how it works.
type Turn = (Vec<(String, String)>, Option<ConditionStatus>, Option<ConditionStatus>);

/// Where all cluster operators are.
pub(super) fn turns(operators: Option<&Objects<ClusterOperator>>) -> BTreeMap<String, Turn> {
    let turn = |operator: &ClusterOperator| {
        let status = operator.status.clone().unwrap_or_default();
        let of = |type_| status.conditions.find(type_).map(|condition| condition.status.clone());
        let (available, degraded) = (of(condition::available::TYPE), of(condition::degraded::TYPE));
        let versions = status.versions.into_iter().map(|version| (version.name, version.version));
        (versions.collect(), available, degraded)
    };
    let operators = operators.into_iter().flat_map(|operators| operators.iter());
    operators.map(|(name, operator)| (name.clone(), turn(operator))).collect()
}

/// The versions that a cluster operator has to reach, by its manifest.
pub(super) fn wanted_versions(manifest: &Manifest) -> Vec<OperandVersion> {
    let object = manifest.object();
    let versions = object.pointer("/status/versions");
    versions.and_then(|versions| Vec::deserialize(versions).ok()).unwrap_or_default()
}

/// What is wrong with a cluster operator, if something is. A new cluster does not wait for
/// versions: there are no old ones that could still be at work.
pub(super) fn check(
    wanted: &[OperandVersion],
    live: Option<&ClusterOperator>,
    phase: Phase,
) -> Option<Trouble> {
    let trouble = |complaint, detail| Some(Trouble { complaint, detail });
    if wanted.is_empty() {
        let detail = "its manifest has no status.versions".to_owned();
        return trouble(Complaint::NoVersions, detail);
    }
    let Some(live) = live else {
        return trouble(Complaint::NotAvailable, "the ClusterOperator does not exist".to_owned());
    };
    let nothing = ClusterOperatorStatus::default();
    let status = live.status.as_ref().unwrap_or(&nothing);
    if !status.conditions.is_true(condition::available::TYPE) {
        return trouble(Complaint::NotAvailable, said(status, condition::available::TYPE));
    }
    let undone = undone(wanted, status);
    if phase != Phase::Installing && !undone.is_empty() {
        return trouble(Complaint::Updating, undone.join(", "));
    }
    if !status.conditions.is_false(condition::degraded::TYPE) {
        return trouble(Complaint::Degraded, said(status, condition::degraded::TYPE));
    }
    None
}

/// The versions that were not reached; those that nobody asked for do not count.
fn undone(wanted: &[OperandVersion], status: &ClusterOperatorStatus) -> Vec<String> {
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

/// What a cluster operator says in a condition.
fn said(status: &ClusterOperatorStatus, type_: &str) -> String {
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

    fn complaint(wanted: &[(&str, &str)], live: &ClusterOperator, phase: Phase) -> String {
        match check(&versions(wanted), Some(live), phase) {
            Some(Trouble { complaint, detail }) => format!("{complaint:?}: {detail}"),
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
    fn the_first_thing_that_is_wrong_is_said() {
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
                assert_eq!(complaint(wanted, &live, phase), expected, "{phase:?} {live:?}");
            }
        }
    }

    #[test]
    fn a_new_cluster_waits_for_no_version() {
        for (reached, conditions, expected) in [
            (OLD, GOOD, "none"),
            (&[], GOOD, "none"),
            (OLD, DEGRADED, "Degraded: Because: so said Degraded"),
            (NEW, DOWN, "NotAvailable: Because: so said Available"),
        ] {
            let live = operator(reached, conditions);
            assert_eq!(complaint(NEW, &live, Phase::Installing), expected);
        }
        assert_eq!(complaint(&[], &operator(NEW, GOOD), Phase::Installing), {
            "NoVersions: its manifest has no status.versions"
        });
    }

    #[test]
    fn what_does_not_exist_is_not_available() {
        let found = check(&versions(NEW), None, Phase::Installing).unwrap();
        assert_eq!(found.complaint, Complaint::NotAvailable);
        assert_eq!(found.detail, "the ClusterOperator does not exist");
    }

    #[test]
    fn only_degraded_stands_in_nobodys_way() {
        let effects = Complaint::ALL.map(|complaint| (complaint.reason().code, complaint.effect()));
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
