//! State of a search for signatures of an image, without I/O.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::keyring::Keyring;
use super::verdict::{KeyringSignature, SignatureFinding, Unverified, Verified};
use crate::Digest;
use crate::releases::printable;

/// Checked signatures: the maximum of seven stores. A check takes about a millisecond per keyring.
const MAX_SIGNATURES: usize = 64;

/// A search that ends when every keyring has a valid signature.
pub(super) struct Search<'a> {
    image: &'a Digest,
    now: Timestamp,
    missing: BTreeMap<&'a str, &'a Keyring>,
    satisfied: Vec<KeyringSignature>,
    findings: Vec<SignatureFinding>,
    /// Stores that have not completed.
    pending: BTreeSet<String>,
    checked: usize,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        image: &'a Digest,
        keyrings: &'a BTreeMap<String, Keyring>,
        now: Timestamp,
    ) -> Self {
        Self {
            image,
            now,
            missing: keyrings.iter().map(|(name, keyring)| (name.as_str(), keyring)).collect(),
            satisfied: Vec::new(),
            findings: Vec::new(),
            pending: BTreeSet::new(),
            checked: 0,
        }
    }

    /// Whether further signatures cannot change the result.
    pub(super) fn is_over(&self) -> bool {
        self.missing.is_empty() || self.checked >= MAX_SIGNATURES
    }

    /// Verifies a signature with every keyring that has none yet.
    pub(super) fn check(&mut self, location: &str, signature: &[u8]) {
        if self.is_over() {
            return;
        }
        self.checked += 1;
        let (image, now) = (self.image, self.now);
        let (satisfied, findings) = (&mut self.satisfied, &mut self.findings);
        // Most keyrings reject a signature for the same reason: one finding for all of them.
        let mut refusals: BTreeMap<String, Vec<String>> = BTreeMap::new();
        self.missing.retain(|name, keyring| match keyring.verify(signature, image, now) {
            Ok(claim) => {
                satisfied.push(KeyringSignature {
                    keyring: (*name).to_owned(),
                    location: location.to_owned(),
                    signer: claim.signer,
                    identity: printable(claim.reference),
                    signature: signature.to_vec(),
                });
                false
            }
            Err(why) => {
                refusals.entry(printable(why.to_string())).or_default().push((*name).to_owned());
                true
            }
        });
        findings.extend(refusals.into_iter().map(|(message, keyrings)| {
            SignatureFinding::Refused { location: location.to_owned(), keyrings, message }
        }));
    }

    /// Records that a store is queried.
    pub(super) fn store_queried(&mut self, store: &str) {
        self.pending.insert(store.to_owned());
    }

    /// Records that a store has no more signatures.
    pub(super) fn store_completed(&mut self, store: &str, signatures: usize) {
        self.pending.remove(store);
        if signatures == 0 {
            self.findings.push(SignatureFinding::Unsigned { store: store.to_owned() });
        }
    }

    /// Records that a store failed.
    pub(super) fn store_failed(&mut self, store: &str, why: &str) {
        self.pending.remove(store);
        self.findings.push(SignatureFinding::Unreachable {
            store: store.to_owned(),
            message: printable(why),
        });
    }

    /// The result. Stores that have not completed count as timed out.
    pub(super) fn finish(mut self) -> Result<Verified, Unverified> {
        if self.missing.is_empty() {
            self.satisfied.sort_unstable_by(|one, other| one.keyring.cmp(&other.keyring));
            return Ok(Verified { digest: self.image.clone(), signatures: self.satisfied });
        }
        if self.is_over() {
            self.findings.push(SignatureFinding::TooMany { limit: MAX_SIGNATURES });
        } else {
            let timed_out = |store| SignatureFinding::TimedOut { store };
            self.findings.extend(self.pending.iter().cloned().map(timed_out));
        }
        self.findings.sort_unstable();
        Err(Unverified {
            digest: self.image.clone(),
            keyrings: self.missing.into_keys().map(str::to_owned).collect(),
            findings: self.findings,
        })
    }
}
