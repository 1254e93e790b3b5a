//! Errors of reading from registries and layouts.

use std::time::Duration;

use serde::Serialize;
use url::Url;

use crate::Digest;

/// Content that cannot be read from a registry or a layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "camelCase")]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum PullError {
    /// The repository name is invalid.
    #[error("{name:?} is not a repository such as registry.example/team/releases")]
    Name { name: String },
    /// The address of a signature store is invalid.
    #[error("{address:?} is not a URL such as https://signatures.example/store")]
    Address { address: String },
    /// The connection would not use TLS.
    #[error("refusing to connect to {host} without TLS: it is not a loopback address")]
    Plain { host: String },
    /// The HTTP client cannot be created.
    #[error("cannot create an HTTP client for registries: {why}")]
    Client { why: String },
    /// The connection failed or ended early.
    #[error("{url}: {why}")]
    Network { url: String, why: String },
    /// A redirect is not followed.
    #[error("{url}: {why}")]
    Redirect { url: String, why: String },
    /// The content does not exist.
    #[error("{url} does not exist")]
    NotFound { url: String },
    /// Authentication failed or access is denied.
    #[error("{url}: access denied; check the pull secret")]
    Unauthorised { url: String },
    /// Another HTTP status.
    #[error("{url}: HTTP status {status}")]
    Status {
        url: String,
        status: u16,
        #[serde(skip)]
        retry_after: Option<Duration>,
    },
    /// The content exceeds the size limit.
    #[error("{what} has more than {limit} bytes")]
    TooLarge { what: String, limit: u64 },
    /// The content does not match its digest.
    #[error("the content of {digest} does not match its digest")]
    WrongDigest { digest: Digest },
    /// The content is malformed.
    #[error("{what} is invalid: {why}")]
    Malformed { what: String, why: String },
    /// The repository has too many tags.
    #[error("more than {limit} tags, or the pages of the tag list form a cycle")]
    TooManyTags { limit: usize },
    /// The reference matches several images.
    #[error("{what} does not have exactly one image: specify one of {}", names.join(", "))]
    Ambiguous { what: String, names: Vec<String> },
    /// A file of a layout cannot be read.
    #[error("cannot read a file of the OCI layout: {why}")]
    File { why: String },
}

impl PullError {
    pub(crate) fn network(url: &Url, error: &reqwest::Error) -> Self {
        let (url, why) = (display_url(url), fairway_text::root_cause(error));
        if error.is_redirect() { Self::Redirect { url, why } } else { Self::Network { url, why } }
    }

    /// Whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Network { .. } => true,
            Self::Status { status, .. } => *status == 429 || (500..600).contains(status),
            _ => false,
        }
    }
}

/// A reference without the user and password that it may contain.
pub(crate) fn without_password(given: &str) -> String {
    let (name, digest) = given.split_at(given.find("@sha256:").unwrap_or(given.len()));
    match name.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}{digest}"),
        None => given.to_owned(),
    }
}

/// A URL without credentials and query, for errors.
pub(super) fn display_url(url: &Url) -> String {
    fairway_text::without_secrets(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_url_with_credentials_omits_them() {
        let url = Url::parse("https://user:secret@r.example:5000/v2/a?token=secret#x").unwrap();
        assert_eq!(display_url(&url), "https://r.example:5000/v2/a");
    }
}
