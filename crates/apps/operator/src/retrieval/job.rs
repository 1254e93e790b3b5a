//! A release that is being retrieved, or that waits for a decision.

use std::sync::Arc;
use std::time::Duration;

use fairway_backoff::Backoff;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::retrieve::{Order, RetrieveError, Retrieved, Retriever, Ways};
use crate::text;

/// The delay after a failure. The maximum is short because a user may wait for a signature that was
/// just published.
const RETRY_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(2), max: Duration::from_mins(2) };

/// A release that is being retrieved, or was.
pub(crate) struct Job {
    pub(crate) order: Order,
    ways: Ways,
    state: State,
    failures: u32,
    /// Why it failed last; that stands until it is known better.
    failure: Option<Failure>,
}

enum State {
    Running(BoxFuture<'static, Result<Retrieved, RetrieveError>>),
    Pausing { until: Instant },
    Done(Retrieved),
}

/// How far a job is.
pub(crate) enum Progress<'a> {
    Running,
    Failed(&'a Failure),
    Done(&'a Retrieved),
}

/// Why there is no release yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Retrieval(String),
    /// Nobody whom the release that runs trusts has signed it.
    Signature(String),
    /// It is there, but makes no sense.
    Content(String),
}

impl From<&RetrieveError> for Failure {
    fn from(error: &RetrieveError) -> Self {
        let told = text::chain(error);
        match error {
            RetrieveError::Load(_) => Self::Content(told),
            RetrieveError::Unverified { .. } => Self::Signature(told),
            _ => Self::Retrieval(told),
        }
    }
}

impl Job {
    pub(crate) fn begin(retriever: &Arc<Retriever>, order: Order, ways: Ways) -> Self {
        let state = State::running(retriever, &order, &ways);
        Self { order, ways, state, failures: 0, failure: None }
    }

    /// Whether it retrieves that, in these ways. What was retrieved is right, however it came.
    pub(crate) fn is_for(&self, order: &Order, ways: &Ways) -> bool {
        self.order == *order && (self.ways == *ways || matches!(self.state, State::Done(_)))
    }

    pub(crate) fn progress(&self) -> Progress<'_> {
        match (&self.state, &self.failure) {
            (State::Done(retrieved), _) => Progress::Done(retrieved),
            (_, Some(failure)) => Progress::Failed(failure),
            (_, None) => Progress::Running,
        }
    }

    /// Goes on until there is something new to say about it.
    pub(crate) async fn step(&mut self, retriever: &Arc<Retriever>) {
        match &mut self.state {
            State::Done(_) => std::future::pending().await,
            State::Pausing { until } => {
                tokio::time::sleep_until(*until).await;
                self.state = State::running(retriever, &self.order, &self.ways);
            }
            State::Running(running) => {
                let outcome = running.await;
                self.state = self.learn(outcome);
            }
        }
    }

    fn learn(&mut self, outcome: Result<Retrieved, RetrieveError>) -> State {
        match outcome {
            Ok(retrieved) => State::Done(retrieved),
            Err(error) => {
                let (image, failure) = (&self.order.image, Failure::from(&error));
                self.failures = self.failures.saturating_add(1);
                let (attempt, retry_in) = (self.failures, RETRY_BACKOFF.after(self.failures));
                let error = crate::text::chain(&error);
                tracing::warn!(
                    image,
                    error,
                    attempt,
                    ?retry_in,
                    "cannot retrieve release; retrying"
                );
                self.failure = Some(failure);
                State::Pausing { until: Instant::now() + retry_in }
            }
        }
    }
}

impl State {
    fn running(retriever: &Arc<Retriever>, order: &Order, ways: &Ways) -> Self {
        Self::Running(Arc::clone(retriever).retrieve(order.clone(), ways.clone()).boxed())
    }
}
