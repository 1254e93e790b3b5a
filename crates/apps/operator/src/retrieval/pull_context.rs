//! Configuration of a cluster for image pulls: pull secret, mirrors, signatures and signature stores.
//! The operator reads it once for each fetch, because an idle operator sends no requests.

use std::fmt::Debug;
use std::time::Duration;

use fairway_api::cluster_version::SignatureStore;
use fairway_registry::Digest;
use fairway_registry::mirrors::Mirrors;
use fairway_registry::pull::{PullSecrets, SecretsError};
use fairway_registry::signature::StoreAddress;
use futures::try_join;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

/// Pull secret: namespace, Secret and key.
const PULL_SECRET: (&str, &str, &str) = ("openshift-config", "pull-secret", ".dockerconfigjson");

/// Namespace of signatures, and the label of the `ConfigMaps` that have them.
const SIGNATURES: (&str, &str) =
    ("openshift-config-managed", "release.openshift.io/verification-signatures");

/// Namespace of the CA bundles of signature stores, and their key.
const CA_BUNDLES: (&str, &str) = ("openshift-config", "ca.crt");

/// Kinds that configure mirrors.
const MIRRORS: [(&str, &str, &str, &str); 2] = [
    ("config.openshift.io", "v1", "ImageDigestMirrorSet", "imagedigestmirrorsets"),
    ("operator.openshift.io", "v1alpha1", "ImageContentSourcePolicy", "imagecontentsourcepolicies"),
];

/// Page size of lists, the same as that of client-go.
const PAGE_SIZE: u32 = 500;

/// Maximum objects of one kind. Clusters have a few mirrors; a cluster that keeps the signatures of
/// all releases has some thousand `ConfigMaps`.
const MAX_OBJECTS: usize = 10_000;

/// Timeout of all requests together.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Cluster configuration for a pull.
pub(crate) struct PullContext {
    pub(crate) secrets: PullSecrets,
    pub(crate) mirrors: Mirrors,
    pub(crate) signatures: Vec<Signature>,
    pub(crate) stores: Option<Vec<SignatureStoreConfig>>,
}

/// A signature of the release image, from a ConfigMap.
pub(crate) struct Signature {
    pub(crate) config_map: String,
    pub(crate) key: String,
    pub(crate) bytes: Vec<u8>,
}

/// A signature store of `spec.signatureStores`.
pub(crate) struct SignatureStoreConfig {
    pub(crate) url: String,
    pub(crate) ca_bundle: Vec<u8>,
}

impl SignatureStoreConfig {
    pub(crate) fn address(&self) -> StoreAddress<'_> {
        StoreAddress { url: &self.url, ca_bundle: &self.ca_bundle }
    }
}

/// Errors while reading the configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PullContextError {
    #[error("cannot read {what}")]
    Unreadable { what: &'static str, source: kube::Error },
    #[error("cannot parse Secret openshift-config/pull-secret")]
    Secret(#[from] SecretsError),
    #[error("ConfigMap openshift-config/{name} of spec.signatureStores has no key ca.crt; add it")]
    NoCaBundle { name: String },
    #[error(
        "cannot read pull secret, mirrors and signatures: timed out after {} seconds",
        REQUEST_TIMEOUT.as_secs()
    )]
    TimedOut,
}

/// Credentials and mirrors of the cluster for image pulls.
pub(crate) struct PullAccess {
    pub(crate) secrets: PullSecrets,
    pub(crate) mirrors: Mirrors,
}

impl PullAccess {
    /// Reads the configuration from the API server.
    pub(crate) async fn read(client: &Client) -> Result<Self, PullContextError> {
        let inputs = async { try_join!(secrets(client), mirrors(client)) };
        let inputs =
            timeout(REQUEST_TIMEOUT, inputs).await.map_err(|_| PullContextError::TimedOut)?;
        inputs.map(|(secrets, mirrors)| Self { secrets, mirrors })
    }
}

