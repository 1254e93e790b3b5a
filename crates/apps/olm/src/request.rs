//! Timeout of requests, and the texts of their errors.

use std::error::Error;
use std::time::Duration;

use kube::runtime::watcher;
use tokio::time::timeout;

/// Timeout of a request. Without it, a request on a broken connection would block until the TCP
/// timeout.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The request timed out.
#[derive(Debug, thiserror::Error)]
#[error("timed out after {} seconds", REQUEST_TIMEOUT.as_secs())]
struct NoAnswer;

/// Limits the duration of a request.
pub(crate) async fn in_time<T>(request: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    let answered = timeout(REQUEST_TIMEOUT, request).await;
    answered.unwrap_or_else(|_| Err(kube::Error::Service(Box::new(NoAnswer))))
}

/// Maximum bytes of an error: API servers and proxies can be verbose.
const MAX_BYTES: usize = 300;

/// Error of a watch, with the message of the API server if there is one.
pub(crate) fn watch_error(error: &watcher::Error) -> String {
    match error {
        watcher::Error::WatchError(status) => excerpt(&status.message),
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => request_error(error),
        watcher::Error::NoResourceVersion => excerpt(&error.to_string()),
    }
}

/// Error of a request, with the message of the API server if there is one.
pub(crate) fn request_error(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => excerpt(&status.message),
        error => chain(error),
    }
}

/// An error and its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    excerpt(&fairway_text::chain(error))
}

fn excerpt(text: &str) -> String {
    fairway_text::excerpt(text, MAX_BYTES).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::request_error;

    #[tokio::test(start_paused = true)]
    async fn in_time_of_stalled_request_fails() {
        let error = in_time(std::future::pending::<kube::Result<()>>()).await.unwrap_err();
        assert_eq!(request_error(&error), "ServiceError: timed out after 30 seconds");
        assert_eq!(in_time(std::future::ready(Ok(7))).await.unwrap(), 7);
    }
}
