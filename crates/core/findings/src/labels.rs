//! Labels and annotations of preflight objects.

use std::collections::BTreeMap;

/// Label with the run ID.
pub const RUN: &str = "fairway.dev/preflight-run";

/// Label of all preflight objects, with the value [`APP_VALUE`].
pub const APP: &str = "app";

/// Name of the Deployment of the target release.
pub const APP_VALUE: &str = "cluster-version-operator-preflight";

/// Label with the version of the target release, as far as label values allow.
pub const TARGET: &str = "preflight-target";

/// Label with the name of the Job that an object belongs to.
pub const JOB: &str = "fairway.dev/preflight-job";

/// Label with the owner of a run, which also removes it: [`RunOwner::as_str`].
pub const BY: &str = "fairway.dev/preflight-by";

/// Label of `ClusterRoles` that are aggregated into the read permissions of preflights. Its value
/// is `true`.
pub const AGGREGATE: &str = "fairway.dev/aggregate-to-preflight-reader";

/// Annotation with the name of a Job's check.
pub const CHECK: &str = "fairway.dev/preflight-check";

/// Owner of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunOwner {
    /// The operator of the cluster.
    #[default]
    Operator,
    /// A `fairway` command. The operator does not change its runs.
    Command,
}

impl RunOwner {
    /// Value of the label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Command => "command",
        }
    }
}

/// Maximum length of a label value.
const MAX_VALUE_LENGTH: usize = 63;

/// Labels of the objects of a run.
pub fn of_run(run: &str, target_version: &str) -> BTreeMap<String, String> {
    [(APP, APP_VALUE.to_owned()), (TARGET, value(target_version)), (RUN, value(run))]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
}

/// Label selector of the objects of a run.
pub fn selector(run: &str) -> String {
    format!("{RUN}={}", value(run))
}

/// Converts a text to a label value. Replaces invalid characters such as the `+` of a version.
pub fn value(text: &str) -> String {
    let legal = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let replaced = text.chars().map(|letter| if legal(letter) { letter } else { '_' });
    let value: String = replaced.take(MAX_VALUE_LENGTH).collect();
    value.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_replaces_invalid_characters() {
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
