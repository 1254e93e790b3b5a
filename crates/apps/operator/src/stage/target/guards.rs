//! The guards that only `force` opens: against going back, and against going too far at once.

use std::fmt;

use fairway_api::Version;
use fairway_api::cluster_version::UpdateHistory;
use fairway_api::leap::{Leap, MOST_MINORS};
use fairway_api::reason::Reason;
use fairway_api::reason::precondition::{giant_hop, rollback};

use crate::stage::updates::same_content;

/// A step from one release to another.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    /// The version that the cluster has, or to which it is on its way.
    pub(super) from: &'a Version,
    /// The version that is asked for.
    pub(super) to: &'a Version,
    /// The release that the cluster had before this one.
    pub(super) previous: Option<&'a UpdateHistory>,
    /// Whether the update service offers the step.
    pub(super) offered: bool,
    /// Whether a complete preflight of this very release left nothing open, not too long ago.
    pub(super) checked: bool,
}

/// What a guard says against a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Objection {
    check: &'static str,
    reason: Reason,
    why: String,
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, reason, why } = self;
        write!(f, "Precondition \"{check}\" failed because of \"{reason}\": {why}")
    }
}

/// The release before the one with that image.
pub(super) fn previous<'a>(history: &'a [UpdateHistory], image: &str) -> Option<&'a UpdateHistory> {
    history.iter().find(|entry| !same_content(&entry.image, image))
}

/// Everything that the guards say against a step.
pub(super) fn objections(step: Step) -> Vec<Objection> {
    rollback(step).into_iter().chain(giant_hop(step)).collect()
}

fn rollback(Step { from, to, previous, .. }: Step) -> Option<Objection> {
    if to >= from {
        return None;
    }
    let before = previous.and_then(|entry| Version::parse(entry.version.as_deref()?).ok());
    let why = match before {
        Some(before) if before == *to && to.stream() == from.stream() => return None,
        Some(before) if before == *to => format!(
            "{to} is older than {from}; it is the previous release of this cluster, but a rollback \
             is supported only within a minor version"
        ),
        Some(before) => format!(
            "{to} is older than {from}; a rollback is supported only to the previous release, \
             {before}"
        ),
        None => format!("{to} is older than {from}, and this cluster has no previous release"),
    };
    Some(Objection { check: rollback::TYPE, reason: rollback::LOW_DESIRED_VERSION, why })
}

