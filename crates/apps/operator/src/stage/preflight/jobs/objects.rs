//! Creation and removal of the objects of checks.

use std::fmt;

use fairway_findings::kinds::{CheckObjectKind, KINDS, PODS};
use fairway_findings::{labels, vet};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::discovery::ApiResource;
use kube::{Api, ResourceExt as _};
use serde_json::Value;

use crate::stage::preflight::writer::{FIELD_MANAGER, PreflightWriter, RequestError, in_time};
use crate::text;

/// Why an object was not created or removed.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// The request failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// An object of another owner has the same name.
    #[error("{0} already exists and does not belong to this run")]
    Taken(ObjectKey),
    /// Not a kind of object that checks may have.
    #[error("the object does not belong to a check")]
    Unknown,
}

impl ObjectError {
    /// Message of a permanent refusal; `None` if a retry may succeed.
    pub(super) fn refusal(&self) -> Option<String> {
        match self {
            Self::Request(RequestError::Failed(kube::Error::Api(status)))
                if status.code < 500 && status.code != 429 =>
            {
                Some(text::one_line(&status.message))
            }
            Self::Taken(_) | Self::Unknown => Some(self.to_string()),
            Self::Request(_) => None,
        }
    }
}

/// Identity of an object.
#[derive(Clone, Debug)]
pub struct ObjectKey {
    resource: ApiResource,
    /// Empty for cluster-scoped objects.
    namespace: String,
    name: String,
}

impl ObjectKey {
    fn from_value(value: &Value) -> Option<Self> {
        let kind = CheckObjectKind::of_object(value)?;
        let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default().to_owned();
        Some(Self { resource: resource(kind), namespace: text("namespace"), name: text("name") })
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, namespace, name } = self;
        match namespace.as_str() {
            "" => write!(f, "{} {name}", resource.kind),
            namespace => write!(f, "{} {name} in {namespace}", resource.kind),
        }
    }
}

fn resource(CheckObjectKind { group, kind, plural, .. }: &CheckObjectKind) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural)
}

impl PreflightWriter {
    /// Creates an object, or adopts one that this run created before.
    pub(super) async fn create_object(
        &self,
        value: Value,
        run: &str,
    ) -> Result<ObjectKey, ObjectError> {
        let object = ObjectKey::from_value(&value).ok_or(ObjectError::Unknown)?;
        let manifest: DynamicObject =
            serde_json::from_value(value).map_err(|_| ObjectError::Unknown)?;
        let api = self.api(&object);
        let parameters = PostParams::default();
        match self.write(api.create(&parameters, &manifest)).await {
            Err(error) if error.code() == Some(409) => {
                let found = in_time(api.get_metadata_opt(&object.name)).await?;
                let is_ours = |found: &PartialObjectMeta<_>| {
                    found.labels().get(labels::RUN).is_some_and(|label| label == run)
                };
                let is_ours = found.is_some_and(|found| is_ours(&found));
                if is_ours { Ok(object) } else { Err(ObjectError::Taken(object)) }
            }
            created => created.map(|_| object).map_err(Into::into),
        }
    }

    /// Applies a Secret in the namespace of checks.
    pub(super) async fn apply_secret(&self, secret: &Secret) -> Result<(), RequestError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), vet::NAMESPACE);
        let (name, parameters) = (secret.name_any(), PatchParams::apply(FIELD_MANAGER).force());
        self.write(secrets.patch(&name, &parameters, &Patch::Apply(secret))).await.map(drop)
    }

    /// Deletes an object and, in the background, its dependents.
    pub(super) async fn remove_object(&self, object: &ObjectKey) -> Result<(), RequestError> {
        let parameters = DeleteParams::background();
        match self.write(self.api(object).delete(&object.name, &parameters)).await {
            Err(error) if error.code() == Some(404) => Ok(()),
            removed => removed.map(drop),
        }
    }

    /// Deletes all objects that match a selector. Returns how many existed, including Pods.
    pub(super) async fn remove_objects(&self, selector: &str) -> Result<usize, RequestError> {
        let labelled = ListParams::default().labels(selector);
        let mut found = 0;
        for kind in &KINDS {
            let resource = resource(kind);
            for object in in_time(self.all(kind).list_metadata(&labelled)).await?.items {
                found += 1;
                let namespace = object.namespace().unwrap_or_default();
                let (resource, name) = (resource.clone(), object.name_any());
                self.remove_object(&ObjectKey { resource, namespace, name }).await?;
            }
        }
        let pods = in_time(self.all(&PODS).list_metadata(&labelled)).await?;
        Ok(found + pods.items.len())
    }

    fn all(&self, kind: &CheckObjectKind) -> Api<DynamicObject> {
        let (client, resource) = (self.client.clone(), resource(kind));
        if kind.in_check_namespace {
            Api::namespaced_with(client, vet::NAMESPACE, &resource)
        } else {
            Api::all_with(client, &resource)
        }
    }

    fn api(&self, object: &ObjectKey) -> Api<DynamicObject> {
        let ObjectKey { resource, namespace, .. } = object;
        match namespace.as_str() {
            "" => Api::all_with(self.client.clone(), resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, resource),
        }
    }
}
