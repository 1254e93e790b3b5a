//! Typed client for the cluster's own components, without a network.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, Resource as Kind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    Api, ApiRequest, ApiResponse, ApiResult, PatchType, QueryParams, RequestBody, StatusError,
};
use crate::catalog::{Resource, Subresource, Verb};
use crate::rbac::User;
use crate::store::Watcher;

/// A client of the API for one component. Clones share the API.
#[derive(Clone)]
pub struct Client {
    api: Api,
    user: User,
}

/// A built-in kind with `ObjectMeta`.
pub trait Object:
    Kind + Metadata<Ty = ObjectMeta> + Serialize + DeserializeOwned + Clone + Send + Sync
{
}

impl<K> Object for K where
    K: Kind + Metadata<Ty = ObjectMeta> + Serialize + DeserializeOwned + Clone + Send + Sync
{
}

/// Propagation policy of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents stay.
    Orphan,
    /// Dependents are deleted afterwards.
    Background,
    /// Dependents are deleted first.
    Foreground,
}

impl Propagation {
    /// The value of `propagationPolicy`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Orphan => "Orphan",
            Self::Background => "Background",
            Self::Foreground => "Foreground",
        }
    }
}

impl Client {
    pub(super) fn new(api: Api, component: &str) -> Self {
        let groups = ["system:masters", "system:authenticated"];
        let user = User {
            name: component.to_owned(),
            groups: groups.into_iter().map(str::to_owned).collect(),
        };
        Self { api, user }
    }

    /// The API.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// The object, or `None` if it does not exist. The namespace of cluster-scoped kinds is empty.
    pub fn get<K: Object>(&self, namespace: &str, name: &str) -> ApiResult<Option<K>> {
        let request = self.request::<K>(Verb::Get, namespace, Some(name))?;
        match self.api.handle(&request) {
            Ok(response) => typed(response).map(Some),
            Err(error) if error.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The objects of a namespace; all objects if it is empty.
    pub fn list<K: Object>(&self, namespace: &str) -> ApiResult<Vec<K>> {
        match self.api.handle(&self.request::<K>(Verb::List, namespace, None)?)? {
            ApiResponse::List(list) => list.items.iter().map(|object| read(object)).collect(),
            other => Err(unexpected(&other)),
        }
    }

    /// Watches a kind in all namespaces, starting with its current objects.
    pub fn watch<K: Object>(&self) -> ApiResult<Watcher> {
        let mut request = self.request::<K>(Verb::Watch, "", None)?;
        request.query = QueryParams::default().with("watch", "true");
        match self.api.handle(&request)? {
            ApiResponse::Watch(watcher) => Ok(watcher),
            other => Err(unexpected(&other)),
        }
    }

    /// Creates an object.
    pub fn create<K: Object>(&self, object: &K) -> ApiResult<K> {
        let namespace = object.metadata().namespace.clone().unwrap_or_default();
        let mut request = self.request::<K>(Verb::Create, &namespace, None)?;
        request.body = RequestBody::Object(json!(object));
        typed(self.api.handle(&request)?)
    }

    /// Creates an object of any served kind.
    pub fn create_any(&self, object: Value) -> ApiResult<Arc<Value>> {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (group, _) = text("/apiVersion").split_once('/').unwrap_or_default();
        let resource = self.served(group, text("/kind"))?;
        let namespace = Some(text("/metadata/namespace").to_owned());
        let request = ApiRequest {
            namespace: namespace.filter(|_| resource.namespaced),
            body: RequestBody::Object(object),
            ..self.new_request(resource, Verb::Create)
        };
        match self.api.handle(&request)? {
            ApiResponse::Object { object, .. } => Ok(object),
            other => Err(unexpected(&other)),
        }
    }

    /// Replaces an object. A stale resource version is a conflict.
    pub fn update<K: Object>(&self, object: &K) -> ApiResult<K> {
        self.put(object, None)
    }

    /// Replaces the status of an object.
    pub fn update_status<K: Object>(&self, object: &K) -> ApiResult<K> {
        self.put(object, Some(Subresource::Status))
    }

    /// Applies a merge patch to an object.
    pub fn merge<K: Object>(&self, namespace: &str, name: &str, patch: Value) -> ApiResult<K> {
        let mut request = self.request::<K>(Verb::Patch, namespace, Some(name))?;
        request.body = RequestBody::Patch(PatchType::Merge, patch);
        typed(self.api.handle(&request)?)
    }

    /// Deletes an object. A missing object is not an error.
    pub fn delete<K: Object>(&self, object: &K, propagation: Propagation) -> ApiResult<()> {
        self.delete_with(object, json!({ "propagationPolicy": propagation.as_str() }))
    }

    /// Deletes an object with a grace period of 0. A missing object is not an error.
    pub fn delete_now<K: Object>(&self, object: &K) -> ApiResult<()> {
        self.delete_with(object, json!({ "gracePeriodSeconds": 0 }))
    }

    /// Deletes an object with these options and its UID as precondition.
    fn delete_with<K: Object>(&self, object: &K, mut options: Value) -> ApiResult<()> {
        let metadata = object.metadata();
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let mut request = self.request::<K>(Verb::Delete, namespace, metadata.name.as_deref())?;
        options["preconditions"] = json!({ "uid": metadata.uid });
        request.body = RequestBody::Object(options);
        match self.api.handle(&request) {
            Err(error) if error.code != 404 => Err(error),
            _ => Ok(()),
        }
    }

    fn put<K: Object>(&self, object: &K, subresource: Option<Subresource>) -> ApiResult<K> {
        let metadata = object.metadata();
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let mut request = self.request::<K>(Verb::Update, namespace, metadata.name.as_deref())?;
        request.subresource = subresource;
        request.body = RequestBody::Object(json!(object));
        typed(self.api.handle(&request)?)
    }

    fn request<K: Object>(
        &self,
        verb: Verb,
        namespace: &str,
        name: Option<&str>,
    ) -> ApiResult<ApiRequest> {
        let resource = self.served(K::GROUP, K::KIND)?;
        let namespaced = resource.namespaced && !namespace.is_empty();
        Ok(ApiRequest {
            namespace: namespaced.then(|| namespace.to_owned()),
            name: name.map(str::to_owned),
            ..self.new_request(resource, verb)
        })
    }

    fn new_request(&self, resource: Arc<Resource>, verb: Verb) -> ApiRequest {
        ApiRequest {
            user: self.user.clone(),
            user_agent: self.user.name.clone(),
            resource,
            namespace: None,
            name: None,
            subresource: None,
            verb,
            query: QueryParams::default(),
            body: RequestBody::None,
        }
    }

    fn served(&self, group: &str, kind: &str) -> ApiResult<Arc<Resource>> {
        let found = self.api.catalog().kind(group, kind).cloned();
        found.ok_or_else(|| StatusError::internal(format!("{kind} is not served")))
    }
}

fn typed<K: Object>(response: ApiResponse) -> ApiResult<K> {
    match response {
        ApiResponse::Object { object, .. } => read(&object),
        other => Err(unexpected(&other)),
    }
}

fn read<K: Object>(object: &Value) -> ApiResult<K> {
    K::deserialize(object).map_err(StatusError::internal)
}

fn unexpected(response: &ApiResponse) -> StatusError {
    StatusError::internal(format!("unexpected reply: {response:?}"))
}
