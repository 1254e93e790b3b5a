//! What can go wrong with a registry.

use std::time::Duration;

use serde::Serialize;
use url::Url;

use crate::Digest;

/// Why something could not be read from a registry or a layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "camelCase")]
pub enum PullError {
    /// The repository has no such name.
    #[error("{name:?} is not a repository such as registry.example/team/releases")]
    Name {
        /// What was given.
        name: String,
    },
    /// The address is none.
    #[error("{address:?} is not an address such as https://signatures.example/store")]
    Address {
        /// What was given.
        address: String,
    },
    /// Everybody on the way could read and change what is said.
    #[error("{host} is on another host, and the connection would not use TLS")]
    Plain {
        /// The machine.
        host: String,
    },
    /// This machine cannot speak to any registry.
    #[error("cannot create an HTTP client for registries: {why}")]
    Client {
        /// Why.
        why: String,
    },
    /// The registry cannot be reached, or stops in the middle.
    #[error("{url}: {why}")]
    Network {
        /// What was asked for.
        url: String,
        /// Why.
        why: String,
    },
    /// The registry sends us somewhere we do not go.
    #[error("{url}: {why}")]
    Redirect {
        /// What was asked for.
        url: String,
        /// Where to, and why not.
        why: String,
    },
    /// It is not there, or not any longer.
    #[error("{url} does not exist")]
    NotFound {
        /// What was asked for.
        url: String,
    },
    /// The registry wants to know who asks, or does not allow it.
    #[error("{url}: access denied; check the pull secret")]
    Unauthorised {
        /// What was asked for.
        url: String,
    },
    /// The registry answers something else.
    #[error("{url}: HTTP status {status}")]
    Status {
        /// What was asked for.
        url: String,
        /// The answer.
        status: u16,
        /// How long the registry asks to wait.
        #[serde(skip)]
        retry_after: Option<Duration>,
    },
    /// It is larger than it can reasonably be.
    #[error("{what} has more than {limit} bytes")]
    TooLarge {
        /// What was read.
        what: String,
        /// How much is read of it.
        limit: u64,
    },
    /// The content is not what its name says.
    #[error("the content of {digest} does not match its digest")]
    WrongDigest {
        /// The name.
        digest: Digest,
    },
    /// It cannot be understood.
    #[error("{what} is invalid: {why}")]
    Malformed {
        /// What was read.
        what: String,
        /// Why.
        why: String,
    },
    /// There is no end of tags.
    #[error("more than {limit} tags, or a cycle of pages")]
    TooManyTags {
        /// How many are read.
        limit: usize,
    },
    /// It could be any of several.
    #[error("{what} does not have exactly one image: specify one of {}", names.join(", "))]
    Ambiguous {
        /// What was asked for.
        what: String,
        /// What there is.
        names: Vec<String>,
    },
    /// A file of a layout cannot be read.
    #[error("cannot read a file of the OCI layout: {why}")]
    File {
        /// Why.
        why: String,
    },
}

impl PullError {
    pub(crate) fn network(url: &Url, error: &reqwest::Error) -> Self {
        let (url, why) = (place(url), fairway_text::root_cause(error));
        if error.is_redirect() { Self::Redirect { url, why } } else { Self::Network { url, why } }
    }

    /// Whether the same question may be answered later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Network { .. } => true,
            Self::Status { status, .. } => *status == 429 || (500..600).contains(status),
            _ => false,
        }
    }
}

/// What was given as a name, without what may be a password in it.
pub(crate) fn without_password(given: &str) -> String {
    let (name, digest) = given.split_at(given.find("@sha256:").unwrap_or(given.len()));
    match name.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}{digest}"),
        None => given.to_owned(),
    }
}

/// The address as errors show it.
pub(super) fn place(url: &Url) -> String {
    fairway_text::without_secrets(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_with_credentials_omits_them() {
        let url = Url::parse("https://user:secret@r.example:5000/v2/a?token=secret#x").unwrap();
        assert_eq!(place(&url), "https://r.example:5000/v2/a");
    }
}
