//! Retrieval of one release, with requeue after failure.

use std::sync::Arc;
use std::time::Duration;

use fairway_backoff::Backoff;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::retrieve::{FetchConfig, FetchRequest, RetrieveError, Retrieved, Retriever};
use crate::text;

/// Delay between attempts. The maximum is short because a user may wait for a signature that was
/// just published.
const RETRY_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(2), max: Duration::from_mins(2) };

/// The retrieval of one release: running, waiting for the next attempt, or done.
pub(crate) struct RetrievalJob {
    pub(crate) request: FetchRequest,
    config: FetchConfig,
    state: State,
    failures: u32,
    /// The last error. It is reported until the next attempt has ended.
    failure: Option<RetrievalFailure>,
}

enum State {
    Running(BoxFuture<'static, Result<Retrieved, RetrieveError>>),
    Pausing { until: Instant },
    Done(Retrieved),
}

/// State of a retrieval.
pub(crate) enum RetrievalProgress<'a> {
    Running,
    Failed(&'a RetrievalFailure),
    Done(&'a Retrieved),
}

/// Error of a retrieval, by the reason that conditions report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RetrievalFailure {
    Retrieval(String),
    /// No trusted signature.
    Signature(String),
    /// The release image has invalid content.
    Content(String),
}

impl From<&RetrieveError> for RetrievalFailure {
    fn from(error: &RetrieveError) -> Self {
        let message = text::chain(error);
        match error {
            RetrieveError::Load(_) => Self::Content(message),
            RetrieveError::Unverified { .. } => Self::Signature(message),
            _ => Self::Retrieval(message),
        }
    }
}

impl RetrievalJob {
    pub(crate) fn begin(
        retriever: &Arc<Retriever>,
        request: FetchRequest,
        config: FetchConfig,
    ) -> Self {
        let state = State::running(retriever, &request, &config);
        Self { request, config, state, failures: 0, failure: None }
    }

    /// Whether it is for that request. A retrieved release stays valid when the configuration changes.
    pub(crate) fn is_for(&self, request: &FetchRequest, config: &FetchConfig) -> bool {
        self.request == *request && (self.config == *config || matches!(self.state, State::Done(_)))
    }

    pub(crate) fn progress(&self) -> RetrievalProgress<'_> {
        match (&self.state, &self.failure) {
            (State::Done(retrieved), _) => RetrievalProgress::Done(retrieved),
            (_, Some(failure)) => RetrievalProgress::Failed(failure),
            (_, None) => RetrievalProgress::Running,
        }
    }

    /// Runs until the state changes. Dropping the future loses no progress.
    pub(crate) async fn step(&mut self, retriever: &Arc<Retriever>) {
        match &mut self.state {
            State::Done(_) => std::future::pending().await,
            State::Pausing { until } => {
                tokio::time::sleep_until(*until).await;
                self.state = State::running(retriever, &self.request, &self.config);
            }
            State::Running(running) => {
                let result = running.await;
                self.state = self.next_state(result);
            }
        }
    }

    fn next_state(&mut self, result: Result<Retrieved, RetrieveError>) -> State {
        match result {
            Ok(retrieved) => State::Done(retrieved),
            Err(error) => {
                let (image, failure) = (&self.request.image, RetrievalFailure::from(&error));
                self.failures = self.failures.saturating_add(1);
                let (attempt, retry_in) = (self.failures, RETRY_BACKOFF.after(self.failures));
                let error = text::chain(&error);
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
    fn running(retriever: &Arc<Retriever>, request: &FetchRequest, config: &FetchConfig) -> Self {
        Self::Running(Arc::clone(retriever).retrieve(request.clone(), config.clone()).boxed())
    }
}
