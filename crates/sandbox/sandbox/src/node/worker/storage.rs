//! The volumes of a pod on disk.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    ConfigMap, Pod, Secret, ServiceAccount, ServiceAccountTokenProjection, Volume,
};

use super::{Context, REFRESH, Worker};
use crate::api::Client;
use crate::node::environment::Lookup;
use crate::node::volumes::{Planner, TokenSource, VolumePlan, place_host_path, plan, write_files};
use crate::token::{ClusterClaims, Named};

/// After a failure it is tried again soon, and then less often: a kubelet's figures.
const FIRST_RETRY: SignedDuration = SignedDuration::from_millis(500);
const LONGEST_RETRY: SignedDuration = SignedDuration::from_secs(122);
/// A token's, unless the pod says otherwise.
const DEFAULT_LIFETIME: i64 = 3600;

/// Where every namespace has the certificate of the API server.
const CA_CONFIG_MAP: &str = "kube-root-ca.crt";

/// Where the volumes of a pod are.
pub(super) struct Storage {
    directory: PathBuf,
    host: PathBuf,
    /// Where each volume is, once they are there.
    pub(super) places: BTreeMap<String, PathBuf>,
    is_ready: bool,
    next: Option<Timestamp>,
    delay: SignedDuration,
    /// Tokens by what they were asked for, and when they have to be renewed.
    tokens: Mutex<BTreeMap<String, (String, Timestamp)>>,
}

impl Storage {
    pub(super) fn new(directory: PathBuf, host: PathBuf) -> Self {
        Self {
            directory,
            host,
            places: BTreeMap::new(),
            is_ready: false,
            next: None,
            delay: FIRST_RETRY,
            tokens: Mutex::default(),
        }
    }
}

impl Worker {
    /// Makes the volumes, or brings them up to date; whether they are there.
    pub(super) fn prepare_storage(&mut self, now: Timestamp) -> bool {
        if let Some(next) = self.storage.next.filter(|next| *next > now) {
            self.wake_at(next);
            return self.storage.is_ready;
        }
        let pod = std::sync::Arc::clone(&self.pod);
        let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        for volume in volumes {
            if let Err(why) = self.prepare_volume(&pod, volume, now) {
                let message =
                    format!("MountVolume.SetUp failed for volume {:?} : {why}", volume.name);
                self.events.warning("", "FailedMount", &message);
                let delay = self.storage.delay;
                self.storage.delay = (delay * 2).min(LONGEST_RETRY);
                self.storage.next = now.saturating_add(delay).ok();
                self.wake_at(now.saturating_add(delay).unwrap_or(now));
                return self.storage.is_ready;
            }
        }
        self.storage.is_ready = true;
        self.storage.next = now.saturating_add(REFRESH).ok();
        true
    }

    fn prepare_volume(&mut self, pod: &Pod, volume: &Volume, now: Timestamp) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        let lookup = Objects::of(&self.context, pod);
        let tokens = Minter { context: &self.context, pod, storage: &self.storage, now };
        let planned = plan(&Planner { pod, lookup: &lookup, tokens: &tokens }, volume)?;
        let directory = self.storage.directory.join(&volume.name);
        let place = match planned {
            VolumePlan::Empty => {
                fs::create_dir_all(&directory).map_err(failed)?;
                // For whoever the containers run as.
                fs::set_permissions(&directory, Permissions::from_mode(0o777)).map_err(failed)?;
                directory
            }
            VolumePlan::Host { path, kind } => {
                fs::create_dir_all(&self.storage.host).map_err(failed)?;
                place_host_path(&self.storage.host, &path, &kind)?
            }
            VolumePlan::Files(files) => {
                let generation = format!("{:x}", now.as_nanosecond());
                write_files(&directory, &files, &generation).map_err(failed)?;
                directory
            }
        };
        self.storage.places.insert(volume.name.clone(), place);
        Ok(())
    }
}

/// What a pod refers to.
pub(super) struct Objects {
    client: Client,
    namespace: String,
    ca: String,
}

impl Objects {
    pub(super) fn of(context: &Context, pod: &Pod) -> Self {
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        Self { client: context.client.clone(), namespace, ca: context.options.ca.clone() }
    }
}

impl Lookup for Objects {
    fn config_map(&self, name: &str) -> Option<ConfigMap> {
        let found = self.client.get(&self.namespace, name).ok().flatten();
        // A pod may be faster than whoever publishes the certificate in a new namespace.
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

/// Makes tokens, and keeps them until most of their time is over.
struct Minter<'a> {
    context: &'a Context,
    pod: &'a Pod,
    storage: &'a Storage,
    now: Timestamp,
}

impl TokenSource for Minter<'_> {
    fn token(&self, projection: &ServiceAccountTokenProjection) -> Result<String, String> {
        let lifetime = projection.expiration_seconds.unwrap_or(DEFAULT_LIFETIME);
        let audience = projection.audience.clone().unwrap_or_default();
        let key = format!("{lifetime} {audience}");
        let mut tokens = self.storage.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((token, _)) = tokens.get(&key).filter(|(_, renewal)| *renewal > self.now) {
            return Ok(token.clone());
        }
        let audiences = if audience.is_empty() { Vec::new() } else { vec![audience] };
        let issuer = &self.context.options.tokens;
        let token = issuer
            .issue(self.claims()?, audiences, lifetime, self.now)
            .map_err(|error| error.to_string())?;
        // As a kubelet does it: after four fifths of its time.
        let renewal = self.now.saturating_add(SignedDuration::from_secs(lifetime / 5 * 4));
        tokens.insert(key, (token.clone(), renewal.unwrap_or(self.now)));
        Ok(token)
    }
}

impl Minter<'_> {
    fn claims(&self) -> Result<ClusterClaims, String> {
        let metadata = &self.pod.metadata;
        let namespace = metadata.namespace.clone().unwrap_or_default();
        let spec = self.pod.spec.as_ref();
        let name = spec.and_then(|spec| spec.service_account_name.clone());
        let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "default".to_owned());
        let account = self.context.client.get::<ServiceAccount>(&namespace, &name);
        let account = account.map_err(|refusal| refusal.to_string())?;
        let account = account.ok_or_else(|| format!("serviceaccounts {name:?} not found"))?;
        let named = |name: &Option<String>, uid: &Option<String>| Named {
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
