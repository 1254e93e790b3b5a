//! Running a check to its end, or to the end of its time.

use std::time::Duration;

use fairway_findings::answer::Answer;
use tokio::task::JoinError;
use tokio::time::timeout;

use crate::{CannotTell, Check, Context, answer};

/// Runs a check: whatever it does, there is an answer after that time. Only a check that never
/// gives up its thread is not ended by this, but by [`main`](crate::main).
pub async fn run(check: impl Check, context: Context, time: Duration) -> Answer {
    let (name, target) = (check.name().to_owned(), context.target().clone());
    let mut task = tokio::spawn(async move { check.run(&context).await });
    let outcome = match timeout(time, &mut task).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => Err(CannotTell::Panicked(last_words(error))),
        Err(_) => {
            task.abort();
            Err(CannotTell::TimedOut(time))
        }
    };
    answer::of(&name, Some(&target), outcome)
}

/// What a task that panicked has said.
fn last_words(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "task cancelled".to_owned() };
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("panic without a message").to_owned()
}
