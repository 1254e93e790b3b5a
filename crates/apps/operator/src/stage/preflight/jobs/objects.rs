//! Objects that exist for a check: created, and removed.

use std::fmt;
use std::time::Duration;

use fairway_findings::kinds::{KINDS, Kind, PODS};
use fairway_findings::{labels, vet};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::discovery::ApiResource;
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;
use tokio::time::timeout;

use crate::election::Leadership;
use crate::stage::preflight::pull_secret;
use crate::text;

/// How long the API server may take for one request.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who the fields belong to that are applied here.
const OWNER: &str = "fairway-preflight";

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// It took too long.
    #[error("request to the API server timed out after {} seconds", PATIENCE.as_secs())]
    TooSlow,
    /// The API server did not do it.
    #[error("request to the API server failed")]
    Refused(#[from] kube::Error),
    /// Somebody else has something of that name.
    #[error("{0} already exists and does not belong to this run")]
    Taken(Object),
    /// It is nothing that exists for a check.
    #[error("not an object of a check")]
    Unknown,
}

impl ObjectError {
    /// What the API server says against it; nothing where it may do it another time.
    pub(super) fn refusal(&self) -> Option<String> {
        match self {
            Self::Refused(kube::Error::Api(status)) if status.code < 500 && status.code != 429 => {
                Some(text::one_line(&status.message))
            }
            Self::Taken(_) | Self::Unknown => Some(self.to_string()),
            _ => None,
        }
    }
}

/// Which object.
#[derive(Clone, Debug)]
pub struct Object {
    resource: ApiResource,
    /// Empty where it has none.
    namespace: String,
    name: String,
}

impl Object {
    fn of(value: &Value) -> Option<Self> {
        let kind = Kind::of(value)?;
        let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default().to_owned();
        Some(Self { resource: resource(kind), namespace: text("namespace"), name: text("name") })
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, namespace, name } = self;
        match namespace.as_str() {
            "" => write!(f, "{} {name}", resource.kind),
            namespace => write!(f, "{} {name} in {namespace}", resource.kind),
        }
    }
}

fn resource(Kind { group, kind, plural, .. }: &Kind) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural)
}

/// The hands with which they are created and removed.
#[derive(Clone)]
pub(super) struct Objects {
    client: Client,
    leadership: Leadership,
}

impl Objects {
    pub(super) fn new(client: Client, leadership: Leadership) -> Self {
        Self { client, leadership }
    }

    /// Creates an object; one that this run has created before will do.
    pub(super) async fn create(&self, value: Value, run: &str) -> Result<Object, ObjectError> {
        let object = Object::of(&value).ok_or(ObjectError::Unknown)?;
        let wanted: DynamicObject =
            serde_json::from_value(value).map_err(|_| ObjectError::Unknown)?;
        let api = self.api(&object);
        let parameters = PostParams::default();
        match self.write(api.create(&parameters, &wanted)).await {
            Err(ObjectError::Refused(kube::Error::Api(status))) if status.code == 409 => {
                let found = in_time(api.get_metadata_opt(&object.name)).await?;
                let is_ours = |found: &PartialObjectMeta<_>| {
                    found.labels().get(labels::RUN).is_some_and(|label| label == run)
                };
                let is_ours = found.is_some_and(|found| is_ours(&found));
                if is_ours { Ok(object) } else { Err(ObjectError::Taken(object)) }
            }
            created => created.map(|_| object),
        }
    }

    /// Brings a Secret to where checks run, as it is now.
    pub(super) async fn bring(&self, secret: &Secret) -> Result<(), ObjectError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), vet::NAMESPACE);
        let (name, parameters) = (secret.name_any(), PatchParams::apply(OWNER).force());
        self.write(secrets.patch(&name, &parameters, &Patch::Apply(secret))).await.map(drop)
    }

    /// Who the cluster is for registries.
    pub(super) async fn pull_secret(&self) -> Result<Option<ByteString>, ObjectError> {
        in_time(pull_secret::of_cluster(&self.client)).await
    }

    /// Removes an object, and what it has made.
    pub(super) async fn remove(&self, object: &Object) -> Result<(), ObjectError> {
        let parameters = DeleteParams::background();
        match self.write(self.api(object).delete(&object.name, &parameters)).await {
            Err(ObjectError::Refused(kube::Error::Api(status))) if status.code == 404 => Ok(()),
            removed => removed.map(drop),
        }
    }

    /// Removes everything with those labels. How much of it there was, with Pods that are left.
    pub(super) async fn remove_all(&self, selector: &str) -> Result<usize, ObjectError> {
        let labelled = ListParams::default().labels(selector);
        let mut found = 0;
        for kind in &KINDS {
            let resource = resource(kind);
            for object in in_time(self.all(kind).list_metadata(&labelled)).await?.items {
                found += 1;
                let namespace = object.namespace().unwrap_or_default();
                let (resource, name) = (resource.clone(), object.name_any());
                self.remove(&Object { resource, namespace, name }).await?;
            }
        }
        let pods = in_time(self.all(&PODS).list_metadata(&labelled)).await?;
        Ok(found + pods.items.len())
    }

    fn all(&self, kind: &Kind) -> Api<DynamicObject> {
        let (client, resource) = (self.client.clone(), resource(kind));
        if kind.of_checks_alone {
            Api::namespaced_with(client, vet::NAMESPACE, &resource)
        } else {
            Api::all_with(client, &resource)
        }
    }

    fn api(&self, object: &Object) -> Api<DynamicObject> {
        let Object { resource, namespace, .. } = object;
        match namespace.as_str() {
            "" => Api::all_with(self.client.clone(), resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, resource),
        }
    }

    /// Writes for as long as this operator leads. Who leads no more is dropped by the election, and
    /// until then writes nothing.
    async fn write<T>(
        &self,
        write: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, ObjectError> {
        match self.leadership.write(in_time(write)).await {
            Ok(written) => written,
            Err(_) => std::future::pending().await,
        }
    }
}

async fn in_time<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, ObjectError> {
    Ok(timeout(PATIENCE, request).await.map_err(|_| ObjectError::TooSlow)??)
}