fn giant_hop(Step { from, to, offered, checked, .. }: Step) -> Option<Objection> {
    let object = |reason, why| Some(Objection { check: giant_hop::TYPE, reason, why });
    match Leap::between(from, to) {
        Leap::Major => object(
            giant_hop::MAJOR_VERSION_UPDATE,
            format!(
                "{to} has a later major version than {from}; the only supported major update is \
                 from 4.y to 5.0"
            ),
        ),
        Leap::TooFar { minors } => object(
            giant_hop::MULTIPLE_MINOR_VERSIONS_UPDATE,
            format!(
                "{to} is {minors} minor versions after {from}; one update can cross at most \
                 {MOST_MINORS}"
            ),
        ),
        Leap::SkipLevel if !offered => object(
            giant_hop::SKIP_LEVEL_NOT_OFFERED,
            format!(
                "{to} skips a minor version after {from}, and the update service does not offer \
                 this update"
            ),
        ),
        Leap::SkipLevel if !checked => object(
            giant_hop::SKIP_LEVEL_NOT_CHECKED,
            format!(
                "{to} skips a minor version after {from}, which needs a complete preflight of the \
                 last 24 hours without unaccepted risks; run \
                 `fairway upgrade --mode=preflight --to={to}`, or update to a release in between"
            ),
        ),
        Leap::Usual | Leap::SkipLevel | Leap::Back => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(step: (&str, &str), before: Option<&str>, (offered, checked): (bool, bool)) -> String {
        let [from, to] = [step.0, step.1].map(|version| Version::parse(version).unwrap());
        let previous = before.map(|version| UpdateHistory {
            version: Some(version.to_owned()),
            ..UpdateHistory::default()
        });
        let step = Step { from: &from, to: &to, previous: previous.as_ref(), offered, checked };
        let objections = objections(step);
        objections.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_cluster_goes_back_only_to_what_it_had_in_the_same_minor_version() {
        for (step, before) in [
            (("5.1.2", "5.1.2"), None),
            (("5.1.2", "5.1.3"), None),
            (("5.1.2", "5.1.1"), Some("5.1.1")),
            (("5.1.2", "5.1.2-rc.1"), Some("5.1.2-rc.1")),
            (("5.1.2+one", "5.1.2+another"), None),
        ] {
            assert_eq!(told(step, before, (true, true)), "", "{step:?}");
        }
        let refused = [
            told(("5.1.2", "5.1.0"), Some("5.1.1"), (true, true)),
            told(("5.1.0", "5.0.9"), Some("5.0.9"), (true, true)),
            told(("5.0.0", "4.21.3"), Some("4.21.3"), (true, true)),
            told(("5.1.2", "5.1.1"), None, (true, true)),
            told(("5.1.2", "5.1.1"), Some("what"), (true, true)),
        ];
        insta::assert_snapshot!(refused.join("\n"), @r#"
        Precondition "ClusterVersionRollback" failed because of "LowDesiredVersion": 5.1.0 is older than 5.1.2; a rollback is supported only to the previous release, 5.1.1
        Precondition "ClusterVersionRollback" failed because of "LowDesiredVersion": 5.0.9 is older than 5.1.0; it is the previous release of this cluster, but a rollback is supported only within a minor version
        Precondition "ClusterVersionRollback" failed because of "LowDesiredVersion": 4.21.3 is older than 5.0.0; it is the previous release of this cluster, but a rollback is supported only within a minor version
        Precondition "ClusterVersionRollback" failed because of "LowDesiredVersion": 5.1.1 is older than 5.1.2, and this cluster has no previous release
        Precondition "ClusterVersionRollback" failed because of "LowDesiredVersion": 5.1.1 is older than 5.1.2, and this cluster has no previous release
        "#);
    }

    #[test]
    fn a_cluster_goes_one_minor_version_at_a_time() {
        for step in [
            ("5.0.0", "5.0.9"),
            ("5.0.9", "5.1.0"),
            ("5.1.0", "5.2.0-rc.1"),
            ("4.3.0", "5.0.0"),
            ("4.21.0", "5.0.7"),
        ] {
            assert_eq!(told(step, None, (false, false)), "", "{step:?}");
        }
        let refused =
            [("5.0.0", "5.3.0"), ("4.21.0", "5.1.0"), ("5.0.0", "6.0.0"), ("3.11.0", "5.0.0")]
                .map(|step| told(step, None, (true, true)));
        insta::assert_snapshot!(refused.join("\n"), @r#"
        Precondition "ClusterVersionGiantHop" failed because of "MultipleMinorVersionsUpdate": 5.3.0 is 3 minor versions after 5.0.0; one update can cross at most 2
        Precondition "ClusterVersionGiantHop" failed because of "MajorVersionUpdate": 5.1.0 has a later major version than 4.21.0; the only supported major update is from 4.y to 5.0
        Precondition "ClusterVersionGiantHop" failed because of "MajorVersionUpdate": 6.0.0 has a later major version than 5.0.0; the only supported major update is from 4.y to 5.0
        Precondition "ClusterVersionGiantHop" failed because of "MajorVersionUpdate": 5.0.0 has a later major version than 3.11.0; the only supported major update is from 4.y to 5.0
        "#);
    }

    #[test]
    fn a_minor_version_is_skipped_only_along_an_edge_and_after_a_preflight() {
        let step = ("5.0.0", "5.2.0");
        assert_eq!(told(step, None, (true, true)), "");
        let refused = [(false, true), (false, false), (true, false)].map(|so| told(step, None, so));
        insta::assert_snapshot!(refused.join("\n"), @r#"
        Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotOffered": 5.2.0 skips a minor version after 5.0.0, and the update service does not offer this update
        Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotOffered": 5.2.0 skips a minor version after 5.0.0, and the update service does not offer this update
        Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotChecked": 5.2.0 skips a minor version after 5.0.0, which needs a complete preflight of the last 24 hours without unaccepted risks; run `fairway upgrade --mode=preflight --to=5.2.0`, or update to a release in between
        "#);
    }
}
