//! What is said of errors, for people to read in a condition.

use std::error::Error;

use kube::runtime::watcher;

/// Bytes that are said: API servers and proxies can be long-winded.
const MOST: usize = 300;

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

/// An error and what is behind it, without saying anything twice.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let why = error.to_string();
        if !text.contains(&why) {
            text = format!("{text}: {why}");
        }
        source = error.source();
    }
    excerpt(&text)
}

fn excerpt(text: &str) -> String {
    if text.len() <= MOST {
        return text.to_owned();
    }
    format!("{}…", text[..text.floor_char_boundary(MOST)].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Told(String, #[source] Option<Box<Self>>);

    #[test]
    fn nothing_is_said_twice_and_nothing_at_length() {
        let inner = |text: &str| Some(Box::new(Told(text.to_owned(), None)));
        assert_eq!(
            chain(&Told("cannot write".to_owned(), inner("forbidden"))),
            "cannot write: forbidden"
        );
        assert_eq!(
            chain(&Told("cannot write: forbidden".to_owned(), inner("forbidden"))),
            "cannot write: forbidden"
        );
        let long = chain(&Told("ä".repeat(MOST), None));
        assert!(long.ends_with('…') && long.len() <= MOST + '…'.len_utf8());
    }
}
