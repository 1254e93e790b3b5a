//! The condition `RetrievedUpdates`: whether the update service answered, and if not, why.

use fairway_api::OperatorCondition;
use fairway_api::condition::wire_time;
use fairway_api::reason::{Reason, retrieved_updates};
use fairway_cincinnati::fetch::Failure;
use fairway_cincinnati::question::{Question, Refusal};
use jiff::Timestamp;

use super::memory::KEPT;
use crate::text::excerpt;

/// The answer is understood.
pub(super) fn retrieved() -> OperatorCondition {
    OperatorCondition::new(retrieved_updates::TYPE, true)
}

/// There is nothing to ask.
pub(super) fn refused(refusal: &Refusal) -> OperatorCondition {
    not_retrieved(refusal.reason(), refusal.to_string())
}

/// Which updates stand though there is no answer.
#[derive(Clone, Copy)]
pub(super) enum Kept {
    /// Those of an answer of that time.
    Since(Timestamp),
    /// Those that were in the status already.
    Inherited { until: Timestamp },
}

/// There is no answer; something may still stand.
pub(super) fn failed(failure: &Failure, kept: Option<Kept>) -> OperatorCondition {
    let kept = match kept {
        None => String::new(),
        Some(Kept::Since(since)) => {
            let (since, until) = (wire_time(since).0, wire_time(since + KEPT).0);
            format!(" The listed updates are from {since}; the operator drops them at {until}.")
        }
        Some(Kept::Inherited { until }) => {
            let until = wire_time(until).0;
            format!(
                " The listed updates are from before this operator started; it drops them at \
                 {until}."
            )
        }
    };
    let message = format!("Unable to retrieve available updates: {failure}.{kept}");
    not_retrieved(failure.reason(), message)
}

/// The answer says nothing about this cluster's version.
pub(super) fn version_not_found(question: &Question, releases: usize) -> OperatorCondition {
    let Question { current, channel, .. } = question;
    let place = format!("channel {:?} of {}", excerpt(channel), question.service());
    let message = if releases == 0 {
        let of = question.architecture().map(|it| format!(" for {}", excerpt(&it)));
        format!(
            "Unable to retrieve available updates: {place} has no releases{}. Check its name, or \
             set another channel with `fairway upgrade channel CHANNEL`.",
            of.unwrap_or_default()
        )
    } else {
        format!(
            "Unable to retrieve available updates: the running version {current} is not in \
             {place}. Set a channel that contains it with `fairway upgrade channel CHANNEL`."
        )
    };
    not_retrieved(retrieved_updates::VERSION_NOT_FOUND, message)
}

fn not_retrieved(reason: Reason, message: String) -> OperatorCondition {
    OperatorCondition::new(retrieved_updates::TYPE, false).reason(reason).message(message)
}
