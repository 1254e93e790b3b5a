//! Errors and the timeout of reads and writes.

use std::time::Duration;

use fairway_election::LostLease;
use tokio::time::timeout;

/// Errors of reads and writes of an object.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The API server refused the request, or did not receive it.
    #[error("request to the API server failed")]
    Api(#[source] kube::Error),
    /// The API server did not answer in time.
    #[error("request to the API server timed out after {} seconds", REQUEST_TIMEOUT.as_secs())]
    NoAnswer,
    /// Another client created or deleted the object at the same moment.
    #[error("another client created or deleted the object at the same time")]
    Overtaken,
    /// The process is no longer the leader.
    #[error(transparent)]
    LostLease(#[from] LostLease),
}

/// Parts of the messages of API servers that cannot apply an object: old ones do not know newer
/// fields, and all refuse lists with repeated keys.
const UNTYPABLE: [&str; 4] =
    ["typed patch", "smd typed", "field not declared in schema", "duplicate entries for key"];

/// Whether the API server could not merge the object, and would accept it as a whole.
pub fn is_untypable(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    // Servers without server-side apply do not know its media type.
    status.code == 415 || UNTYPABLE.iter().any(|part| status.message.contains(part))
}

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
