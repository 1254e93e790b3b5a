//! Timeout of requests.

use std::time::Duration;

use tokio::time::timeout;

use crate::error::WriteError;

/// Timeout of a request: longer than the 30 s that API servers allow for webhooks.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(35);

/// Limits the duration of a request.
pub async fn within_time<T>(
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, WriteError> {
    match timeout(REQUEST_TIMEOUT, request).await {
        Ok(answer) => answer.map_err(WriteError::Api),
        Err(_) => Err(WriteError::NoAnswer),
    }
}