impl PullContext {
    /// Reads the configuration from the API server.
    pub(crate) async fn read(
        client: &Client,
        image: &Digest,
        stores: Option<&[SignatureStore]>,
    ) -> Result<Self, PullContextError> {
        let inputs = async {
            try_join!(
                secrets(client),
                mirrors(client),
                signatures(client, image),
                named_stores(client, stores)
            )
        };
        let inputs =
            timeout(REQUEST_TIMEOUT, inputs).await.map_err(|_| PullContextError::TimedOut)?;
        let (secrets, mirrors, signatures, stores) = inputs?;
        Ok(Self { secrets, mirrors, signatures, stores })
    }
}

fn unreadable(what: &'static str) -> impl Fn(kube::Error) -> PullContextError {
    move |source| PullContextError::Unreadable { what, source }
}

/// Calls a function for each object of a kind, page by page to limit memory.
async fn each<K>(api: &Api<K>, mut params: ListParams, mut take: impl FnMut(K)) -> kube::Result<()>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let mut seen = 0;
    loop {
        let page = api.list(&params.clone().limit(PAGE_SIZE)).await?;
        seen += page.items.len();
        page.items.into_iter().for_each(&mut take);
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            return Ok(());
        }
        if seen >= MAX_OBJECTS {
            let (path, limit) = (api.resource_url(), MAX_OBJECTS);
            tracing::warn!(path, limit, "object limit reached; further objects ignored");
            return Ok(());
        }
    }
}

async fn secrets(client: &Client) -> Result<PullSecrets, PullContextError> {
    let (namespace, name, key) = PULL_SECRET;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let what = unreadable("Secret openshift-config/pull-secret");
    let data = secrets.get_opt(name).await.map_err(what)?.and_then(|secret| secret.data);
    match data.and_then(|mut data| data.remove(key)) {
        Some(bytes) => Ok(PullSecrets::parse(&bytes.0)?),
        None => Ok(PullSecrets::default()),
    }
}

async fn mirrors(client: &Client) -> Result<Mirrors, PullContextError> {
    let mut objects = Vec::new();
    for (group, version, kind, plural) in MIRRORS {
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        match each(&api, ListParams::default(), |object| objects.push(object)).await {
            Ok(()) => {}
            // Platforms without these kinds answer 404.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(unreadable("image mirrors")(error)),
        }
    }
    let objects = objects.iter().filter_map(|object| serde_json::to_value(object).ok());
    let objects: Vec<serde_json::Value> = objects.collect();
    let (mirrors, problems) = Mirrors::read(&objects);
    for problem in problems {
        tracing::warn!(error = %problem, "invalid mirror entry ignored");
    }
    Ok(mirrors)
}

async fn signatures(client: &Client, image: &Digest) -> Result<Vec<Signature>, PullContextError> {
    let (namespace, label) = SIGNATURES;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let beginning = format!("sha256-{}", image.hex());
    let mut found = Vec::new();
    let take = |mut map: ConfigMap| {
        let (data, config_map) = (map.binary_data.take().unwrap_or_default(), map.name_any());
        let of_image = data.into_iter().filter(|(key, _)| key.starts_with(&beginning));
        found.extend(of_image.map(|(key, bytes)| Signature {
            config_map: config_map.clone(),
            key,
            bytes: bytes.0,
        }));
    };
    let listed = each(&maps, ListParams::default().labels(label), take).await;
    listed.map_err(unreadable("release signatures"))?;
    Ok(found)
}

async fn named_stores(
    client: &Client,
    stores: Option<&[SignatureStore]>,
) -> Result<Option<Vec<SignatureStoreConfig>>, PullContextError> {
    let Some(stores) = stores else { return Ok(None) };
    let (namespace, key) = CA_BUNDLES;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let mut named = Vec::new();
    for SignatureStore { url, ca, .. } in stores.iter().take(fairway_api::limits::SIGNATURE_STORES)
    {
        let ca_bundle = match ca.as_ref().map(|ca| &ca.name).filter(|name| !name.is_empty()) {
            None => String::new(),
            Some(name) => {
                let what = unreadable("the CA bundle of a signature store");
                let data = maps.get_opt(name).await.map_err(what)?.and_then(|map| map.data);
                data.and_then(|mut data| data.remove(key))
                    .ok_or_else(|| PullContextError::NoCaBundle { name: name.clone() })?
            }
        };
        named.push(SignatureStoreConfig { url: url.clone(), ca_bundle: ca_bundle.into_bytes() });
    }
    Ok(Some(named))
}
