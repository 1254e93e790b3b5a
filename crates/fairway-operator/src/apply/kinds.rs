//! Which kinds the API server has.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::Client;
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::error::ApplyError;
use super::request::within_time;
use crate::clock;

/// A kind that comes with a release is listed a moment after its definition is established. All
/// that wait for kinds of one group ask together, and no more often than this.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// How often a missing kind is looked for again before that is an error: a second in all.
const LOOKS: usize = 4;

/// A kind that the API server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) resource: ApiResource,
    pub(super) namespaced: bool,
}

/// The kinds of the API server, found once; one that is missing is looked for again.
pub(super) struct Kinds {
    client: Client,
    /// By group and version.
    found: Mutex<BTreeMap<String, Found>>,
}

enum Look {
    Found(Kind),
    Missing { again: Instant },
}

struct Found {
    at: Instant,
    kinds: BTreeMap<String, Kind>,
}

impl Kinds {
    pub(super) fn new(client: Client) -> Self {
        Self { client, found: Mutex::default() }
    }

    /// A kind, from memory or from the API server.
    pub(super) async fn find(&self, wanted: &GroupVersionKind) -> Result<Kind, ApplyError> {
        for _ in 0..LOOKS {
            let wait = match self.look(wanted).await? {
                Look::Found(kind) => return Ok(kind),
                Look::Missing { again } => again,
            };
            clock::sleep_until(Some(wait)).await;
        }
        match self.look(wanted).await? {
            Look::Found(kind) => Ok(kind),
            Look::Missing { .. } => Err(ApplyError::UnknownKind(wanted.clone())),
        }
    }

    /// Looks into memory, and asks the API server if that was not done just now. Whoever asks
    /// meanwhile waits for the same answer.
    async fn look(&self, wanted: &GroupVersionKind) -> Result<Look, ApplyError> {
        let mut all = self.found.lock().await;
        let api_version = wanted.api_version();
        if let Some(found) = all.get(&api_version) {
            if let Some(kind) = found.kinds.get(&wanted.kind) {
                return Ok(Look::Found(kind.clone()));
            }
            let again = found.at + LOOK_AGAIN;
            if Instant::now() < again {
                return Ok(Look::Missing { again });
            }
        }
        let kinds = self.ask(wanted).await?;
        let at = Instant::now();
        let kind = kinds.get(&wanted.kind).cloned();
        all.insert(api_version, Found { at, kinds });
        Ok(kind.map_or(Look::Missing { again: at + LOOK_AGAIN }, Look::Found))
    }

    async fn ask(&self, wanted: &GroupVersionKind) -> Result<BTreeMap<String, Kind>, ApplyError> {
        let api_version = wanted.api_version();
        let answer = within_time(async {
            if wanted.group.is_empty() {
                self.client.list_core_api_resources(&wanted.version).await
            } else {
                self.client.list_api_group_resources(&api_version).await
            }
        });
        match answer.await {
            Ok(list) => Ok(kinds(&wanted.group, &wanted.version, list)),
            Err(ApplyError::Api(kube::Error::Api(status))) if status.code == 404 => {
                Ok(BTreeMap::new())
            }
            Err(error) => Err(error),
        }
    }
}

fn kinds(group: &str, version: &str, list: APIResourceList) -> BTreeMap<String, Kind> {
    // What has a slash in its name is a part of a resource.
    let whole = list.resources.into_iter().filter(|resource| !resource.name.contains('/'));
    whole
        .map(|resource| {
            let wanted = GroupVersionKind::gvk(group, version, &resource.kind);
            let kind = Kind {
                resource: ApiResource::from_gvk_with_plural(&wanted, &resource.name),
                namespaced: resource.namespaced,
            };
            (resource.kind, kind)
        })
        .collect()
}
