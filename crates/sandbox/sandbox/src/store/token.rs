//! Where a list that was cut short goes on.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::ReadError;

const VERSION: &str = "meta.k8s.io/v1";

/// The longest path has two names of 253 bytes, and JSON and base64 make at most eight of one.
const MAX_LENGTH: usize = 8 * 1024;

/// Stands for how things are when the list goes on.
const NEWEST: i64 = -1;

/// Where a list that was cut short goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// The revision at which the list began; `None` to go on with how things are now.
    pub(super) revision: Option<u64>,
    /// The first path that may be next, without what all paths of the list begin with.
    pub(super) start: String,
}

#[derive(Serialize, Deserialize)]
struct Encoded {
    #[serde(default)]
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

impl Token {
    /// Goes on behind `last`, which begins with `prefix`.
    pub(super) fn after(last: &str, prefix: &str, revision: u64) -> Self {
        // The smallest path that is greater.
        let start = format!("{}\0", last.strip_prefix(prefix).unwrap_or(last));
        Self { revision: Some(revision), start }
    }

    pub(super) fn encode(&self) -> String {
        let rv = self.revision.map_or(NEWEST, |revision| i64::try_from(revision).unwrap_or(NEWEST));
        let encoded = Encoded { v: VERSION.to_owned(), rv, start: self.start.clone() };
        let json = serde_json::to_vec(&encoded).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(json)
    }

    pub(super) fn decode(text: &str) -> Result<Self, ReadError> {
        if text.len() > MAX_LENGTH {
            return Err(invalid(""));
        }
        let json = URL_SAFE_NO_PAD.decode(text).map_err(|error| invalid(format!(": {error}")))?;
        let encoded = serde_json::from_slice(&json).map_err(|error| invalid(format!(": {error}")));
        let Encoded { v, rv, start } = encoded?;
        if v != VERSION {
            let problem = format!(": server does not recognize this encoded version {v:?}");
            return Err(invalid(problem));
        }
        let revision = match rv {
            NEWEST => None,
            1.. => rv.try_into().ok(),
            _ => {
                let problem = ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)";
                return Err(invalid(problem));
            }
        };
        if start.is_empty() {
            return Err(invalid(": encoded start key empty (version meta.k8s.io/v1)"));
        }
        if start.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(invalid(format!(": {start}")));
        }
        Ok(Self { revision, start })
    }
}

/// An error in the words of the API server.
pub(super) fn invalid(problem: impl std::fmt::Display) -> ReadError {
    ReadError::InvalidContinue { problem: format!("continue key is not valid{problem}") }
}
