//! Retrieving a release: its signature first, then its content.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fairway_api::cluster_version::SignatureStore;
use fairway_cincinnati::route::ProxySettings;
use fairway_http::{Proxies, ProxyError};
use fairway_registry::Digest;
use fairway_registry::payload::{self, FetchError, Places};
use fairway_registry::pull::Options;
use fairway_registry::signature::{ClusterSignature, Sources, Verifier};
use fairway_release::payload::PayloadError;
use fairway_release::{Release, Verification};
use tokio::task::JoinError;

use super::surroundings::{Store, Surroundings, SurroundingsError};

/// How long all signature stores together may take: half of what clusters always gave a release
/// to arrive.
const STORES: Duration = Duration::from_mins(2);

/// Whether somebody has to have signed a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signed {
    /// Somebody whom the release that runs trusts.
    Must,
    /// It is told where nobody has: the update is forced.
    Should,
    /// This very content was accepted before.
    AsBefore,
}

/// What is to be retrieved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) image: String,
    pub(crate) signed: Signed,
}

/// What was retrieved.
#[derive(Clone)]
pub(crate) struct Retrieved {
    /// The release.
    pub(crate) content: Arc<Release>,
    /// Why its signature does not count, where it does not have to.
    pub(crate) unverified: Option<String>,
}

/// Why a release was not retrieved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RetrieveError {
    #[error("image {image:?} is not pinned to a digest; request the release by its digest")]
    NotByDigest { image: String },
    #[error("invalid proxy settings in the status of Proxy cluster")]
    Proxy(#[from] ProxyError),
    #[error(transparent)]
    Surroundings(#[from] SurroundingsError),
    #[error("the update cannot be verified: {why}")]
    Unverified { why: String },
    #[error("cannot download the update")]
    Download(#[from] FetchError),
    #[error("cannot load the update")]
    Load(#[from] PayloadError),
    #[error("the task that loads the update failed")]
    BrokeDown(#[from] JoinError),
}

/// Retrieves releases for a cluster.
pub(crate) struct Retriever {
    client: kube::Client,
    layouts: Vec<PathBuf>,
    profile: String,
    /// Whose signatures count, or why nobody's does.
    verifier: Result<Verifier, String>,
}

/// What may change while the operator runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ways {
    /// What the platform says about proxies.
    pub(crate) proxy: ProxySettings,
    /// The authorities to trust besides the machine's, as PEM.
    pub(crate) authorities: String,
    /// Stores that are asked in place of those of the release, if somebody names any, or none.
    pub(crate) stores: Option<Vec<SignatureStore>>,
}

impl Ways {
    /// The proxies of the platform; where it has none, those of the environment.
    fn proxies(&self) -> Result<Option<Proxies>, ProxyError> {
        let ProxySettings { http_proxy, https_proxy, no_proxy } = &self.proxy;
        let is_set = !http_proxy.is_empty() || !https_proxy.is_empty();
        is_set.then(|| Proxies::parse(http_proxy, https_proxy, no_proxy)).transpose()
    }
}

impl Retriever {
    /// For an operator of that release, which says whose signatures count.
    pub(crate) fn new(
        client: kube::Client,
        layouts: Vec<PathBuf>,
        profile: String,
        own: &Release,
    ) -> Self {
        Self { client, layouts, profile, verifier: verifier(own) }
    }

    pub(crate) async fn retrieve(
        self: Arc<Self>,
        order: Order,
        ways: Ways,
    ) -> Result<Retrieved, RetrieveError> {
        let digest = order.image.rsplit_once('@').and_then(|(_, digest)| Digest::parse(digest));
        let Some(digest) = digest else {
            return Err(RetrieveError::NotByDigest { image: order.image });
        };
        let surroundings = Surroundings::ask(&self.client, &digest, ways.stores.as_deref()).await?;
        let options = Options {
            secrets: surroundings.secrets.clone(),
            authorities: ways.authorities.clone().into_bytes(),
            proxies: ways.proxies()?,
            ..Options::default()
        };
        let unverified = match order.signed {
            Signed::AsBefore => None,
            Signed::Must => {
                let verified = self.verify(&digest, &surroundings, &options).await;
                verified.map_err(|why| RetrieveError::Unverified { why })?;
                None
            }
            Signed::Should => self.verify(&digest, &surroundings, &options).await.err(),
        };
        let places = Places {
            layouts: self.layouts.clone(),
            mirrors: surroundings.mirrors,
            options,
            ..Places::default()
        };
        let files = payload::fetch(&order.image, &places).await?;
        // Large releases take a while to be understood, and meanwhile others have to be served.
        let load = move || Release::load(&files, &order.image, &self.profile);
        let content = Arc::new(tokio::task::spawn_blocking(load).await??);
        // Authors of manifests see the rest with `fairway release lint`; clusters are not affected.
        let (odd, left_out): (Vec<_>, Vec<_>) =
            content.warnings.iter().partition(|warning| warning.is_informational());
        for warning in left_out {
            tracing::warn!(error = %warning, "part of the release ignored");
        }
        if !odd.is_empty() {
            tracing::debug!(count = odd.len(), "release has manifests with oddities");
        }
        Ok(Retrieved { content, unverified })
    }

    async fn verify(
        &self,
        digest: &Digest,
        surroundings: &Surroundings,
        options: &Options,
    ) -> Result<(), String> {
        let verifier = self.verifier.as_ref().map_err(Clone::clone)?;
        let cluster = surroundings.signatures.iter().map(|signature| ClusterSignature {
            config_map: &signature.config_map,
            key: &signature.key,
            signature: &signature.bytes,
        });
        let stores = surroundings.stores.as_ref();
        let stores = stores.map(|stores| stores.iter().map(Store::address).collect());
        let sources = Sources { cluster: cluster.collect(), stores, options, patience: STORES };
        let searched = verifier.verify(digest, &sources, fairway_clock::now()).await;
        searched.map(drop).map_err(|unverified| unverified.to_string())
    }
}

fn verifier(own: &Release) -> Result<Verifier, String> {
    let no_policy = "the running release has no valid signature policy";
    match Verification::of(&own.manifests) {
        Ok(Some(verification)) => Verifier::new(&verification)
            .map_err(|error| format!("{no_policy}: {}", crate::text::chain(&error))),
        Ok(None) => Err(format!(
            "{no_policy}: no ConfigMap has the annotation \
             release.openshift.io/verification-config-map"
        )),
        Err(error) => Err(error.to_string()),
    }
}
