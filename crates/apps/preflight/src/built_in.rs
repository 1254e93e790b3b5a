//! Running one built-in check: whatever it does, there is an outcome.

use std::sync::Arc;
use std::time::Duration;

use fairway_findings::CheckStatus;
use fairway_text::chain;
use tokio::task::JoinError;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::check::{Answer, BuiltIn, CannotTell};
use crate::cluster::Cluster;
use crate::engine::Outcome;
use crate::target::Target;

/// Runs a check, for at most that long. It is a task of its own: one that breaks down or never
/// pauses takes nobody along.
pub(crate) async fn run(
    check: Arc<dyn BuiltIn>,
    cluster: Cluster,
    target: Arc<Target>,
    patience: Duration,
) -> Outcome {
    let work = whatever_happens(async move {
        match check.run(&cluster, &target).await {
            Ok(answer) => answered(answer),
            Err(why) => unanswered(&why),
        }
    });
    let late = |_| {
        let why = format!("timed out after {} seconds", patience.as_secs());
        Outcome::unanswered(CheckStatus::TimedOut, why)
    };
    timeout(patience, work).await.unwrap_or_else(late)
}

/// Does work that is a task of its own. Should it break down, that is its outcome.
pub(crate) async fn whatever_happens(
    work: impl Future<Output = Outcome> + Send + 'static,
) -> Outcome {
    let broken = |error| Outcome::unanswered(CheckStatus::Failed, last_words(error));
    AbortOnDropHandle::new(tokio::spawn(work)).await.unwrap_or_else(broken)
}

/// Whoever could not look at everything has no answer, whatever it has found.
fn answered(Answer { findings, unknown, left_out }: Answer) -> Outcome {
    if unknown.is_empty() {
        return Outcome::Answered { findings, left_out };
    }
    let mut why = unknown;
    why.extend(Some(left_out).filter(|text| !text.is_empty()));
    Outcome::Unanswered { status: CheckStatus::CannotTell, why: why.join(" "), findings }
}

fn unanswered(why: &CannotTell) -> Outcome {
    let status = match why {
        CannotTell::DoesNotApply(why) => return Outcome::Skipped(why.clone()),
        CannotTell::VersionSkew(_) => CheckStatus::VersionSkew,
        CannotTell::Unseen(_) | CannotTell::NotKnown(_) => CheckStatus::CannotTell,
    };
    Outcome::unanswered(status, chain(why))
}

fn last_words(broken: JoinError) -> String {
    let words = broken.try_into_panic().ok().and_then(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned())
    });
    match words {
        Some(words) => format!("the check panicked (this is a bug in Fairway): {words}"),
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
    use crate::testing::{seen, target};

    type Ending = fn() -> BoxFuture<'static, Result<Answer, CannotTell>>;

    struct Check(Ending);

    impl BuiltIn for Check {
        fn name(&self) -> &'static str {
            "check"
        }

        fn looks_at(&self) -> &[Resource] {
            &[]
        }

        fn run<'a>(
            &'a self,
            _cluster: &'a Cluster,
            _target: &'a Target,
        ) -> BoxFuture<'a, Result<Answer, CannotTell>> {
            (self.0)()
        }
    }

    fn unsure() -> Answer {
        Answer {
            findings: vec![Finding::warning("Found", "something")],
            unknown: vec!["Pods cannot be read.".to_owned()],
            left_out: "Rules were not evaluated.".to_owned(),
        }
    }

    #[tokio::test]
    async fn whatever_a_check_does_there_is_an_outcome() {
        let cluster = TestCluster::shared().await.unwrap();
        let target = Arc::new(target("5.0.0", &TestRelease::new("5.1.0")).unwrap());
        let answered = Outcome::Answered { findings: Vec::new(), left_out: String::new() };
        let cases: [(Ending, Outcome); 7] = [
            (|| async { Ok(Answer::default()) }.boxed(), answered),
            (
                || async { Ok(unsure()) }.boxed(),
                Outcome::Unanswered {
                    status: CheckStatus::CannotTell,
                    why: "Pods cannot be read. Rules were not evaluated.".to_owned(),
                    findings: unsure().findings,
                },
            ),
            (
                || async { panic!("three is not {}", 4) }.boxed(),
                Outcome::unanswered(
                    CheckStatus::Failed,
                    "the check panicked (this is a bug in Fairway): three is not 4",
                ),
            ),
            (
                || futures::future::pending().boxed(),
                Outcome::unanswered(CheckStatus::TimedOut, "timed out after 1 seconds"),
            ),
            (
                || async { Err(CannotTell::DoesNotApply("one node".to_owned())) }.boxed(),
                Outcome::Skipped("one node".to_owned()),
            ),
            (
                || async { Err(CannotTell::VersionSkew("too far".to_owned())) }.boxed(),
                Outcome::unanswered(CheckStatus::VersionSkew, "too far"),
            ),
            (
                || async { Err(CannotTell::NotKnown("it is not said".to_owned())) }.boxed(),
                Outcome::unanswered(CheckStatus::CannotTell, "it is not said"),
            ),
        ];
        for (check, expected) in cases {
            let patience = Duration::from_secs(if expected.is_late() { 1 } else { 60 });
            let check = Arc::new(Check(check));
            let outcome = run(check, seen(&cluster), Arc::clone(&target), patience).await;
            assert_eq!(outcome, expected);
        }
    }

    #[tokio::test]
    async fn work_that_breaks_down_has_an_outcome() {
        let outcome = whatever_happens(async { panic!("on purpose") }).await;
        let why = "the check panicked (this is a bug in Fairway): on purpose";
        assert_eq!(outcome, Outcome::unanswered(CheckStatus::Failed, why));
    }

    impl Outcome {
        fn is_late(&self) -> bool {
            matches!(self, Self::Unanswered { status: CheckStatus::TimedOut, .. })
        }
    }
}
