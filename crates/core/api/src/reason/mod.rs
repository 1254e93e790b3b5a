//! Condition types and reasons, with their meaning and remediation.
//!
//! They are a contract with dashboards, alerts and scripts, so each is declared once, here. Each
//! condition has a module with its `TYPE`, a constant for each reason, and the table `CONDITION`:
//!
//! ```
//! use fairway_api::reason::release_accepted;
//!
//! assert_eq!(release_accepted::TYPE, "ReleaseAccepted");
//! assert_eq!(release_accepted::PAYLOAD_LOADED.code, "PayloadLoaded");
//! ```
//!
//! Modules at this level belong to ClusterVersion; [`cluster_operator`] and [`precondition`] have
//! conditions with the same names. [`rollout`] has reasons that several conditions share.
//! [`reference_page`] generates the documentation.

use std::fmt;

/// Declares reasons and a list of them in this order.
///
/// `CONSTANT = "Code": "meaning" => "remedy";`, where the remedy is optional.
macro_rules! reasons {
    (
        $(#[$doc:meta])* $vis:vis $list:ident;
        $($name:ident = $code:literal: $meaning:literal $(=> $remedy:literal)?;)*
    ) => {
        $(
            #[doc = concat!("`", $code, "`: ", $meaning, ".")]
            pub const $name: $crate::reason::Reason = $crate::reason::Reason {
                code: $code,
                meaning: $meaning,
                remedy: reasons!(@remedy $($remedy)?),
            };
        )*

        $(#[$doc])*
        $vis const $list: &[&$crate::reason::Reason] = &[$(&$name),*];
    };
    (@remedy) => { None };
    (@remedy $remedy:literal) => { Some($remedy) };
}

/// Declares the module of a condition: `TYPE`, its reasons, and `CONDITION`.
///
/// `also LIST` appends shared reasons.
macro_rules! condition {
    (
        $module:ident: $kind:ident $type:literal, $meaning:literal $(, also $shared:path)*;
        $($reasons:tt)*
    ) => {
        #[doc = concat!("`", $type, "`: true when ", $meaning, ".")]
        pub mod $module {
            /// Type of the condition.
            pub const TYPE: &str = $type;

            reasons! { OWN; $($reasons)* }

            const LISTS: &[&[&$crate::reason::Reason]] = &[OWN $(, $shared)*];

            /// The condition with all its reasons.
            pub const CONDITION: $crate::reason::ConditionReasons =
                $crate::reason::ConditionReasons {
                    kind: $crate::reason::kind::$kind,
                    condition: TYPE,
                    meaning: $meaning,
                    reasons: &$crate::reason::concat::<{ $crate::reason::total(LISTS) }>(LISTS),
                };
        }
    };
}

pub mod cluster_operator;
mod cluster_version;
pub mod precondition;
mod preflight;
mod reference;
pub mod rollout;
mod updates;

pub use cluster_version::{
    RETIRED_TYPES, available, failing, implicitly_enabled_capabilities, invalid, progressing,
    release_accepted, retrieved_updates, upgradeable,
};
pub use preflight::{preflight_completed, preflight_failed, preflight_running};
pub use reference::reference_page;
pub use updates::{applies, evaluating, recommended};

/// Objects with conditions.
pub mod kind {
    /// `status.conditions` of `ClusterVersion`.
    pub const CLUSTER_VERSION: &str = "ClusterVersion";
    /// `status.conditionalUpdates[].conditions` of `ClusterVersion`.
    pub const UPDATE: &str = "ClusterVersion update";
    /// `status.conditionalUpdateRisks[].conditions` of `ClusterVersion`.
    pub const RISK: &str = "ClusterVersion risk";
    /// Preconditions of an update, quoted in the message of `ReleaseAccepted`.
    pub const PRECONDITION: &str = "ClusterVersion precondition";
    /// `status.conditions` of a ClusterOperator of Fairway.
    pub const CLUSTER_OPERATOR: &str = "ClusterOperator";
}

/// A reason of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    /// Value of `reason`.
    pub code: &'static str,
    /// Meaning, in one line.
    pub meaning: &'static str,
    /// Remediation; `None` if no action is needed.
    pub remedy: Option<&'static str>,
}

impl AsRef<str> for Reason {
    fn as_ref(&self) -> &str {
        self.code
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code)
    }
}

/// The reasons of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionReasons {
    /// Object with the condition: one of the constants in [`kind`].
    pub kind: &'static str,
    /// Type of the condition.
    pub condition: &'static str,
    /// Meaning of status `True`, in one line.
    pub meaning: &'static str,
    /// Possible reasons; empty if the status needs none.
    pub reasons: &'static [&'static Reason],
}

/// All conditions that Fairway writes or reads, in the order of the reference page.
pub const ALL: &[&ConditionReasons] = &[
    &available::CONDITION,
    &failing::CONDITION,
    &progressing::CONDITION,
    &retrieved_updates::CONDITION,
    &release_accepted::CONDITION,
    &upgradeable::CONDITION,
    &implicitly_enabled_capabilities::CONDITION,
    &invalid::CONDITION,
    &preflight_running::CONDITION,
    &preflight_completed::CONDITION,
    &preflight_failed::CONDITION,
    &recommended::CONDITION,
    &evaluating::CONDITION,
    &applies::CONDITION,
    &precondition::rollback::CONDITION,
    &precondition::giant_hop::CONDITION,
    &precondition::upgradeable::CONDITION,
    &precondition::recommended_update::CONDITION,
    &cluster_operator::available::CONDITION,
    &cluster_operator::progressing::CONDITION,
    &cluster_operator::degraded::CONDITION,
    &cluster_operator::upgradeable::CONDITION,
];

