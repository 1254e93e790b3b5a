//! How objects of a preflight are marked: whoever cleans up finds them by that.

use std::collections::BTreeMap;

/// The label with the run that an object belongs to.
pub const RUN: &str = "fairway.dev/preflight-run";

/// The label that all objects of preflights have, with [`APP_VALUE`].
pub const APP: &str = "app";

/// The name of the Deployment in which the target release runs.
pub const APP_VALUE: &str = "cluster-version-operator-preflight";

/// The label with the version of the target, as far as a label can have it.
pub const TARGET: &str = "preflight-target";

/// The label with the Job for which an object exists.
pub const JOB: &str = "fairway.dev/preflight-job";

/// The label that says who has begun a run, and cleans up after it: a word of [`By`].
pub const BY: &str = "fairway.dev/preflight-by";

/// The label of each `ClusterRole` that a platform adds to what preflights may read; its value is
/// `true`.
pub const AGGREGATE: &str = "fairway.dev/aggregate-to-preflight-reader";

/// The annotation with the check that a Job belongs to.
pub const CHECK: &str = "fairway.dev/preflight-check";

/// Who has begun a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// The operator of the cluster.
    #[default]
    Operator,
    /// Somebody with a command: the operator leaves that alone.
    Command,
}

impl By {
    /// The value of the label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Command => "command",
        }
    }
}

/// Characters of a label's value.
const VALUE: usize = 63;

/// The labels of the objects of a run.
pub fn of_run(run: &str, target_version: &str) -> BTreeMap<String, String> {
    [(APP, APP_VALUE.to_owned()), (TARGET, value(target_version)), (RUN, value(run))]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
}

/// What selects the objects of a run.
pub fn selector(run: &str) -> String {
    format!("{RUN}={}", value(run))
}

/// A text as the value of a label: what cannot be in one is replaced, such as the `+` of a version.
pub fn value(text: &str) -> String {
    let legal = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let replaced = text.chars().map(|letter| if legal(letter) { letter } else { '_' });
    let value: String = replaced.take(VALUE).collect();
    value.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_becomes_a_value() {
        let long = "1".repeat(100);
        for (version, label) in [
            ("5.2.0", "5.2.0"),
            ("5.2.0-rc.1+build/7", "5.2.0-rc.1_build_7"),
            ("5.2.0+", "5.2.0"),
            ("ä", ""),
            (&long, &long[..63]),
        ] {
            assert_eq!(value(version), label);
        }
    }
}
