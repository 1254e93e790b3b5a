//! State of a search for signatures of an image, without I/O.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::keyring::Keyring;
use super::verdict::{KeyringSignature, SignatureFinding, Unverified, Verified};
use crate::Digest;
use crate::releases::printable;

/// Checked signatures of one ConfigMap or store; a signature store serves nine. Sources count
/// separately, so that invalid signatures in one do not hide valid ones in another. A check takes
/// about a millisecond per keyring.
const MAX_SOURCE_SIGNATURES: usize = 64;

/// Checked signatures of all `ConfigMaps` together. Stores do not count.
const MAX_CLUSTER_SIGNATURES: usize = 512;

/// Source of a signature.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SignatureSource {
    /// A ConfigMap of the cluster, by name.
    ConfigMap(String),
    /// A signature store, by name.
    Store(String),
}

/// A search that ends when every keyring has a valid signature.
pub(super) struct Search<'a> {
    image: &'a Digest,
    now: Timestamp,
    missing: BTreeMap<&'a str, &'a Keyring>,
    satisfied: Vec<KeyringSignature>,
    findings: Vec<SignatureFinding>,
    /// Stores that have not completed.
    pending: BTreeSet<String>,
    /// Number of checked signatures.
    checked: BTreeMap<SignatureSource, usize>,
    /// Number of checked signatures of `ConfigMaps`.
    cluster_checked: usize,
    /// The limit that a source has exceeded.
    exceeded: Option<usize>,
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
            checked: BTreeMap::new(),
            cluster_checked: 0,
            exceeded: None,
        }
    }

    /// Whether further signatures cannot change the result.
    pub(super) fn is_over(&self) -> bool {
        self.missing.is_empty()
    }

    /// Counts a signature; `false` if its source has too many.
    fn count(&mut self, source: SignatureSource) -> bool {
        let is_in_cluster = matches!(source, SignatureSource::ConfigMap(_));
        let checked = self.checked.entry(source).or_default();
        let exceeded = if *checked >= MAX_SOURCE_SIGNATURES {
            Some(MAX_SOURCE_SIGNATURES)
        } else {
            let is_full = is_in_cluster && self.cluster_checked >= MAX_CLUSTER_SIGNATURES;
            is_full.then_some(MAX_CLUSTER_SIGNATURES)
        };
        if exceeded.is_some() {
            self.exceeded = exceeded;
            return false;
        }
        *checked += 1;
        self.cluster_checked += usize::from(is_in_cluster);
        true
    }

    /// Verifies a signature with every keyring that has none yet.
    pub(super) fn check(&mut self, source: SignatureSource, location: &str, signature: &[u8]) {
        if self.is_over() || !self.count(source) {
            return;
        }
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
        let too_many = |limit| SignatureFinding::TooMany { limit };
        self.findings.extend(self.exceeded.map(too_many));
        let timed_out = |store| SignatureFinding::TimedOut { store };
        self.findings.extend(self.pending.iter().cloned().map(timed_out));
        self.findings.sort_unstable();
        Err(Unverified {
            digest: self.image.clone(),
            keyrings: self.missing.into_keys().map(str::to_owned).collect(),
            findings: self.findings,
        })
    }
}
