//! Differences between the sandbox (Kubernetes 1.33) and the real cluster of the tests (1.20).
//!
//! All differences are listed here; they depend on the version that the server reports.

use std::sync::LazyLock;

use anyhow::{Context, Result};
use fairway_testkit::skip;
use regex::Regex;

use crate::support::Case;

/// Messages of old servers and their current wording.
static WORDS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let table = [
        // Type errors have their own reason.
        (r"FieldValueInvalid (.*) must be of type", "FieldValueTypeInvalid $1 must be of type"),
        // So have strings that are too long, …
        (
            r#"FieldValueInvalid (\S+): Invalid value: "[^"]*": \S+ in body should be at most ([0-9]+) chars long"#,
            "FieldValueTooLong $1: Too long: may not be more than $2 bytes",
        ),
        // … whose limit has another wording, …
        (r"Too long: must have at most ([0-9]+) bytes", "Too long: may not be more than $1 bytes"),
        // … and lists.
        (
            r"FieldValueInvalid (\S+): Invalid value: ([0-9]+): \S+ in body should have at most ([0-9]+) items",
            "FieldValueTooMany $1: Too many: $2: must have at most $3 items",
        ),
        // Errors of webhooks and their responses.
        (
            r#"failed calling webhook ("[^"]+"): (expected|webhook response|validating|a? ?webhook)"#,
            "failed calling webhook $1: received invalid webhook response: $2",
        ),
        (
            r#"failed calling webhook ("[^"]+"): (Post|the server|an error)"#,
            "failed calling webhook $1: failed to call webhook: $2",
        ),
        // A message with a grammar error.
        (r"must to greater or equal than 0", "must be greater than or equal to 0"),
    ];
    table.map(|(old, new)| (Regex::new(old).expect("a pattern"), new)).into()
});

/// The message in the wording of current servers.
pub(crate) fn in_current_wording(transcript: &str) -> String {
    WORDS.iter().fold(transcript.to_owned(), |transcript, (old, new)| {
        old.replace_all(&transcript, *new).into_owned()
    })
}

/// A feature that Kubernetes has since this minor version.
pub(crate) struct SinceVersion(u32, &'static str);

/// `x-kubernetes-validations` are enabled by default.
pub(crate) const RULES: SinceVersion = SinceVersion(25, "validation rules in CRDs");
/// Jobs can be suspended.
pub(crate) const JOB_SUSPENSION: SinceVersion = SinceVersion(21, "suspended Jobs");
/// `ttlSecondsAfterFinished` is enabled by default.
pub(crate) const JOB_TIME_TO_LIVE: SinceVersion = SinceVersion(21, "ttlSecondsAfterFinished");

impl SinceVersion {
    /// Whether the server is too old for the feature and ignores its fields. The test is then
    /// reported as skipped.
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

/// Whether the server compacts its store only every five minutes, as etcd does: a new server can
/// still list its first resourceVersion.
pub(crate) async fn compacts_rarely(case: &Case) -> Result<bool> {
    let version = case.get("/version").await?.object()?;
    Ok(!version["gitVersion"].as_str().unwrap_or_default().ends_with("+fairway"))
}
