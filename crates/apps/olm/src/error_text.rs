//! What is said of errors, for people to read in a condition.

use std::error::Error;

use kube::runtime::watcher;

/// Length of an explanation: API servers and proxies can be verbose.
const MAX_BYTES: usize = 300;

/// Why a watch fails, as the API server puts it if it does.
pub(crate) fn of_watch(error: &watcher::Error) -> String {
    match error {
        watcher::Error::WatchError(status) => excerpt(&status.message),
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => of_request(error),
        watcher::Error::NoResourceVersion => excerpt(&error.to_string()),
    }
}

/// Why a request fails, as the API server puts it if it does.
pub(crate) fn of_request(error: &kube::Error) -> String {
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
