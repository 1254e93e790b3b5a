//! What a search for signatures came to.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Digest;

/// Maximum number of findings in a message, which must fit into a condition.
const MOST_TOLD: usize = 8;

/// Result of a successful verification: every keyring is satisfied by a signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[must_use = "use only images that are verified"]
pub struct Verified {
    /// Digest of the image.
    #[schemars(with = "String")]
    pub digest: Digest,
    /// Valid signatures, one for each keyring.
    pub signatures: Vec<Satisfied>,
}

/// A keyring and the signature that satisfies it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Satisfied {
    /// Name of the keyring.
    pub keyring: String,
    /// Source of the signature.
    pub place: String,
    /// Fingerprint of the key that made the signature.
    pub signer: String,
    /// Image reference in the signature.
    pub reference: String,
    /// The signature itself.
    #[serde(skip)]
    pub signature: Vec<u8>,
}

/// Result of a failed verification: no signature satisfies some keyrings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unverified {
    /// Digest of the image.
    #[schemars(with = "String")]
    pub digest: Digest,
    /// The keyrings that no signature satisfies.
    pub keyrings: Vec<String>,
    /// Rejected signatures and failed signature stores, in a stable order.
    pub findings: Vec<Finding>,
}

/// Why a signature or a signature store does not verify an image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(tag = "reason")]
pub enum Finding {
    /// A rejected signature.
    Refused {
        /// Source of the signature.
        place: String,
        /// Keyrings that reject the signature.
        keyrings: Vec<String>,
        /// Cause.
        why: String,
    },
    /// A signature store without signatures of the image.
    Unsigned {
        /// Name of the signature store.
        store: String,
    },
    /// A signature store that cannot be read.
    Unreachable {
        /// Name of the signature store.
        store: String,
        /// Cause.
        why: String,
    },
    /// A signature store that timed out.
    Late {
        /// Name of the signature store.
        store: String,
    },
    /// More signatures than the verifier checks.
    TooMany {
        /// Maximum number of signatures that the verifier checks.
        most: usize,
    },
}

impl Finding {
    /// Whether it may be another one later: a store was not heard.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Late { .. })
    }
}

impl Unverified {
    /// Whether there may be a signature after all, in a store that was not heard.
    pub fn is_transient(&self) -> bool {
        self.findings.iter().any(Finding::is_transient)
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

impl fmt::Display for Satisfied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keyring, place, signer, reference, signature: _ } = self;
        write!(f, "{keyring}: by {signer}, as {reference} ({place})")
    }
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { digest, keyrings, findings } = self;
        write!(f, "no signature of {digest} satisfies {}", keyrings.join(" or "))?;
        if findings.is_empty() {
            return f.write_str(": no signature in the cluster and no signature store");
        }
        for (index, finding) in findings.iter().take(MOST_TOLD).enumerate() {
            write!(f, "{} {finding}", if index == 0 { ":" } else { ";" })?;
        }
        match findings.len().saturating_sub(MOST_TOLD) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { place, keyrings, why } => {
                write!(f, "{place} rejected for {}: {why}", keyrings.join(" and "))
            }
            Self::Unsigned { store } => write!(f, "{store}: no signature"),
            Self::Unreachable { store, why } => write!(f, "{store}: cannot read signatures: {why}"),
            Self::Late { store } => write!(f, "{store}: timed out"),
            Self::TooMany { most } => write!(f, "only the first {most} signatures are checked"),
        }
    }
}
