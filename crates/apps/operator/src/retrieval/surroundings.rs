//! What the cluster says about images and signatures. It is asked only when a release is to be
//! retrieved: an idle operator asks nobody.

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

/// Who the cluster is, for registries that ask: a namespace, a Secret, and a key of it.
const PULL_SECRET: (&str, &str, &str) = ("openshift-config", "pull-secret", ".dockerconfigjson");

/// Where signatures are, and what marks each `ConfigMap` with some.
const SIGNATURES: (&str, &str) =
    ("openshift-config-managed", "release.openshift.io/verification-signatures");

/// Where the authorities of signature stores are, and under which key.
const AUTHORITIES: (&str, &str) = ("openshift-config", "ca.crt");

/// The kinds that name mirrors.
const MIRRORS: [(&str, &str, &str, &str); 2] = [
    ("config.openshift.io", "v1", "ImageDigestMirrorSet", "imagedigestmirrorsets"),
    ("operator.openshift.io", "v1alpha1", "ImageContentSourcePolicy", "imagecontentsourcepolicies"),
];

/// Objects that are asked for at once, as the API's own clients do.
const PAGE: u32 = 500;

/// Objects of one kind that are looked at; clusters have a handful, and those that keep the signature
/// of every release some thousand.
const MOST_OBJECTS: usize = 10_000;

/// How long the API server may take for all of it.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the cluster says.
pub(crate) struct Surroundings {
    pub(crate) secrets: PullSecrets,
    pub(crate) mirrors: Mirrors,
    pub(crate) signatures: Vec<Signature>,
    pub(crate) stores: Option<Vec<Store>>,
}

/// A signature of the image in question.
pub(crate) struct Signature {
    pub(crate) config_map: String,
    pub(crate) key: String,
    pub(crate) bytes: Vec<u8>,
}

/// A store that the administrator names.
pub(crate) struct Store {
    pub(crate) url: String,
    pub(crate) authorities: Vec<u8>,
}

impl Store {
    pub(crate) fn address(&self) -> StoreAddress<'_> {
        StoreAddress { url: &self.url, authorities: &self.authorities }
    }
}

/// Why the cluster cannot say it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SurroundingsError {
    #[error("cannot read {what}")]
    Unreadable { what: &'static str, source: kube::Error },
    #[error("cannot parse Secret openshift-config/pull-secret")]
    Secret(#[from] SecretsError),
    #[error("ConfigMap openshift-config/{name} of spec.signatureStores has no key ca.crt; add it")]
    NoAuthorities { name: String },
    #[error(
        "cannot read pull secret, mirrors and signatures: timed out after {} seconds",
        PATIENCE.as_secs()
    )]
    TooSlow,
}

impl Surroundings {
    /// Asks the cluster.
    pub(crate) async fn ask(
        client: &Client,
        image: &Digest,
        stores: Option<&[SignatureStore]>,
    ) -> Result<Self, SurroundingsError> {
        let asked = async {
            try_join!(
                secrets(client),
                mirrors(client),
                signatures(client, image),
                named_stores(client, stores)
            )
        };
        let asked = timeout(PATIENCE, asked).await.map_err(|_| SurroundingsError::TooSlow)?;
        let (secrets, mirrors, signatures, stores) = asked?;
        Ok(Self { secrets, mirrors, signatures, stores })
    }
}

fn unreadable(what: &'static str) -> impl Fn(kube::Error) -> SurroundingsError {
    move |source| SurroundingsError::Unreadable { what, source }
}

/// Hands on the objects of a kind, page by page: together they may be large.
async fn each<K>(api: &Api<K>, mut params: ListParams, mut take: impl FnMut(K)) -> kube::Result<()>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let mut seen = 0;
    loop {
        let page = api.list(&params.clone().limit(PAGE)).await?;
        seen += page.items.len();
        page.items.into_iter().for_each(&mut take);
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            return Ok(());
        }
        if seen >= MOST_OBJECTS {
            let (path, limit) = (api.resource_url(), MOST_OBJECTS);
            tracing::warn!(path, limit, "object limit reached; further objects ignored");
            return Ok(());
        }
    }
}

async fn secrets(client: &Client) -> Result<PullSecrets, SurroundingsError> {
    let (namespace, name, key) = PULL_SECRET;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let what = unreadable("Secret openshift-config/pull-secret");
    let data = secrets.get_opt(name).await.map_err(what)?.and_then(|secret| secret.data);
    match data.and_then(|mut data| data.remove(key)) {
        Some(bytes) => Ok(PullSecrets::parse(&bytes.0)?),
        None => Ok(PullSecrets::default()),
    }
}

async fn mirrors(client: &Client) -> Result<Mirrors, SurroundingsError> {
    let mut objects = Vec::new();
    for (group, version, kind, plural) in MIRRORS {
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        match each(&api, ListParams::default(), |object| objects.push(object)).await {
            Ok(()) => {}
            // Many platforms do not have these kinds.
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

async fn signatures(client: &Client, image: &Digest) -> Result<Vec<Signature>, SurroundingsError> {
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
) -> Result<Option<Vec<Store>>, SurroundingsError> {
    let Some(stores) = stores else { return Ok(None) };
    let (namespace, key) = AUTHORITIES;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let mut named = Vec::new();
    for SignatureStore { url, ca, .. } in stores.iter().take(fairway_api::limits::SIGNATURE_STORES)
    {
        let authorities = match ca.as_ref().map(|ca| &ca.name).filter(|name| !name.is_empty()) {
            None => String::new(),
            Some(name) => {
                let what = unreadable("the CA bundle of a signature store");
                let data = maps.get_opt(name).await.map_err(what)?.and_then(|map| map.data);
                data.and_then(|mut data| data.remove(key))
                    .ok_or_else(|| SurroundingsError::NoAuthorities { name: name.clone() })?
            }
        };
        named.push(Store { url: url.clone(), authorities: authorities.into_bytes() });
    }
    Ok(Some(named))
}
