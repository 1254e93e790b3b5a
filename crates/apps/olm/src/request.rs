//! Requests that are answered, or fail in time.

use std::time::Duration;

use tokio::time::timeout;

/// How long an API server may take. It gives up itself after a minute at the latest, and a
/// connection that was cut without a word would be waited for until the network gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Nothing was answered.
#[derive(Debug, thiserror::Error)]
#[error("timed out after {} seconds", PATIENCE.as_secs())]
struct NoAnswer;

/// What a request comes to, in time.
pub(crate) async fn in_time<T>(request: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    let answered = timeout(PATIENCE, request).await;
    answered.unwrap_or_else(|_| Err(kube::Error::Service(Box::new(NoAnswer))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_text::of_request;

    #[tokio::test(start_paused = true)]
    async fn a_request_without_an_answer_fails() {
        let error = in_time(std::future::pending::<kube::Result<()>>()).await.unwrap_err();
        assert_eq!(of_request(&error), "ServiceError: timed out after 30 seconds");
        assert_eq!(in_time(std::future::ready(Ok(7))).await.unwrap(), 7);
    }
}
