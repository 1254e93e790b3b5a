//! Result of a search for signatures.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Digest;

/// Maximum number of findings in a message, which must fit into a condition.
const MAX_LISTED_FINDINGS: usize = 8;

/// Image with a valid signature for every keyring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[must_use = "use only images that are verified"]
pub struct Verified {
    /// Digest of the image.
    #[schemars(with = "String")]
    pub digest: Digest,
    /// Valid signatures, one for each keyring.
    pub signatures: Vec<KeyringSignature>,
}

/// Valid signature for one keyring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Satisfied")]
pub struct KeyringSignature {
    /// Name of the keyring.
    pub keyring: String,
    /// Location of the signature.
    pub location: String,
    /// Fingerprint of the key.
    pub signer: String,
    /// Name of the image in the signature.
    pub identity: String,
    /// The signature itself.
    #[serde(skip)]
    pub signature: Vec<u8>,
}

/// Image without a valid signature for at least one keyring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unverified {
    /// Digest of the image.
    #[schemars(with = "String")]
    pub digest: Digest,
    /// Names of the keyrings without a valid signature.
    pub keyrings: Vec<String>,
    /// Why there is no valid signature. The order does not depend on the order of responses.
    pub findings: Vec<SignatureFinding>,
}

/// Why there is no valid signature.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(tag = "reason")]
#[schemars(rename = "Finding")]
pub enum SignatureFinding {
    /// A signature is invalid.
    Refused {
        /// Location of the signature.
        location: String,
        /// Names of the keyrings for which the signature is invalid.
        keyrings: Vec<String>,
        /// Why it is invalid.
        message: String,
    },
    /// A store has no signature of the image.
    Unsigned {
        /// Name of the signature store.
        store: String,
    },
    /// A store could not be reached.
    Unreachable {
        /// Name of the signature store.
        store: String,
        /// Why it could not be reached.
        message: String,
    },
    /// A store did not respond in time.
    TimedOut {
        /// Name of the signature store.
        store: String,
    },
    /// There are more signatures than Fairway checks.
    TooMany {
        /// Maximum number of signatures.
        limit: usize,
    },
}

impl SignatureFinding {
    /// Whether a later search may find a signature, because a store failed.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::TimedOut { .. })
    }
}

impl Unverified {
    /// Whether a store failed that may have a valid signature.
    pub fn is_transient(&self) -> bool {
        self.findings.iter().any(SignatureFinding::is_transient)
    }
}

impl std::error::Error for Unverified {}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { digest, signatures } = self;
        write!(f, "{digest} is signed")?;
        signatures.iter().try_for_each(|satisfied| write!(f, "\n  {satisfied}"))
    }
}

impl fmt::Display for KeyringSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keyring, location, signer, identity, signature: _ } = self;
        write!(f, "{keyring}: by {signer}, as {identity} ({location})")
    }
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { digest, keyrings, findings } = self;
        write!(f, "no signature of {digest} satisfies {}", keyrings.join(" or "))?;
        if findings.is_empty() {
            return f.write_str(": no signature in the cluster and no signature store");
        }
        for (index, finding) in findings.iter().take(MAX_LISTED_FINDINGS).enumerate() {
            write!(f, "{} {finding}", if index == 0 { ":" } else { ";" })?;
        }
        match findings.len().saturating_sub(MAX_LISTED_FINDINGS) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl fmt::Display for SignatureFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { location, keyrings, message } => {
                write!(f, "{location} rejected for {}: {message}", keyrings.join(" and "))
            }
            Self::Unsigned { store } => write!(f, "{store}: no signature"),
            Self::Unreachable { store, message } => {
                write!(f, "{store}: cannot read signatures: {message}")
            }
            Self::TimedOut { store } => write!(f, "{store}: timed out"),
            Self::TooMany { limit } => {
                write!(f, "a source has more than {limit} signatures; the others are not checked")
            }
        }
    }
}
