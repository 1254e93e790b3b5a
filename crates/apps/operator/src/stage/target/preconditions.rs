//! Preconditions of an update that only `force` waives: no rollback, no skipped versions.

use std::fmt;

use fairway_api::Version;
use fairway_api::cluster_version::UpdateHistory;
use fairway_api::reason::Reason;
use fairway_api::reason::precondition::{giant_hop, rollback};
use fairway_api::version::{MAX_SKIPPED_MINORS, UpdateDistance};

use crate::stage::updates::same_content;

/// An update from one version to another.
#[derive(Clone, Copy)]
pub(super) struct UpdateStep<'a> {
    /// Version of the accepted release.
    pub(super) from: &'a Version,
    /// The newest completed release, if it has another version than the accepted one.
    pub(super) completed: Option<CompletedOrigin<'a>>,
    /// Requested version.
    pub(super) to: &'a Version,
    /// The release before the accepted one.
    pub(super) previous: Option<&'a UpdateHistory>,
    /// Whether the update service offers the update.
    pub(super) offered: bool,
    /// Whether a complete and recent preflight of the release has no unaccepted findings.
    pub(super) checked: bool,
}

/// The newest completed release. Components have its version until the rollout of the accepted
/// release completes.
#[derive(Clone, Copy)]
pub(super) struct CompletedOrigin<'a> {
    /// Its version.
    pub(super) version: &'a Version,
    /// Whether the update service offers the update from that version.
    pub(super) offered: bool,
}

/// A failed precondition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PreconditionFailure {
    check: &'static str,
    reason: Reason,
    why: String,
}

impl fmt::Display for PreconditionFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, reason, why } = self;
        write!(f, "Precondition \"{check}\" failed because of \"{reason}\": {why}")
    }
}

/// The latest release in the history with another image.
pub(super) fn previous<'a>(history: &'a [UpdateHistory], image: &str) -> Option<&'a UpdateHistory> {
    history.iter().find(|entry| !same_content(&entry.image, image))
}

/// All preconditions that fail for an update.
pub(super) fn check(step: UpdateStep) -> Vec<PreconditionFailure> {
    rollback(step).into_iter().chain(skipped_versions(step)).collect()
}

fn rollback(UpdateStep { from, to, previous, .. }: UpdateStep) -> Option<PreconditionFailure> {
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
    Some(PreconditionFailure { check: rollback::TYPE, reason: rollback::LOW_DESIRED_VERSION, why })
}

/// Skipped versions count from the accepted release and from the newest completed one. Otherwise a
/// sequence of interrupted updates would skip any number of versions.
fn skipped_versions(step: UpdateStep) -> Option<PreconditionFailure> {
    let UpdateStep { from, completed, to, offered, checked, .. } = step;
    let accepted = Origin { version: from, note: String::new(), remedy: String::new(), offered };
    let completed = completed.map(|CompletedOrigin { version, offered }| Origin {
        version,
        note: " (the newest completed release)".to_owned(),
        remedy: format!("; wait until the update to {from} completes"),
        offered,
    });
    let mut origins = [accepted].into_iter().chain(completed);
    origins.find_map(|origin| origin.skipped_versions(to, checked))
}

/// A version from which an update starts.
struct Origin<'a> {
    version: &'a Version,
    /// Note about the version in messages.
    note: String,
    /// Alternative to the update in messages.
    remedy: String,
    /// Whether the update service offers the update from that version.
    offered: bool,
}

