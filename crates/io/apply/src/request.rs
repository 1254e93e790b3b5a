//! The time limit of requests.

use std::time::Duration;

use tokio::time::timeout;

use crate::error::WriteError;

/// Longer than a healthy API server and its webhooks take together; they have 30 s at most.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(35);

/// A request that ends in time, whatever the server does.
pub async fn within_time<T>(
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, WriteError> {
    match timeout(REQUEST_TIMEOUT, request).await {
        Ok(answer) => answer.map_err(WriteError::Api),
        Err(_) => Err(WriteError::NoAnswer),
    }
}
