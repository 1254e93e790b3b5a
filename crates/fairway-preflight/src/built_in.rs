//! Running one built-in check: whatever it does, there is an outcome.

use std::sync::Arc;
use std::time::Duration;

use fairway_findings::CheckStatus;
use tokio::task::JoinError;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::check::{Answer, BuiltIn, CannotTell};
use crate::cluster::Cluster;
use crate::engine::Outcome;
use crate::error_text::chain;
use crate::target::Target;

/// Runs a check, for at most that long. It is a task of its own: one that breaks down or never
/// pauses takes nobody along.
pub(crate) async fn run(
    check: Arc<dyn BuiltIn>,
    cluster: Cluster,
    target: Arc<Target>,
    patience: Duration,
) -> Outcome {
    let work = tokio::spawn(async move { check.run(&cluster, &target).await });
    match timeout(patience, AbortOnDropHandle::new(work)).await {
        Ok(Ok(Ok(Answer { findings, left_out }))) => Outcome::Answered { findings, left_out },
        Ok(Ok(Err(why))) => unanswered(&why),
        Ok(Err(broken)) => Outcome::unanswered(CheckStatus::Failed, last_words(broken)),
        Err(_) => Outcome::unanswered(
            CheckStatus::TimedOut,
            format!("it was not done after {} seconds", patience.as_secs()),
        ),
    }
}

fn unanswered(why: &CannotTell) -> Outcome {
    let status = match why {
        CannotTell::VersionSkew(_) => CheckStatus::VersionSkew,
        CannotTell::DoesNotApply(_) => CheckStatus::Skipped,
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
        Some(words) => format!("it broke down, which is a mistake in Fairway: {words}"),
        None => "it broke down, which is a mistake in Fairway".to_owned(),
    }
}
