//! A search for signatures: what is found is told to it, and it tells when it is over.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::keyring::Keyring;
use super::verdict::{Finding, Satisfied, Unverified, Verified};
use crate::Digest;
use crate::releases::printable;

/// Signatures that are looked at: those of seven stores, each as long as it may be. Looking at one
/// takes a millisecond for each keyring.
const MOST_SIGNATURES: usize = 64;

/// A search that goes on until each keyring is satisfied.
pub(super) struct Search<'a> {
    image: &'a Digest,
    now: Timestamp,
    missing: BTreeMap<&'a str, &'a Keyring>,
    satisfied: Vec<Satisfied>,
    findings: Vec<Finding>,
    /// Stores that have not said everything.
    asked: BTreeSet<String>,
    looked_at: usize,
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
            asked: BTreeSet::new(),
            looked_at: 0,
        }
    }

    /// Whether nothing that is still found can matter.
    pub(super) fn is_over(&self) -> bool {
        self.missing.is_empty() || self.looked_at >= MOST_SIGNATURES
    }

    /// A signature was found: whom does it satisfy?
    pub(super) fn consider(&mut self, place: &str, signature: &[u8]) {
        if self.is_over() {
            return;
        }
        self.looked_at += 1;
        let (image, now) = (self.image, self.now);
        let (satisfied, findings) = (&mut self.satisfied, &mut self.findings);
        // Keyrings mostly refuse a signature for the same reason, which is said once.
        let mut refusals: BTreeMap<String, Vec<String>> = BTreeMap::new();
        self.missing.retain(|name, keyring| match keyring.verify(signature, image, now) {
            Ok(claim) => {
                satisfied.push(Satisfied {
                    keyring: (*name).to_owned(),
                    location: place.to_owned(),
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
        findings.extend(refusals.into_iter().map(|(message, keyrings)| Finding::Refused {
            location: place.to_owned(),
            keyrings,
            message,
        }));
    }

    /// A store is asked.
    pub(super) fn ask(&mut self, store: &str) {
        self.asked.insert(store.to_owned());
    }

    /// A store has said everything.
    pub(super) fn answered(&mut self, store: &str, signatures: usize) {
        self.asked.remove(store);
        if signatures == 0 {
            self.findings.push(Finding::Unsigned { store: store.to_owned() });
        }
    }

    /// A store cannot answer.
    pub(super) fn failed(&mut self, store: &str, why: &str) {
        self.asked.remove(store);
        self.findings
            .push(Finding::Unreachable { store: store.to_owned(), message: printable(why) });
    }

    /// What came of it.
    pub(super) fn end(mut self) -> Result<Verified, Unverified> {
        if self.missing.is_empty() {
            self.satisfied.sort_unstable_by(|one, other| one.keyring.cmp(&other.keyring));
            return Ok(Verified { digest: self.image.clone(), signatures: self.satisfied });
        }
        if self.is_over() {
            self.findings.push(Finding::TooMany { limit: MOST_SIGNATURES });
        } else {
            let timed_out = |store| Finding::TimedOut { store };
            self.findings.extend(self.asked.iter().cloned().map(timed_out));
        }
        self.findings.sort_unstable();
        Err(Unverified {
            digest: self.image.clone(),
            keyrings: self.missing.into_keys().map(str::to_owned).collect(),
            findings: self.findings,
        })
    }
}
