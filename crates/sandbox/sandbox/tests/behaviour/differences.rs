//! Where the real cluster of the tests is too old to behave as the sandbox does.
//!
//! The sandbox follows Kubernetes 1.33, the real cluster is 1.20. What they do differently is
//! here and nowhere else, and depends on the version that a server tells.

use std::sync::LazyLock;

use anyhow::{Context, Result};
use fairway_testkit::skip;
use regex::Regex;

use crate::support::Case;

/// What old servers say, and what new ones say instead.
static WORDS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let table = [
        // Values of a wrong type have a reason of their own.
        (r"FieldValueInvalid (.*) must be of type", "FieldValueTypeInvalid $1 must be of type"),
        // So have texts that are too long, …
        (
            r#"FieldValueInvalid (\S+): Invalid value: "[^"]*": \S+ in body should be at most ([0-9]+) chars long"#,
            "FieldValueTooLong $1: Too long: may not be more than $2 bytes",
        ),
        // … whose limit is told in other words, …
        (r"Too long: must have at most ([0-9]+) bytes", "Too long: may not be more than $1 bytes"),
        // … and lists.
        (
            r"FieldValueInvalid (\S+): Invalid value: ([0-9]+): \S+ in body should have at most ([0-9]+) items",
            "FieldValueTooMany $1: Too many: $2: must have at most $3 items",
        ),
        // What went wrong with a webhook, and what is wrong with its answer.
        (
            r#"failed calling webhook ("[^"]+"): (expected|webhook response|validating|a? ?webhook)"#,
            "failed calling webhook $1: received invalid webhook response: $2",
        ),
        (
            r#"failed calling webhook ("[^"]+"): (Post|the server|an error)"#,
            "failed calling webhook $1: failed to call webhook: $2",
        ),
        // A sentence that was no English.
        (r"must to greater or equal than 0", "must be greater than or equal to 0"),
    ];
    table.map(|(old, new)| (Regex::new(old).expect("a pattern"), new)).into()
});

/// What a server said, in the words of new servers.
pub(crate) fn in_new_words(said: &str) -> String {
    WORDS.iter().fold(said.to_owned(), |said, (old, new)| old.replace_all(&said, *new).into_owned())
}

/// A feature that Kubernetes has since a minor version of Kubernetes 1.
pub(crate) struct Since(u32, &'static str);

/// Rules in definitions (`x-kubernetes-validations`) count without being switched on.
pub(crate) const RULES: Since = Since(25, "validation rules in CRDs");
/// Jobs can be suspended.
pub(crate) const JOB_SUSPENSION: Since = Since(21, "suspended Jobs");
/// Jobs go some time after their end without that being switched on.
pub(crate) const JOB_TIME_TO_LIVE: Since = Since(21, "ttlSecondsAfterFinished");

impl Since {
    /// Whether the server is too old for the feature; such a server ignores its fields. The test is
    /// then reported as one that cannot run there.
    pub(crate) async fn is_missing(&self, case: &Case) -> Result<bool> {
        let version = case.get("/version").await?.object()?;
        let minor = version["minor"].as_str().unwrap_or_default();
        let minor: u32 = minor.trim_end_matches('+').parse().context("no minor version")?;
        let Self(since, feature) = self;
        let is_missing = minor < *since;
        if is_missing {
            skip::not_on_this_server(&format!("{feature}: since 1.{since}, this is 1.{minor}"));
        }
        Ok(is_missing)
    }
}

/// Whether the server's store forgets only every five minutes, as etcd does: one that was started
/// for the tests still lists how everything was at its beginning.
pub(crate) async fn forgets_seldom(case: &Case) -> Result<bool> {
    let version = case.get("/version").await?.object()?;
    Ok(!version["gitVersion"].as_str().unwrap_or_default().ends_with("+fairway"))
}