impl Origin<'_> {
    fn skipped_versions(&self, to: &Version, checked: bool) -> Option<PreconditionFailure> {
        let Self { version: from, note, remedy, offered } = self;
        let failure =
            |reason, why| Some(PreconditionFailure { check: giant_hop::TYPE, reason, why });
        match UpdateDistance::between(from, to) {
            UpdateDistance::Major => failure(
                giant_hop::MAJOR_VERSION_UPDATE,
                format!(
                    "{to} has a later major version than {from}{note}; the only supported major \
                     update is from 4.y to 5.0{remedy}"
                ),
            ),
            UpdateDistance::TooFar { minors } => failure(
                giant_hop::MULTIPLE_MINOR_VERSIONS_UPDATE,
                format!(
                    "{to} is {minors} minor versions after {from}{note}; one update can cross at \
                     most {MAX_SKIPPED_MINORS}{remedy}"
                ),
            ),
            UpdateDistance::SkipLevel if !offered => failure(
                giant_hop::SKIP_LEVEL_NOT_OFFERED,
                format!(
                    "{to} skips a minor version after {from}{note}, and the update service does \
                     not offer this update{remedy}"
                ),
            ),
            UpdateDistance::SkipLevel if !checked => failure(
                giant_hop::SKIP_LEVEL_NOT_CHECKED,
                format!(
                    "{to} skips a minor version after {from}{note}, which needs a complete \
                     preflight of the last 24 hours without unaccepted risks; run \
                     `fairway upgrade --mode=preflight --to={to}`, or update to a release in \
                     between"
                ),
            ),
            UpdateDistance::Usual | UpdateDistance::SkipLevel | UpdateDistance::Back => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(
        step: (&str, &str),
        before: Option<&str>,
        (offered, checked): (bool, bool),
    ) -> String {
        let [from, to] = [step.0, step.1].map(|version| Version::parse(version).unwrap());
        let previous = before.map(|version| UpdateHistory {
            version: Some(version.to_owned()),
            ..UpdateHistory::default()
        });
        let previous = previous.as_ref();
        let completed = None;
        let step = UpdateStep { from: &from, completed, to: &to, previous, offered, checked };
        check(step).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn rollback_only_to_previous_release_of_same_minor_version() {
        for (step, before) in [
            (("5.1.2", "5.1.2"), None),
            (("5.1.2", "5.1.3"), None),
            (("5.1.2", "5.1.1"), Some("5.1.1")),
            (("5.1.2", "5.1.2-rc.1"), Some("5.1.2-rc.1")),
            (("5.1.2+one", "5.1.2+another"), None),
        ] {
            assert_eq!(failures(step, before, (true, true)), "", "{step:?}");
        }
        let refused = [
            failures(("5.1.2", "5.1.0"), Some("5.1.1"), (true, true)),
            failures(("5.1.0", "5.0.9"), Some("5.0.9"), (true, true)),
            failures(("5.0.0", "4.21.3"), Some("4.21.3"), (true, true)),
            failures(("5.1.2", "5.1.1"), None, (true, true)),
            failures(("5.1.2", "5.1.1"), Some("what"), (true, true)),
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
    fn update_crosses_one_minor_version() {
        for step in [
            ("5.0.0", "5.0.9"),
            ("5.0.9", "5.1.0"),
            ("5.1.0", "5.2.0-rc.1"),
            ("4.3.0", "5.0.0"),
            ("4.21.0", "5.0.7"),
        ] {
            assert_eq!(failures(step, None, (false, false)), "", "{step:?}");
        }
        let refused =
            [("5.0.0", "5.3.0"), ("4.21.0", "5.1.0"), ("5.0.0", "6.0.0"), ("3.11.0", "5.0.0")]
                .map(|step| failures(step, None, (true, true)));
        insta::assert_snapshot!(refused.join("\n"), @r#"
        Precondition "ClusterVersionGiantHop" failed because of "MultipleMinorVersionsUpdate": 5.3.0 is 3 minor versions after 5.0.0; one update can cross at most 2
        Precondition "ClusterVersionGiantHop" failed because of "MajorVersionUpdate": 5.1.0 has a later major version than 4.21.0; the only supported major update is from 4.y to 5.0
        Precondition "ClusterVersionGiantHop" failed because of "MajorVersionUpdate": 6.0.0 has a later major version than 5.0.0; the only supported major update is from 4.y to 5.0
        Precondition "ClusterVersionGiantHop" failed because of "MajorVersionUpdate": 5.0.0 has a later major version than 3.11.0; the only supported major update is from 4.y to 5.0
        "#);
    }

    #[test]
    fn skip_level_update_requires_edge_and_preflight() {
        let step = ("5.0.0", "5.2.0");
        assert_eq!(failures(step, None, (true, true)), "");
        let refused =
            [(false, true), (false, false), (true, false)].map(|so| failures(step, None, so));
        insta::assert_snapshot!(refused.join("\n"), @r#"
        Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotOffered": 5.2.0 skips a minor version after 5.0.0, and the update service does not offer this update
        Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotOffered": 5.2.0 skips a minor version after 5.0.0, and the update service does not offer this update
        Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotChecked": 5.2.0 skips a minor version after 5.0.0, which needs a complete preflight of the last 24 hours without unaccepted risks; run `fairway upgrade --mode=preflight --to=5.2.0`, or update to a release in between
        "#);
    }

    /// Failures of an update to `to` while `from` is not complete.
    fn during_update(completed: &str, from: &str, to: &str, offered: bool) -> String {
        let [completed, from, to] =
            [completed, from, to].map(|version| Version::parse(version).unwrap());
        let step = UpdateStep {
            from: &from,
            completed: Some(CompletedOrigin { version: &completed, offered }),
            to: &to,
            previous: None,
            offered: true,
            checked: false,
        };
        check(step).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn skipped_versions_count_from_newest_completed_release() {
        for (completed, from, to) in [
            ("5.0.0", "5.1.0", "5.1.1"),
            ("5.0.0", "5.0.3", "5.1.0"),
            ("4.21.0", "5.0.0", "5.0.1"),
            // The newest completed release may be later, after a rollback.
            ("5.2.0", "5.1.9", "5.2.1"),
        ] {
            assert_eq!(during_update(completed, from, to, false), "", "{completed} {from} {to}");
        }
        let refused = [
            during_update("5.0.0", "5.1.0", "5.2.0", false),
            during_update("5.0.0", "5.1.0", "5.2.0", true),
            during_update("5.0.0", "5.2.0", "5.3.0", true),
            during_update("4.21.0", "5.0.0", "5.1.0", true),
        ];
        insta::assert_snapshot!(refused.join("\n"), @r#"
        Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotOffered": 5.2.0 skips a minor version after 5.0.0 (the newest completed release), and the update service does not offer this update; wait until the update to 5.1.0 completes
        Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotChecked": 5.2.0 skips a minor version after 5.0.0 (the newest completed release), which needs a complete preflight of the last 24 hours without unaccepted risks; run `fairway upgrade --mode=preflight --to=5.2.0`, or update to a release in between
        Precondition "ClusterVersionGiantHop" failed because of "MultipleMinorVersionsUpdate": 5.3.0 is 3 minor versions after 5.0.0 (the newest completed release); one update can cross at most 2; wait until the update to 5.2.0 completes
        Precondition "ClusterVersionGiantHop" failed because of "MajorVersionUpdate": 5.1.0 has a later major version than 4.21.0 (the newest completed release); the only supported major update is from 4.y to 5.0; wait until the update to 5.0.0 completes
        "#);
    }
}
