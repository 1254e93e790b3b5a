//! Volumes of a pod on disk.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    ConfigMap, Pod, Secret, ServiceAccount, ServiceAccountTokenProjection, Volume,
};

use super::{NodeContext, PodWorker, VOLUME_REFRESH_INTERVAL};
use crate::api::Client;
use crate::node::environment::ObjectLookup;
use crate::node::files::{resolve_host_path, write_files};
use crate::node::volumes::{TokenSource, VolumePlan, VolumeSources, plan};
use crate::token::{ClusterClaims, ObjectIdentity};

/// Initial and maximum delay of retries, as in the kubelet.
const INITIAL_RETRY_DELAY: SignedDuration = SignedDuration::from_millis(500);
const MAX_RETRY_DELAY: SignedDuration = SignedDuration::from_secs(122);
/// Default lifetime of a projected token.
const DEFAULT_TOKEN_SECONDS: i64 = 3600;

/// ConfigMap with the CA certificate of the API server, in every namespace.
const CA_CONFIG_MAP: &str = "kube-root-ca.crt";

/// Volumes of a pod.
pub(super) struct PodVolumes {
    directory: PathBuf,
    host: PathBuf,
    /// Directory of each volume, once created.
    pub(super) directories: BTreeMap<String, PathBuf>,
    is_ready: bool,
    next: Option<Timestamp>,
    delay: SignedDuration,
    /// Tokens by audience and lifetime, with their renewal times.
    tokens: Mutex<BTreeMap<String, (String, Timestamp)>>,
}

impl PodVolumes {
    pub(super) fn new(directory: PathBuf, host: PathBuf) -> Self {
        Self {
            directory,
            host,
            directories: BTreeMap::new(),
            is_ready: false,
            next: None,
            delay: INITIAL_RETRY_DELAY,
            tokens: Mutex::default(),
        }
    }
}

impl PodWorker {
    /// Creates or updates the volumes; returns whether all exist.
    pub(super) fn prepare_volumes(&mut self, now: Timestamp) -> bool {
        if let Some(next) = self.volumes.next.filter(|next| *next > now) {
            self.wake_at(next);
            return self.volumes.is_ready;
        }
        let pod = std::sync::Arc::clone(&self.pod);
        let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        for volume in volumes {
            if let Err(why) = self.prepare_volume(&pod, volume, now) {
                let message =
                    format!("MountVolume.SetUp failed for volume {:?} : {why}", volume.name);
                self.events.warning("", "FailedMount", &message);
                let delay = self.volumes.delay;
                self.volumes.delay = (delay * 2).min(MAX_RETRY_DELAY);
                self.volumes.next = now.saturating_add(delay).ok();
                self.wake_at(now.saturating_add(delay).unwrap_or(now));
                return self.volumes.is_ready;
            }
        }
        self.volumes.is_ready = true;
        self.volumes.next = now.saturating_add(VOLUME_REFRESH_INTERVAL).ok();
        true
    }

    fn prepare_volume(&mut self, pod: &Pod, volume: &Volume, now: Timestamp) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        let lookup = NamespaceObjects::of(&self.context, pod);
        let tokens = TokenIssuer { context: &self.context, pod, volumes: &self.volumes, now };
        let planned = plan(&VolumeSources { pod, lookup: &lookup, tokens: &tokens }, volume)?;
        let directory = self.volumes.directory.join(&volume.name);
        let directory = match planned {
            VolumePlan::Empty => {
                fs::create_dir_all(&directory).map_err(failed)?;
                // Containers may run as any user.
                fs::set_permissions(&directory, Permissions::from_mode(0o777)).map_err(failed)?;
                directory
            }
            VolumePlan::Host { path, kind } => {
                fs::create_dir_all(&self.volumes.host).map_err(failed)?;
                resolve_host_path(&self.volumes.host, &path, &kind)?
            }
            VolumePlan::Files(files) => {
                let generation = format!("{:x}", now.as_nanosecond());
                write_files(&directory, &files, &generation).map_err(failed)?;
                directory
            }
        };
        self.volumes.directories.insert(volume.name.clone(), directory);
        Ok(())
    }
}

/// `ConfigMaps` and Secrets of a pod's namespace.
pub(super) struct NamespaceObjects {
    client: Client,
    namespace: String,
    ca: String,
}

impl NamespaceObjects {
    pub(super) fn of(context: &NodeContext, pod: &Pod) -> Self {
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        Self { client: context.client.clone(), namespace, ca: context.options.ca.clone() }
    }
}

impl ObjectLookup for NamespaceObjects {
    fn config_map(&self, name: &str) -> Option<ConfigMap> {
        let found = self.client.get(&self.namespace, name).ok().flatten();
        // In a new namespace, a pod may start before the certificate is published.
        found.or_else(|| (name == CA_CONFIG_MAP).then(|| certificate(&self.ca)))
    }

    fn secret(&self, name: &str) -> Option<Secret> {
        self.client.get(&self.namespace, name).ok().flatten()
    }
}

fn certificate(ca: &str) -> ConfigMap {
    let data = [("ca.crt".to_owned(), ca.to_owned())].into();
    ConfigMap { data: Some(data), ..ConfigMap::default() }
}

/// Issues tokens and caches them until their renewal.
struct TokenIssuer<'a> {
    context: &'a NodeContext,
    pod: &'a Pod,
    volumes: &'a PodVolumes,
    now: Timestamp,
}

impl TokenSource for TokenIssuer<'_> {
    fn token(&self, projection: &ServiceAccountTokenProjection) -> Result<String, String> {
        let lifetime = projection.expiration_seconds.unwrap_or(DEFAULT_TOKEN_SECONDS);
        let audience = projection.audience.clone().unwrap_or_default();
        let key = format!("{lifetime} {audience}");
        let mut tokens = self.volumes.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((token, _)) = tokens.get(&key).filter(|(_, renewal)| *renewal > self.now) {
            return Ok(token.clone());
        }
        let audiences = if audience.is_empty() { Vec::new() } else { vec![audience] };
        let issuer = &self.context.options.tokens;
        let token = issuer
            .issue(self.claims()?, audiences, lifetime, self.now)
            .map_err(|error| error.to_string())?;
        // The kubelet renews tokens after 80 % of their lifetime.
        let renewal = self.now.saturating_add(SignedDuration::from_secs(lifetime / 5 * 4));
        tokens.insert(key, (token.clone(), renewal.unwrap_or(self.now)));
        Ok(token)
    }
}

impl TokenIssuer<'_> {
    fn claims(&self) -> Result<ClusterClaims, String> {
        let metadata = &self.pod.metadata;
        let namespace = metadata.namespace.clone().unwrap_or_default();
        let spec = self.pod.spec.as_ref();
        let name = spec.and_then(|spec| spec.service_account_name.clone());
        let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "default".to_owned());
        let account = self.context.client.get::<ServiceAccount>(&namespace, &name);
        let account = account.map_err(|refusal| refusal.to_string())?;
        let account = account.ok_or_else(|| format!("serviceaccounts {name:?} not found"))?;
        let named = |name: &Option<String>, uid: &Option<String>| ObjectIdentity {
            name: name.clone().unwrap_or_default(),
            uid: uid.clone().unwrap_or_default(),
        };
        Ok(ClusterClaims {
            namespace,
            pod: Some(named(&metadata.name, &metadata.uid)),
            secret: None,
            serviceaccount: named(&account.metadata.name, &account.metadata.uid),
        })
    }
}
