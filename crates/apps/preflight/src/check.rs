//! Interface and execution of built-in checks.

use std::sync::Arc;
use std::time::Duration;

use fairway_findings::{CheckStatus, Finding};
use fairway_text::chain;
use futures::FutureExt as _;
use futures::future::{self, BoxFuture};
use tokio::task::JoinError;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::cluster::{Cluster, ClusterReadError, Resource};
use crate::engine::CheckOutcome;
use crate::target::Target;

/// A built-in check.
///
/// A check collects its inputs and leaves the decision to a pure function. It sets name, message,
/// remediation and severity of its findings; the engine sets the rest.
pub trait BuiltInCheck: Send + Sync {
    /// Name of the check, such as `removed-apis`.
    fn name(&self) -> &'static str;

    /// Resources that the check reads. It runs again when they change.
    fn watched(&self) -> &[Resource];

    /// Further resources, which depend on the CRDs of the release and of the cluster.
    fn watched_at_run_time<'a>(
        &'a self,
        _cluster: &'a Cluster,
        _target: &'a Target,
    ) -> BoxFuture<'a, Vec<Resource>> {
        future::ready(Vec::new()).boxed()
    }

    /// Runs the check.
    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Result<BuiltInResult, NoResult>>;
}

/// A built-in check without settings.
pub(crate) struct StatelessCheck {
    pub(crate) name: &'static str,
    pub(crate) watched: &'static [Resource],
    pub(crate) run:
        for<'a> fn(&'a Cluster, &'a Target) -> BoxFuture<'a, Result<BuiltInResult, NoResult>>,
}

impl BuiltInCheck for StatelessCheck {
    fn name(&self) -> &'static str {
        self.name
    }

    fn watched(&self) -> &[Resource] {
        self.watched
    }

    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Result<BuiltInResult, NoResult>> {
        (self.run)(cluster, target)
    }
}

/// Result of a built-in check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuiltInResult {
    /// Findings.
    pub findings: Vec<Finding>,
    /// What could not be read, one sentence each. The check then has no result, but its findings
    /// are reliable.
    pub unknown: Vec<String>,
    /// What the check never covers; empty if nothing.
    pub not_covered: String,
}

impl From<Vec<Finding>> for BuiltInResult {
    fn from(findings: Vec<Finding>) -> Self {
        Self { findings, ..Self::default() }
    }
}

/// Why a check has no result.
#[derive(Debug, thiserror::Error)]
pub enum NoResult {
    /// The cluster cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ClusterReadError),
    /// The versions are too far apart.
    #[error("{0}")]
    VersionSkew(String),
    /// The release or the cluster does not contain a required value.
    #[error("{0}")]
    NotKnown(String),
    /// The check does not apply to this cluster and is skipped.
    #[error("{0}")]
    DoesNotApply(String),
}

/// Runs a check with a timeout, in its own task: a panic or a blocked thread does not affect other
/// checks.
pub(crate) async fn run(
    check: Arc<dyn BuiltInCheck>,
    cluster: Cluster,
    target: Arc<Target>,
    time_limit: Duration,
) -> CheckOutcome {
    let work = run_task(async move {
        match check.run(&cluster, &target).await {
            Ok(answer) => answered(answer),
            Err(why) => unanswered(&why),
        }
    });
    let late = |_| {
        let why = format!("timed out after {} seconds", time_limit.as_secs());
        CheckOutcome::no_result(CheckStatus::TimedOut, why)
    };
    timeout(time_limit, work).await.unwrap_or_else(late)
}

/// Awaits work in its own task. A panic becomes an outcome without a result.
pub(crate) async fn run_task(
    work: impl Future<Output = CheckOutcome> + Send + 'static,
) -> CheckOutcome {
    let broken = |error| CheckOutcome::no_result(CheckStatus::Failed, last_words(error));
    AbortOnDropHandle::new(tokio::spawn(work)).await.unwrap_or_else(broken)
}

/// A check that could not read everything has no result, whatever its findings are.
fn answered(BuiltInResult { findings, unknown, not_covered }: BuiltInResult) -> CheckOutcome {
    if unknown.is_empty() {
        return CheckOutcome::Completed { findings, not_covered };
    }
    let mut why = unknown;
    why.extend(Some(not_covered).filter(|text| !text.is_empty()));
    CheckOutcome::NoResult { status: CheckStatus::CannotTell, why: why.join(" "), findings }
}

