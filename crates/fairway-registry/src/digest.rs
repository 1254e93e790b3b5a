//! The SHA-256 digest by which content is named.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The name of some content: `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(String);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("sha256:{}", hex::encode(Sha256::digest(bytes))))
    }

    /// The digest with its algorithm.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digits alone.
    pub fn hex(&self) -> &str {
        self.0.trim_start_matches("sha256:")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
