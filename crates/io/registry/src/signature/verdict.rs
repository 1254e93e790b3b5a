//! What a search for signatures came to.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Digest;

/// Findings that are told in a text: it has to fit into a condition.
const MOST_TOLD: usize = 8;

/// Everybody who has to has signed an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[must_use = "only what is verified may be used"]
pub struct Verified {
    /// The image.
    #[schemars(with = "String")]
    pub digest: Digest,
    /// The signatures that count, one for each keyring.
    pub signatures: Vec<Satisfied>,
}

/// A keyring, and the signature that it is satisfied by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Satisfied {
    /// The keyring.
    pub keyring: String,
    /// Where the signature was found.
    pub place: String,
    /// The fingerprint of the key that has made it.
    pub signer: String,
    /// What the signer calls the image.
    pub reference: String,
    /// The signature itself.
    #[serde(skip)]
    pub signature: Vec<u8>,
}

/// Somebody who has to has not signed an image, as far as can be seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unverified {
    /// The image.
    #[schemars(with = "String")]
    pub digest: Digest,
    /// The keyrings that no signature satisfies.
    pub keyrings: Vec<String>,
    /// What was found instead, in an order that does not depend on who answered first.
    pub findings: Vec<Finding>,
}

/// What was found in place of a signature that counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(tag = "reason")]
pub enum Finding {
    /// A signature that does not count.
    Refused {
        /// Where it was found.
        place: String,
        /// For whom it does not count.
        keyrings: Vec<String>,
        /// Why.
        why: String,
    },
    /// A store without any.
    Unsigned {
        /// The store.
        store: String,
    },
    /// A store that cannot answer.
    Unreachable {
        /// The store.
        store: String,
        /// Why.
        why: String,
    },
    /// A store that has not said everything in time.
    Late {
        /// The store.
        store: String,
    },
    /// More signatures than are looked at.
    TooMany {
        /// How many are.
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