fn unanswered(why: &NoResult) -> CheckOutcome {
    let status = match why {
        NoResult::DoesNotApply(why) => return CheckOutcome::Skipped(why.clone()),
        NoResult::VersionSkew(_) => CheckStatus::VersionSkew,
        NoResult::Unreadable(_) | NoResult::NotKnown(_) => CheckStatus::CannotTell,
    };
    CheckOutcome::no_result(status, chain(why))
}

fn last_words(broken: JoinError) -> String {
    let message = broken.try_into_panic().ok().and_then(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned())
    });
    match message {
        Some(message) => format!("the check panicked (this is a bug in Fairway): {message}"),
        None => "the check panicked (this is a bug in Fairway)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use fairway_findings::Finding;
    use fairway_testkit::TestCluster;
    use fairway_testkit::releases::TestRelease;
    use futures::FutureExt as _;
    use futures::future::BoxFuture;

    use super::*;
    use crate::cluster::Resource;
    use crate::testing::{reader, target};

    type Ending = fn() -> BoxFuture<'static, Result<BuiltInResult, NoResult>>;

    struct Check(Ending);

    impl BuiltInCheck for Check {
        fn name(&self) -> &'static str {
            "check"
        }

        fn watched(&self) -> &[Resource] {
            &[]
        }

        fn run<'a>(
            &'a self,
            _cluster: &'a Cluster,
            _target: &'a Target,
        ) -> BoxFuture<'a, Result<BuiltInResult, NoResult>> {
            (self.0)()
        }
    }

    fn unsure() -> BuiltInResult {
        BuiltInResult {
            findings: vec![Finding::warning("Found", "something")],
            unknown: vec!["Pods cannot be read.".to_owned()],
            not_covered: "Rules were not evaluated.".to_owned(),
        }
    }

    #[tokio::test]
    async fn run_returns_outcome_for_any_behaviour() {
        let cluster = TestCluster::shared().await.unwrap();
        let target = Arc::new(target("5.0.0", &TestRelease::new("5.1.0")).unwrap());
        let answered = CheckOutcome::Completed { findings: Vec::new(), not_covered: String::new() };
        let cases: [(Ending, CheckOutcome); 7] = [
            (|| async { Ok(BuiltInResult::default()) }.boxed(), answered),
            (
                || async { Ok(unsure()) }.boxed(),
                CheckOutcome::NoResult {
                    status: CheckStatus::CannotTell,
                    why: "Pods cannot be read. Rules were not evaluated.".to_owned(),
                    findings: unsure().findings,
                },
            ),
            (
                || async { panic!("three is not {}", 4) }.boxed(),
                CheckOutcome::no_result(
                    CheckStatus::Failed,
                    "the check panicked (this is a bug in Fairway): three is not 4",
                ),
            ),
            (
                || future::pending().boxed(),
                CheckOutcome::no_result(CheckStatus::TimedOut, "timed out after 1 seconds"),
            ),
            (
                || async { Err(NoResult::DoesNotApply("one node".to_owned())) }.boxed(),
                CheckOutcome::Skipped("one node".to_owned()),
            ),
            (
                || async { Err(NoResult::VersionSkew("too far".to_owned())) }.boxed(),
                CheckOutcome::no_result(CheckStatus::VersionSkew, "too far"),
            ),
            (
                || async { Err(NoResult::NotKnown("not declared".to_owned())) }.boxed(),
                CheckOutcome::no_result(CheckStatus::CannotTell, "not declared"),
            ),
        ];
        for (check, expected) in cases {
            let time_limit = Duration::from_secs(if expected.is_late() { 1 } else { 60 });
            let check = Arc::new(Check(check));
            let outcome = run(check, reader(&cluster), Arc::clone(&target), time_limit).await;
            assert_eq!(outcome, expected);
        }
    }

    #[tokio::test]
    async fn run_task_that_panics_returns_outcome() {
        let outcome = run_task(async { panic!("on purpose") }).await;
        let why = "the check panicked (this is a bug in Fairway): on purpose";
        assert_eq!(outcome, CheckOutcome::no_result(CheckStatus::Failed, why));
    }

    impl CheckOutcome {
        fn is_late(&self) -> bool {
            matches!(self, Self::NoResult { status: CheckStatus::TimedOut, .. })
        }
    }
}
