//! Whether everybody whom a release trusts has signed another one.

use std::collections::BTreeMap;
use std::time::Duration;

use fairway_release::Verification;
use futures::{Stream, StreamExt as _, stream};
use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};

use super::keyring::{Keyring, KeyringError};
use super::search::Search;
use super::store::{Store, StoreError};
use super::verdict::{Unverified, Verified};
use crate::Digest;
use crate::pull::{self, Options, PullError};
use crate::releases::printable;

/// Stores that are asked at the same time: as many as there may be, so that none has to wait for
/// others that are silent.
const AT_ONCE: usize = 32;

/// Whose signatures count, and where a release says that they are.
#[derive(Debug)]
pub struct Verifier {
    keyrings: BTreeMap<String, Keyring>,
    stores: Vec<String>,
}

/// Why nothing can be verified with what a release says.
#[derive(Debug, thiserror::Error)]
pub enum VerifierError {
    /// Nobody would have to sign.
    #[error("no keyring to verify signatures with")]
    NoKeyrings,
    /// Somebody would have to sign, but who?
    #[error("cannot use {name}")]
    Keyring {
        /// Which keyring.
        name: String,
        /// Why.
        source: KeyringError,
    },
}

/// Where signatures are looked for, and for how long.
#[derive(Debug)]
pub struct Sources<'a> {
    /// Those that the cluster has; those of other images may be among them.
    pub cluster: Vec<ClusterSignature<'a>>,
    /// Stores that are asked in place of those of the release, even if there are none.
    pub stores: Option<Vec<StoreAddress<'a>>>,
    /// How stores on the web are spoken to.
    pub options: &'a Options,
    /// How long all stores together may take.
    pub patience: Duration,
}

/// A signature in a ConfigMap: an entry of its `binaryData`.
#[derive(Clone, Copy, Debug)]
pub struct ClusterSignature<'a> {
    /// The ConfigMap.
    pub config_map: &'a str,
    /// The key, which begins with the digest of the image: `sha256-…`.
    pub key: &'a str,
    /// The signature.
    pub signature: &'a [u8],
}

/// A store, and whom to trust on the way to it.
#[derive(Clone, Debug)]
pub struct StoreAddress<'a> {
    /// Where it is: `https`, `http` or `file`.
    pub url: &'a str,
    /// Certificates of authorities to trust besides the others, as PEM.
    pub authorities: &'a [u8],
}

enum Answer {
    Signature(usize, Vec<u8>),
    Failure(String),
    /// That there is no other, after so many.
    End(usize),
}

impl Verifier {
    /// Reads the keyrings.
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

    /// Looks for signatures of an image until each keyring is satisfied: first in the cluster, then
    /// in stores.
    pub async fn verify(
        &self,
        image: &Digest,
        sources: &Sources<'_>,
        now: Timestamp,
    ) -> Result<Verified, Unverified> {
        let mut search = Search::new(image, &self.keyrings, now);
        let beginning = format!("sha256-{}", image.hex());
        for ClusterSignature { config_map, key, signature } in &sources.cluster {
            if key.starts_with(&beginning) {
                search.consider(&format!("{key} of ConfigMap {config_map}"), signature);
            }
        }
        if !search.is_over() {
            self.ask_stores(&mut search, image, sources).await;
        }
        search.end()
    }

    async fn ask_stores(&self, search: &mut Search<'_>, image: &Digest, sources: &Sources<'_>) {
        let own = || self.stores.iter().map(|url| StoreAddress { url, authorities: &[] }).collect();
        let stores = sources.stores.clone().unwrap_or_else(own);
        let mut answers = Vec::new();
        for store in stores {
            let name = name(store.url);
            search.ask(&name);
            let answer = answers_of(open(&store, sources.options), image);
            answers.push(answer.map(move |answer| (name.clone(), answer)).boxed());
        }
        let mut answers = stream::iter(answers).flatten_unordered(AT_ONCE);
        let deadline = Instant::now() + sources.patience;
        // A timeout alone would never come to its turn beside stores that always have more.
        while !search.is_over() && Instant::now() < deadline {
            let Ok(Some((store, answer))) = timeout_at(deadline, answers.next()).await else {
                break;
            };
            match answer {
                Answer::Signature(number, signature) => {
                    search.consider(&format!("signature-{number} of {store}"), &signature);
                }
                Answer::Failure(why) => search.failed(&store, &why),
                Answer::End(count) => search.answered(&store, count),
            }
        }
    }
}

fn open(store: &StoreAddress<'_>, options: &Options) -> Result<Store, PullError> {
    let StoreAddress { url, authorities } = store;
    let authorities = [&options.authorities, *authorities].join(&b'\n');
    // A signature proves itself: whoever listens in between cannot make one.
    let options = Options { authorities, allow_plain_http: true, ..options.clone() };
    Store::open(url, &options)
}

/// What a store is called: its address, without what may be a secret in it.
fn name(url: &str) -> String {
    let place = url.split(['?', '#']).next().unwrap_or_default();
    printable(pull::without_password(place))
}

/// Everything that a store answers, one signature after the other.
fn answers_of(
    store: Result<Store, PullError>,
    image: &Digest,
) -> impl Stream<Item = Answer> + use<'_> {
    stream::unfold(Some((store, 1)), async |state| {
        let (store, number) = state?;
        let asked = match &store {
            Ok(store) => store.signature(image, number).await.map_err(|error| cause(&error)),
            Err(error) => Err(error.to_string()),
        };
        Some(match asked {
            Ok(Some(signature)) => {
                (Answer::Signature(number, signature), Some((store, number + 1)))
            }
            Ok(None) => (Answer::End(number - 1), None),
            Err(why) => (Answer::Failure(why), None),
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
