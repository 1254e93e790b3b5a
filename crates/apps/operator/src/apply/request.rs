//! How the API server is asked.

use std::time::Duration;

use tokio::time::timeout;

use super::error::ApplyError;

/// Longer than a healthy API server and its webhooks take together; they have 30 s at most.
pub(super) const TIMEOUT: Duration = Duration::from_secs(35);

/// A request that ends in time, whatever the server does.
pub(crate) async fn within_time<T>(
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, ApplyError> {
    match timeout(TIMEOUT, request).await {
        Ok(answer) => answer.map_err(ApplyError::Api),
        Err(_) => Err(ApplyError::NoAnswer),
    }
}
