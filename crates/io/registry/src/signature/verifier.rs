//! Signature verification: checks that a release image is signed for every keyring of another
//! release.

use std::collections::BTreeMap;
use std::time::Duration;

use fairway_release::Verification;
use futures::{Stream, StreamExt as _, stream};
use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};

use super::keyring::{Keyring, KeyringError};
use super::search::{Search, SignatureSource};
use super::store::{Store, StoreError};
use super::verdict::{Unverified, Verified};
use crate::Digest;
use crate::pull::{self, PullError, PullOptions};
use crate::releases::printable;

/// Stores that are queried at the same time: all of them, so that slow stores delay no others.
const MAX_CONCURRENT_STORES: usize = 32;

/// Keyrings and signature stores of a release.
#[derive(Debug)]
pub struct Verifier {
    keyrings: BTreeMap<String, Keyring>,
    stores: Vec<String>,
}

/// A release without usable keyrings.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum VerifierError {
    /// The release has no keyring.
    #[error("no keyring to verify signatures with")]
    NoKeyrings,
    /// A keyring is invalid.
    #[error("cannot use {name}")]
    Keyring { name: String, source: KeyringError },
}

/// Sources of signatures, with a timeout.
#[derive(Debug)]
pub struct SignatureSources<'a> {
    /// Signatures from the cluster (`binaryData` of a ConfigMap), including those of other images.
    pub cluster: Vec<ClusterSignature<'a>>,
    /// Replaces the stores of the release, even if it is empty.
    pub stores: Option<Vec<StoreAddress<'a>>>,
    /// Settings for HTTP requests.
    pub options: &'a PullOptions,
    /// Timeout of all stores together.
    pub timeout: Duration,
}

/// A signature in a ConfigMap: an entry of its `binaryData`.
#[derive(Clone, Copy, Debug)]
pub struct ClusterSignature<'a> {
    /// Name of the ConfigMap.
    pub config_map: &'a str,
    /// Key of the entry, which starts with the digest of the image: `sha256-…`.
    pub key: &'a str,
    /// The signature.
    pub signature: &'a [u8],
}

/// URL of a store and its CA certificates.
#[derive(Clone, Debug)]
pub struct StoreAddress<'a> {
    /// URL with the scheme `https`, `http` or `file`.
    pub url: &'a str,
    /// CA certificates (PEM) to trust in addition.
    pub ca_bundle: &'a [u8],
}

enum StoreResponse {
    Signature(usize, Vec<u8>),
    Failure(String),
    /// The store has no more signatures; their number.
    End(usize),
}

impl Verifier {
    /// Parses the keyrings of a release.
    pub fn new(verification: &Verification) -> Result<Self, VerifierError> {
        let Verification { keyrings, stores } = verification;
        if keyrings.is_empty() {
            return Err(VerifierError::NoKeyrings);
        }
        let read = |(name, bytes): (&String, &Vec<u8>)| match Keyring::parse(bytes) {
            Ok(keyring) => Ok((name.clone(), keyring)),
            Err(source) => Err(VerifierError::Keyring { name: name.clone(), source }),
        };
        let keyrings = keyrings.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { keyrings, stores: stores.values().cloned().collect() })
    }

    /// Searches the cluster and then the stores until every keyring has a valid signature.
    pub async fn verify(
        &self,
        image: &Digest,
        sources: &SignatureSources<'_>,
        now: Timestamp,
    ) -> Result<Verified, Unverified> {
        let mut search = Search::new(image, &self.keyrings, now);
        let prefix = format!("sha256-{}", image.hex());
        for ClusterSignature { config_map, key, signature } in &sources.cluster {
            if key.starts_with(&prefix) {
                let source = SignatureSource::ConfigMap((*config_map).to_owned());
                search.check(source, &format!("{key} of ConfigMap {config_map}"), signature);
            }
        }
        if !search.is_over() {
            self.query_stores(&mut search, image, sources).await;
        }
        search.finish()
    }

    async fn query_stores(
        &self,
        search: &mut Search<'_>,
        image: &Digest,
        sources: &SignatureSources<'_>,
    ) {
        let own = || self.stores.iter().map(|url| StoreAddress { url, ca_bundle: &[] }).collect();
        let stores = sources.stores.clone().unwrap_or_else(own);
        let mut responses = Vec::new();
        for store in stores {
            let name = name(store.url);
            search.store_queried(&name);
            let response = responses_of(open(&store, sources.options), image);
            responses.push(response.map(move |response| (name.clone(), response)).boxed());
        }
        let mut responses = stream::iter(responses).flatten_unordered(MAX_CONCURRENT_STORES);
        let deadline = Instant::now() + sources.timeout;
        // `timeout_at` polls the stream first, so it never expires while stores always have more.
        while !search.is_over() && Instant::now() < deadline {
            let Ok(Some((store, response))) = timeout_at(deadline, responses.next()).await else {
                break;
            };
            match response {
                StoreResponse::Signature(number, signature) => {
                    let source = SignatureSource::Store(store.clone());
                    search.check(source, &format!("signature-{number} of {store}"), &signature);
                }
                StoreResponse::Failure(why) => search.store_failed(&store, &why),
                StoreResponse::End(count) => search.store_completed(&store, count),
            }
        }
    }
}

fn open(store: &StoreAddress<'_>, options: &PullOptions) -> Result<Store, PullError> {
    let StoreAddress { url, ca_bundle } = store;
    let ca_bundle = [&options.ca_bundle, *ca_bundle].join(&b'\n');
    // Plain HTTP is allowed: a signature is verified by itself and cannot be forged in transit.
    let options = PullOptions { ca_bundle, allow_plain_http: true, ..options.clone() };
    Store::open(url, &options)
}

/// Name of a store: its URL without credentials and query.
fn name(url: &str) -> String {
    let address = url.split(['?', '#']).next().unwrap_or_default();
    printable(pull::without_password(address))
}

/// Streams the signatures of a store, one request after the other.
fn responses_of(
    store: Result<Store, PullError>,
    image: &Digest,
) -> impl Stream<Item = StoreResponse> + use<'_> {
    stream::unfold(Some((store, 1)), async |state| {
        let (store, number) = state?;
        let pending = match &store {
            Ok(store) => store.signature(image, number).await.map_err(|error| cause(&error)),
            Err(error) => Err(error.to_string()),
        };
        Some(match pending {
            Ok(Some(signature)) => {
                (StoreResponse::Signature(number, signature), Some((store, number + 1)))
            }
            Ok(None) => (StoreResponse::End(number - 1), None),
            Err(why) => (StoreResponse::Failure(why), None),
        })
    })
}

fn cause(error: &StoreError) -> String {
    match error {
        StoreError::File { source, .. } => format!("{error}: {source}"),
        StoreError::Web(source) => source.to_string(),
    }
}

#[cfg(test)]
mod tests;
