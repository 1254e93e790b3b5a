//! Condition types and reasons: every word that appears in a condition's `type` or `reason`,
//! what it means and what an administrator does about it.
//!
//! The words are a contract with dashboards, alerts and scripts, so each is written once, here.
//! A condition has a module with its `TYPE`, a constant per reason, and the table `CONDITION`:
//!
//! ```
//! use fairway_api::reason::release_accepted;
//!
//! assert_eq!(release_accepted::TYPE, "ReleaseAccepted");
//! assert_eq!(release_accepted::PAYLOAD_LOADED.code, "PayloadLoaded");
//! ```
//!
//! Modules at this level belong to `ClusterVersion`; [`cluster_operator`] and [`precondition`] hold
//! what would otherwise have the same name. [`rollout`] has the failures that several conditions
//! share. [`reference_page`] prints all of it for the documentation.

use std::fmt;

/// Declares reasons, and a list of them in the order of declaration.
///
/// `CONSTANT = "Code": "meaning" => "remedy";`, the remedy being optional.
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

/// Declares the module of one condition: `TYPE`, its reasons, and `CONDITION`.
///
/// `also LIST` appends reasons that other conditions have as well.
macro_rules! condition {
    (
        $module:ident: $kind:ident $type:literal, $meaning:literal $(, also $shared:path)*;
        $($reasons:tt)*
    ) => {
        #[doc = concat!("`", $type, "`: true when ", $meaning, ".")]
        pub mod $module {
            /// The condition's `type`.
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

/// What carries a condition.
pub mod kind {
    /// `status.conditions` of `ClusterVersion`.
    pub const CLUSTER_VERSION: &str = "ClusterVersion";
    /// `status.conditionalUpdates[].conditions` of `ClusterVersion`.
    pub const UPDATE: &str = "ClusterVersion update";
    /// `status.conditionalUpdateRisks[].conditions` of `ClusterVersion`.
    pub const RISK: &str = "ClusterVersion risk";
    /// The checks before an update, quoted in the message of `ReleaseAccepted`.
    pub const PRECONDITION: &str = "ClusterVersion precondition";
    /// `status.conditions` of a `ClusterOperator` that Fairway writes.
    pub const CLUSTER_OPERATOR: &str = "ClusterOperator";
}

/// One machine-readable cause, as it appears in a condition's `reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    /// The word in `reason`.
    pub code: &'static str,
    /// What it means, in one line.
    pub meaning: &'static str,
    /// What an administrator does about it; `None` where there is nothing to do.
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

/// The reasons one condition can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionReasons {
    /// What carries the condition: one of the constants in [`kind`].
    pub kind: &'static str,
    /// The condition's `type`.
    pub condition: &'static str,
    /// When its status is `True`, in one line.
    pub meaning: &'static str,
    /// The words that can stand in `reason`; none where the status says everything.
    pub reasons: &'static [&'static Reason],
}

/// Every condition that Fairway writes or understands, in the order of the reference page.
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

/// Looks a reason up by the words found in a status.
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
    fn every_code_is_legal() {
        for (entry, reason) in everything() {
            assert!(is_legal_reason(reason.code), "{}: {reason}", entry.condition);
        }
    }

    #[test]
    fn every_condition_type_is_legal() {
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
    fn conditions_of_one_kind_stand_together() {
        let mut kinds: Vec<_> = ALL.iter().map(|entry| entry.kind).collect();
        kinds.dedup();
        let distinct: HashSet<_> = kinds.iter().collect();
        assert_eq!(distinct.len(), kinds.len(), "{kinds:?}");
    }

    #[test]
    fn a_retired_type_is_not_in_use() {
        for entry in ALL {
            assert!(!RETIRED_TYPES.contains(&entry.condition), "{}", entry.condition);
        }
    }

    #[test]
    fn texts_are_single_lines_of_readable_length() {
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
    fn backticks_come_in_pairs() {
        for (entry, reason) in everything() {
            for text in [reason.meaning, reason.remedy.unwrap_or_default()] {
                assert_eq!(text.matches('`').count() % 2, 0, "{} {reason}", entry.condition);
            }
        }
    }

    #[test]
    fn one_code_on_several_preflight_conditions_is_spelled_alike() {
        for code in ["PreflightPartial", "PreflightVersionSkew"] {
            assert!(find(kind::RISK, applies::TYPE, code).is_some(), "{code}");
            assert!(
                find(kind::CLUSTER_VERSION, preflight_completed::TYPE, code).is_some(),
                "{code}"
            );
        }
    }

    #[test]
    fn shared_reasons_follow_the_own_ones() {
        for condition in [failing::CONDITION, progressing::CONDITION] {
            assert!(condition.reasons.ends_with(rollout::REASONS), "{}", condition.condition);
            assert!(condition.reasons.len() > rollout::REASONS.len(), "{}", condition.condition);
        }
    }

    #[test]
    fn a_reason_is_found_by_the_words_of_a_status() {
        let found = find("ClusterVersion", "ReleaseAccepted", "UnacceptedRisks");
        assert_eq!(found, Some(&release_accepted::UNACCEPTED_RISKS));
        let shared = find("ClusterVersion", "Progressing", "ClusterOperatorDegraded");
        assert_eq!(shared, Some(&rollout::CLUSTER_OPERATOR_DEGRADED));
        assert_eq!(find("ClusterOperator", "ReleaseAccepted", "UnacceptedRisks"), None);
        assert_eq!(find("ClusterVersion", "ReleaseAccepted", "SomethingElse"), None);
    }

    #[test]
    fn a_reason_prints_as_its_code() {
        assert_eq!(retrieved_updates::NO_CHANNEL.to_string(), "NoChannel");
        assert_eq!(format!("{:>12}|", retrieved_updates::NO_CHANNEL), "   NoChannel|");
    }
}
