//! Fetching a release: signature verification first, then its content.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fairway_api::cluster_version::SignatureStore;
use fairway_api::image::is_reference;
use fairway_cincinnati::connection::ProxySettings;
use fairway_http::{Proxies, ProxyError};
use fairway_registry::Digest;
use fairway_registry::mirrors::Mirrors;
use fairway_registry::payload::{self, FetchError, ImageSources};
use fairway_registry::pull::{PullOptions, PullSecrets};
use fairway_registry::signature::{ClusterSignature, SignatureSources, Verifier};
use fairway_release::payload::PayloadError;
use fairway_release::{Release, Verification};
use tokio::task::JoinError;

use super::pull_context::{PullAccess, PullContext, PullContextError, SignatureStoreConfig};

/// Timeout of all signature stores together: half of the 4 minutes that the Go operator allows for
/// the retrieval of a release.
const SIGNATURE_STORES_TIMEOUT: Duration = Duration::from_mins(2);

/// Requirement on the signature of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignatureRequirement {
    /// A key that the running release trusts must have signed the release.
    Must,
    /// The update is forced: a missing signature is reported only.
    Should,
}

/// The release image to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FetchRequest {
    pub(crate) image: String,
    pub(crate) signed: SignatureRequirement,
}

/// A retrieved release.
#[derive(Clone)]
pub(crate) struct Retrieved {
    /// The release.
    pub(crate) content: Arc<Release>,
    /// Result of a failed signature verification that is not required.
    pub(crate) unverified: Option<String>,
}

/// Errors of a fetch.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RetrieveError {
    #[error("image {image:?} is not an image reference such as registry.example/release@sha256:…")]
    InvalidReference { image: String },
    #[error("image {image:?} is not pinned to a digest; request the release by its digest")]
    NotByDigest { image: String },
    #[error("invalid proxy settings in the status of Proxy cluster")]
    Proxy(#[from] ProxyError),
    #[error(transparent)]
    PullContext(#[from] PullContextError),
    #[error("the update cannot be verified: {why}")]
    Unverified { why: String },
    #[error("cannot download the update")]
    Download(#[from] FetchError),
    #[error("cannot load the update")]
    Load(#[from] PayloadError),
    #[error("the task that loads the update failed")]
    TaskFailed(#[from] JoinError),
}

/// Fetches releases for a cluster.
pub(crate) struct Retriever {
    client: kube::Client,
    layouts: Vec<PathBuf>,
    profile: String,
    /// Signature policy of the running release, or why it has none.
    verifier: Result<Verifier, String>,
}

/// Configuration of fetches that may change while the operator runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FetchConfig {
    /// Proxy settings of the platform.
    pub(crate) proxy: ProxySettings,
    /// CA bundle of the platform in PEM, in addition to that of the host.
    pub(crate) ca_bundle: String,
    /// `spec.signatureStores`, which replaces the stores of the signature policy; may be empty.
    pub(crate) stores: Option<Vec<SignatureStore>>,
}

impl FetchConfig {
    /// The proxies of the platform; `None` uses those of the environment.
    fn proxies(&self) -> Result<Option<Proxies>, ProxyError> {
        let ProxySettings { http_proxy, https_proxy, no_proxy } = &self.proxy;
        let is_set = !http_proxy.is_empty() || !https_proxy.is_empty();
        is_set.then(|| Proxies::parse(http_proxy, https_proxy, no_proxy)).transpose()
    }
}

impl FetchConfig {
    fn options(&self, secrets: PullSecrets) -> Result<PullOptions, ProxyError> {
        Ok(PullOptions {
            secrets,
            ca_bundle: self.ca_bundle.clone().into_bytes(),
            proxies: self.proxies()?,
            ..PullOptions::default()
        })
    }
}

impl Retriever {
    /// Creates a retriever with the signature policy of the running release.
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
        request: FetchRequest,
        config: FetchConfig,
    ) -> Result<Retrieved, RetrieveError> {
        if !is_reference(&request.image) {
            return Err(RetrieveError::InvalidReference { image: request.image });
        }
        let digest = request.image.rsplit_once('@').and_then(|(_, digest)| Digest::parse(digest));
        let Some(digest) = digest else {
            return Err(RetrieveError::NotByDigest { image: request.image });
        };
        let pull_context =
            PullContext::read(&self.client, &digest, config.stores.as_deref()).await?;
        let options = config.options(pull_context.secrets.clone())?;
        let unverified = match request.signed {
            SignatureRequirement::Must => {
                let verified = self.verify(&digest, &pull_context, &options).await;
                verified.map_err(|why| RetrieveError::Unverified { why })?;
                None
            }
            SignatureRequirement::Should => {
                self.verify(&digest, &pull_context, &options).await.err()
            }
        };
        let places = self.sources(pull_context.mirrors, options);
        let files = payload::fetch(&request.image, &places).await?;
        // Parsing a large release takes long and would block other tasks of this thread.
        let load = move || Release::load(&files, &request.image, &self.profile);
        let content = Arc::new(tokio::task::spawn_blocking(load).await??);
        // Authors of manifests see the rest with `fairway release lint`; clusters are not affected.
        let (odd, left_out): (Vec<_>, Vec<_>) =
            content.warnings.iter().partition(|warning| warning.is_informational());
        for warning in left_out {
            tracing::warn!(error = %warning, "part of the release ignored");
        }
        if !odd.is_empty() {
            tracing::debug!(count = odd.len(), "release has manifests with warnings");
        }
        Ok(Retrieved { content, unverified })
    }

    /// Sources of the images of a release, with the credentials and the mirrors of the cluster.
    pub(crate) async fn image_sources(
        &self,
        config: &FetchConfig,
    ) -> Result<ImageSources, RetrieveError> {
        let PullAccess { secrets, mirrors } = PullAccess::read(&self.client).await?;
        let options = config.options(secrets)?;
        Ok(self.sources(mirrors, options))
    }

    fn sources(&self, mirrors: Mirrors, options: PullOptions) -> ImageSources {
        let layouts = self.layouts.clone();
        ImageSources { layouts, mirrors, options, ..ImageSources::default() }
    }

    async fn verify(
        &self,
        digest: &Digest,
        pull_context: &PullContext,
        options: &PullOptions,
    ) -> Result<(), String> {
        let verifier = self.verifier.as_ref().map_err(Clone::clone)?;
        let cluster = pull_context.signatures.iter().map(|signature| ClusterSignature {
            config_map: &signature.config_map,
            key: &signature.key,
            signature: &signature.bytes,
        });
        let stores = pull_context.stores.as_ref();
        let stores =
            stores.map(|stores| stores.iter().map(SignatureStoreConfig::address).collect());
        let sources = SignatureSources {
            cluster: cluster.collect(),
            stores,
            options,
            timeout: SIGNATURE_STORES_TIMEOUT,
        };
        let searched = verifier.verify(digest, &sources, fairway_clock::now()).await;
        searched.map(drop).map_err(|unverified| unverified.to_string())
    }
}

fn verifier(own: &Release) -> Result<Verifier, String> {
    let no_policy = "the running release has no valid signature policy";
    match Verification::from_manifests(&own.manifests) {
        Ok(Some(verification)) => Verifier::new(&verification)
            .map_err(|error| format!("{no_policy}: {}", crate::text::chain(&error))),
        Ok(None) => Err(format!(
            "{no_policy}: no ConfigMap has the annotation \
             release.openshift.io/verification-config-map"
        )),
        Err(error) => Err(error.to_string()),
    }
}