/// Finds the reason of a condition.
pub fn find(kind: &str, condition: &str, code: &str) -> Option<&'static Reason> {
    ALL.iter()
        .filter(|entry| entry.kind == kind && entry.condition == condition)
        .flat_map(|entry| entry.reasons)
        .copied()
        .find(|reason| reason.code == code)
}

const fn total(lists: &[&[&Reason]]) -> usize {
    let mut total = 0;
    let mut i = 0;
    while i < lists.len() {
        total += lists[i].len();
        i += 1;
    }
    total
}

const fn concat<const N: usize>(lists: &[&[&'static Reason]]) -> [&'static Reason; N] {
    const FILLER: &Reason = &Reason { code: "", meaning: "", remedy: None };
    let mut all = [FILLER; N];
    let mut next = 0;
    let mut i = 0;
    while i < lists.len() {
        let mut k = 0;
        while k < lists[i].len() {
            all[next] = lists[i][k];
            next += 1;
            k += 1;
        }
        i += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::condition::is_legal_reason;

    fn everything() -> impl Iterator<Item = (&'static ConditionReasons, &'static Reason)> {
        ALL.iter().flat_map(|entry| entry.reasons.iter().map(move |reason| (*entry, *reason)))
    }

    fn is_line(text: &str, limit: usize) -> bool {
        !text.is_empty()
            && text.chars().count() <= limit
            && text.trim() == text
            && !text.contains(['\n', '\t'])
            && !text.contains("  ")
            && !text.ends_with('.')
    }

    #[test]
    fn codes_are_valid_reasons() {
        for (entry, reason) in everything() {
            assert!(is_legal_reason(reason.code), "{}: {reason}", entry.condition);
        }
    }

    #[test]
    fn condition_types_are_alphanumeric() {
        for condition in ALL.iter().map(|entry| entry.condition).chain(RETIRED_TYPES.to_vec()) {
            assert!(condition.chars().all(|c| c.is_ascii_alphanumeric()), "{condition}");
        }
    }

    #[test]
    fn codes_are_unique_within_a_condition() {
        let mut seen = HashSet::new();
        for (entry, reason) in everything() {
            let key = (entry.kind, entry.condition, reason.code);
            assert!(seen.insert(key), "{key:?}");
        }
    }

    #[test]
    fn conditions_are_unique_within_a_kind() {
        let mut seen = HashSet::new();
        for entry in ALL {
            assert!(seen.insert((entry.kind, entry.condition)), "{}", entry.condition);
        }
    }

    #[test]
    fn conditions_are_grouped_by_kind() {
        let mut kinds: Vec<_> = ALL.iter().map(|entry| entry.kind).collect();
        kinds.dedup();
        let distinct: HashSet<_> = kinds.iter().collect();
        assert_eq!(distinct.len(), kinds.len(), "{kinds:?}");
    }

    #[test]
    fn retired_types_are_unused() {
        for entry in ALL {
            assert!(!RETIRED_TYPES.contains(&entry.condition), "{}", entry.condition);
        }
    }

    #[test]
    fn texts_are_single_lines() {
        for entry in ALL {
            assert!(is_line(entry.meaning, 120), "{}: {}", entry.condition, entry.meaning);
        }
        for (entry, reason) in everything() {
            assert!(is_line(reason.meaning, 120), "{} {reason}", entry.condition);
            if let Some(remedy) = reason.remedy {
                assert!(is_line(remedy, 200), "{} {reason}: {}", entry.condition, remedy.len());
                assert!(remedy.starts_with(char::is_uppercase), "{} {reason}", entry.condition);
            }
        }
    }

    #[test]
    fn backticks_are_balanced() {
        for (entry, reason) in everything() {
            for text in [reason.meaning, reason.remedy.unwrap_or_default()] {
                assert_eq!(text.matches('`').count() % 2, 0, "{} {reason}", entry.condition);
            }
        }
    }

    #[test]
    fn preflight_conditions_share_codes() {
        for code in ["PreflightPartial", "PreflightVersionSkew"] {
            assert!(find(kind::RISK, applies::TYPE, code).is_some(), "{code}");
            assert!(
                find(kind::CLUSTER_VERSION, preflight_completed::TYPE, code).is_some(),
                "{code}"
            );
        }
    }

    #[test]
    fn shared_reasons_come_last() {
        for condition in [failing::CONDITION, progressing::CONDITION] {
            assert!(condition.reasons.ends_with(rollout::REASONS), "{}", condition.condition);
            assert!(condition.reasons.len() > rollout::REASONS.len(), "{}", condition.condition);
        }
    }

    #[test]
    fn find_returns_reason_of_condition() {
        let found = find("ClusterVersion", "ReleaseAccepted", "UnacceptedRisks");
        assert_eq!(found, Some(&release_accepted::UNACCEPTED_RISKS));
        let shared = find("ClusterVersion", "Progressing", "ClusterOperatorDegraded");
        assert_eq!(shared, Some(&rollout::CLUSTER_OPERATOR_DEGRADED));
        assert_eq!(find("ClusterOperator", "ReleaseAccepted", "UnacceptedRisks"), None);
        assert_eq!(find("ClusterVersion", "ReleaseAccepted", "SomethingElse"), None);
    }

    #[test]
    fn reason_display_is_its_code() {
        assert_eq!(retrieved_updates::NO_CHANNEL.to_string(), "NoChannel");
        assert_eq!(format!("{:>12}|", retrieved_updates::NO_CHANNEL), "   NoChannel|");
    }
}
