//! Conditions and their transition rules.
//!
//! The API has two types: [`OperatorCondition`] of ClusterVersion and ClusterOperator, and the
//! stricter standard [`Condition`] of Kubernetes in conditional updates and risks. [`Conditions`]
//! has the rules for both.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;
use crate::schema::keys;
use crate::{UnknownFields, limits};

open_enum! {
    /// Status of a condition.
    #[derive(Default)]
    pub enum ConditionStatus {
        /// The condition is true.
        True = "True",
        /// The condition is false.
        False = "False",
        /// The status is unknown.
        #[default]
        Unknown = "Unknown",
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// A condition of ClusterVersion or ClusterOperator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["type", "status", "lastTransitionTime"])))]
pub struct OperatorCondition {
    /// Type of the condition.
    #[serde(rename = "type")]
    pub type_: String,
    /// Status of the condition. Components may use values other than the three known ones.
    #[schemars(with = "String")]
    pub status: ConditionStatus,
    /// Time of the last change of the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// CamelCase word for the cause, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Description for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// A condition in the shape that Kubernetes standardised: reason and message are required.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = keys(["type", "status", "lastTransitionTime", "reason", "message"])))]
pub struct Condition {
    /// Type of the condition.
    #[serde(rename = "type")]
    #[schemars(length(max = limits::CONDITION_TYPE), regex(pattern = TYPE_PATTERN))]
    pub type_: String,
    /// Status of the condition.
    pub status: ConditionStatus,
    /// Generation of the object that the condition reflects.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// Time of the last change of the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// CamelCase word for the cause, for programs.
    #[schemars(length(min = 1, max = limits::REASON), regex(pattern = REASON_PATTERN))]
    pub reason: String,
    /// Description for people.
    #[schemars(length(max = limits::MESSAGE))]
    pub message: String,
    /// Fields this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// Kubernetes' pattern of condition types.
const TYPE_PATTERN: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

/// Kubernetes' pattern of condition reasons, which [`is_legal_reason`] implements.
pub const REASON_PATTERN: &str = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

/// Whether the API server accepts a reason.
pub fn is_legal_reason(word: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b':');
    word.len() <= limits::REASON
        && word.bytes().all(inner)
        && word.starts_with(|first: char| first.is_ascii_alphabetic())
        && !word.ends_with([',', ':'])
}

/// A time with the API's resolution of seconds. Times that are compared with a server's response
/// need the same resolution.
pub fn wire_time(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

impl OperatorCondition {
    /// A condition without a transition time, which [`Conditions::set`] sets.
    pub fn new(type_: impl Into<String>, status: impl Into<ConditionStatus>) -> Self {
        Self { type_: type_.into(), status: status.into(), ..Self::default() }
    }

    /// Sets the reason: one of [`crate::reason`], or the name of a risk.
    pub fn reason(mut self, reason: impl AsRef<str>) -> Self {
        self.reason = Some(reason.as_ref().to_owned());
        self
    }

    /// Sets the message; an empty one is omitted.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into()).filter(|message| !message.is_empty());
        self
    }
}

impl Condition {
    /// A condition without a transition time, which [`Conditions::set`] sets. The reason is one of
    /// [`crate::reason`], or the name of a risk.
    pub fn new(
        type_: impl Into<String>,
        status: impl Into<ConditionStatus>,
        reason: impl AsRef<str>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            type_: type_.into(),
            status: status.into(),
            reason: reason.as_ref().to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }
}

/// Common interface of both condition types.
pub trait AnyCondition {
    /// Type of the condition.
    fn type_(&self) -> &str;
    /// Status of the condition.
    fn status(&self) -> &ConditionStatus;
    /// Time of the last change of the status.
    fn last_transition_time(&self) -> Option<&Time>;
    /// Sets the time of the last change of the status.
    fn set_last_transition_time(&mut self, time: Time);
    /// Unknown fields.
    fn unknown_mut(&mut self) -> &mut UnknownFields;
}

macro_rules! any_condition {
    ($($shape:ty),+) => {$(
        impl AnyCondition for $shape {
            fn type_(&self) -> &str {
                &self.type_
            }
            fn status(&self) -> &ConditionStatus {
                &self.status
            }
            fn last_transition_time(&self) -> Option<&Time> {
                self.last_transition_time.as_ref()
            }
            fn set_last_transition_time(&mut self, time: Time) {
                self.last_transition_time = Some(time);
            }
            fn unknown_mut(&mut self) -> &mut UnknownFields {
                &mut self.unknown
            }
        }
    )+};
}
any_condition!(OperatorCondition, Condition);

/// A list with at most one condition of each type.
pub trait Conditions<C: AnyCondition> {
    /// The condition with a type.
    fn find(&self, type_: &str) -> Option<&C>;

    /// Whether the condition exists with status True.
    fn is_true(&self, type_: &str) -> bool {
        self.find(type_).is_some_and(|condition| *condition.status() == ConditionStatus::True)
    }

    /// Whether the condition exists with status False.
    fn is_false(&self, type_: &str) -> bool {
        self.find(type_).is_some_and(|condition| *condition.status() == ConditionStatus::False)
    }

    /// Sets a condition. Reason and message are replaced; the transition time changes to `now` only
    /// with the status. A new condition is appended, so that the order is stable. Duplicates of the
    /// type, which some servers accept, are removed.
    fn set(&mut self, condition: C, now: Timestamp);

    /// Removes the conditions with a type.
    fn discard(&mut self, type_: &str);
}

impl<C: AnyCondition> Conditions<C> for Vec<C> {
    fn find(&self, type_: &str) -> Option<&C> {
        self.iter().find(|condition| condition.type_() == type_)
    }

    fn set(&mut self, mut condition: C, now: Timestamp) {
        let Some(index) = self.iter().position(|before| before.type_() == condition.type_()) else {
            condition.set_last_transition_time(wire_time(now));
            self.push(condition);
            return;
        };
        let before = &mut self[index];
        let since = match before.last_transition_time() {
            Some(since) if before.status() == condition.status() => since.clone(),
            _ => wire_time(now),
        };
        condition.set_last_transition_time(since);
        let mut unknown = std::mem::take(before.unknown_mut());
        unknown.append(condition.unknown_mut());
        *condition.unknown_mut() = unknown;
        *before = condition;

        let type_ = self[index].type_().to_owned();
        let mut kept = false;
        self.retain(|other| other.type_() != type_ || !std::mem::replace(&mut kept, true));
    }

    fn discard(&mut self, type_: &str) {
        self.retain(|condition| condition.type_() != type_);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::{applies, progressing, release_accepted};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn progressing(status: bool, message: &str) -> OperatorCondition {
        OperatorCondition::new(progressing::TYPE, status).message(message)
    }

    #[test]
    fn set_with_same_status_keeps_transition_time() {
        let mut conditions = Vec::new();
        conditions.set(progressing(true, "10 of 20 done"), at(0));
        conditions.set(progressing(true, "11 of 20 done"), at(10));
        assert_eq!(conditions[0].message.as_deref(), Some("11 of 20 done"));
        assert_eq!(conditions[0].last_transition_time, Some(Time(at(0))));

        conditions.set(progressing(false, "done"), at(20));
        assert_eq!(conditions[0].last_transition_time, Some(Time(at(20))));
        assert_eq!(conditions.len(), 1);
    }

    #[test]
    fn set_replaces_reason_and_message() {
        let mut conditions = Vec::new();
        let accepted = OperatorCondition::new(release_accepted::TYPE, true)
            .reason(release_accepted::PAYLOAD_LOADED)
            .message("loaded");
        conditions.set(accepted, at(0));
        conditions.set(OperatorCondition::new(release_accepted::TYPE, true), at(1));
        assert_eq!((&conditions[0].reason, &conditions[0].message), (&None, &None));
        assert_eq!(conditions[0].last_transition_time, Some(Time(at(0))));
    }

    #[test]
    fn set_keeps_order() {
        let mut conditions = Vec::new();
        for type_ in ["Available", "Progressing", "Failing"] {
            conditions.set(OperatorCondition::new(type_, false), at(0));
        }
        conditions.set(progressing(true, ""), at(5));
        let order: Vec<&str> =
            conditions.iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(order, ["Available", "Progressing", "Failing"]);
        assert!(conditions.is_true("Progressing"));
        assert!(conditions.is_false("Available"));

        conditions.discard("Available");
        assert_eq!(conditions.len(), 2);
        assert!(!conditions.is_false("Available"), "a missing condition is neither true nor false");
    }

    #[test]
    fn set_without_previous_time_sets_it() {
        let mut conditions = vec![progressing(true, "written by another client")];
        conditions.set(progressing(true, "ours"), at(3));
        assert_eq!(conditions[0].last_transition_time, Some(Time(at(3))));
    }

    #[test]
    fn set_keeps_unknown_fields() {
        let json = r#"[{"type":"Progressing","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":7}]"#;
        let mut conditions: Vec<OperatorCondition> = serde_json::from_str(json).unwrap();
        conditions.set(progressing(true, ""), at(0));
        assert_eq!(conditions[0].unknown["observedGeneration"], 7);
    }

    #[test]
    fn unknown_status_is_neither_true_nor_false() {
        let json = r#"[{"type":"Available","status":"true"}]"#;
        let conditions: Vec<OperatorCondition> = serde_json::from_str(json).unwrap();
        assert!(!conditions.is_true("Available") && !conditions.is_false("Available"));
    }

    #[test]
    fn times_have_resolution_of_api() {
        let mut conditions = Vec::new();
        conditions.set(progressing(true, ""), "2026-01-01T00:00:00.987654321Z".parse().unwrap());
        let sent = serde_json::to_string(&conditions).unwrap();
        let returned: Vec<OperatorCondition> = serde_json::from_str(&sent).unwrap();
        assert_eq!(returned, conditions, "the response equals the composed status");
    }

    #[test]
    fn set_removes_duplicates() {
        let mut conditions = vec![
            progressing(true, "a"),
            OperatorCondition::new("Failing", false),
            progressing(false, "b"),
        ];
        conditions.set(progressing(true, "c"), at(0));
        let left: Vec<_> =
            conditions.iter().map(|c| (c.type_.as_str(), c.message.as_deref())).collect();
        assert_eq!(left, [("Progressing", Some("c")), ("Failing", None)]);
    }

    #[test]
    fn is_legal_reason_matches_pattern() {
        for word in ["A", "AsExpected", "Alert:firing", "a_b", "A1", "A,B"] {
            assert!(is_legal_reason(word), "{word}");
        }
        for word in ["", "1A", "_A", "A:", "A,", "A B", "A-B", "Ä", &"A".repeat(1025)] {
            assert!(!is_legal_reason(word), "{word}");
        }
    }

    #[test]
    fn set_of_standard_condition_keeps_time_and_replaces_message() {
        let mut conditions = Vec::new();
        conditions.set(Condition::new(applies::TYPE, true, applies::MATCH, "one"), at(0));
        conditions.set(Condition::new(applies::TYPE, true, applies::MATCH, "two"), at(9));
        assert_eq!(conditions[0].last_transition_time, Some(Time(at(0))));
        assert_eq!(conditions[0].message, "two");
    }
}
