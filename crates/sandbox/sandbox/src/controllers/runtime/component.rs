//! API client of a controller, and keys of objects.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::{
    Api, ApiRequest, ApiResponse, Client, PatchType, Propagation, QueryParams, RequestBody,
    StatusError,
};
use crate::catalog::{Resource, Subresource, Verb};
use crate::rbac::User;
use crate::store::Watcher;

/// An in-process API client of a control-plane component with cluster-admin permissions.
///
/// Objects of types known at compile time go through its [`Client`]; the methods here are for
/// objects of any kind.
#[derive(Clone)]
pub(in crate::controllers) struct Component {
    api: Api,
    client: Client,
    user: User,
}

impl Component {
    /// The component with this user name.
    pub(in crate::controllers) fn new(api: &Api, name: &str) -> Self {
        let groups = ["system:masters", "system:authenticated"];
        let user =
            User { name: name.to_owned(), groups: groups.into_iter().map(str::to_owned).collect() };
        Self { api: api.clone(), client: api.client(name), user }
    }

    /// A controller with a ServiceAccount in `kube-system`.
    pub(in crate::controllers) fn controller(api: &Api, name: &str) -> Self {
        Self::new(api, &format!("system:serviceaccount:kube-system:{name}"))
    }

    pub(in crate::controllers) fn name(&self) -> &str {
        &self.user.name
    }

    pub(in crate::controllers) fn api(&self) -> &Api {
        &self.api
    }

    pub(in crate::controllers) fn client(&self) -> &Client {
        &self.client
    }

    /// Lists selected objects of a type in a namespace, or in all with an empty one. Only selected
    /// objects are deserialized.
    pub(in crate::controllers) fn list_where<K>(
        &self,
        namespace: &str,
        chosen: impl Fn(&Value) -> bool,
    ) -> Result<Vec<K>, StatusError>
    where
        K: k8s_openapi::Resource + DeserializeOwned,
    {
        let resource = self.resource_of::<K>()?;
        let objects = self.list(&resource, namespace)?;
        let chosen = objects.iter().filter(|object| chosen(object));
        chosen.map(|object| K::deserialize(&**object).map_err(StatusError::internal)).collect()
    }

    /// Keys of selected objects of a type in a namespace.
    pub(in crate::controllers) fn list_keys<K: k8s_openapi::Resource>(
        &self,
        namespace: &str,
        chosen: impl Fn(&Value) -> bool,
    ) -> Result<Vec<ObjectKey>, StatusError> {
        let objects = self.list(&self.resource_of::<K>()?, namespace)?;
        let chosen = objects.iter().filter(|object| chosen(object));
        Ok(chosen.map(|object| ObjectKey::of(object)).collect())
    }

    /// All objects of a type, as stored.
    pub(in crate::controllers) fn list_all<K: k8s_openapi::Resource>(
        &self,
    ) -> Result<Vec<Arc<Value>>, StatusError> {
        self.list(&self.resource_of::<K>()?, "")
    }

    fn resource_of<K: k8s_openapi::Resource>(&self) -> Result<Arc<Resource>, StatusError> {
        let found = self.api.catalog().kind(K::GROUP, K::KIND).cloned();
        found.ok_or_else(|| StatusError::internal(format!("{} is not served", K::KIND)))
    }

    /// Lists objects in a namespace, or in all with an empty one.
    pub(in crate::controllers) fn list(
        &self,
        resource: &Arc<Resource>,
        namespace: &str,
    ) -> Result<Vec<Arc<Value>>, StatusError> {
        let call = self.call(resource, Verb::List, namespace, None);
        match self.api.handle(&call)? {
            ApiResponse::List(list) => Ok(list.items),
            other => Err(unexpected(&other)),
        }
    }

    /// Gets an object; `None` if it does not exist.
    pub(in crate::controllers) fn get(
        &self,
        resource: &Arc<Resource>,
        key: &ObjectKey,
    ) -> Result<Option<Arc<Value>>, StatusError> {
        let call = self.call(resource, Verb::Get, &key.namespace, Some(&key.name));
        match self.api.handle(&call) {
            Ok(ApiResponse::Object { object, .. }) => Ok(Some(object)),
            Ok(other) => Err(unexpected(&other)),
            Err(refusal) if refusal.code == 404 => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// Watches a resource, starting with its existing objects.
    pub(in crate::controllers) fn watch(
        &self,
        resource: &Arc<Resource>,
    ) -> Result<Watcher, StatusError> {
        let mut call = self.call(resource, Verb::Watch, "", None);
        call.query = QueryParams::default().with("watch", "true");
        match self.api.handle(&call)? {
            ApiResponse::Watch(watcher) => Ok(watcher),
            other => Err(unexpected(&other)),
        }
    }

    /// Deletes an object with this UID; a missing object is not an error.
    pub(in crate::controllers) fn delete(
        &self,
        resource: &Arc<Resource>,
        key: &ObjectKey,
        uid: &str,
        propagation: Propagation,
    ) -> Result<(), StatusError> {
        let mut call = self.call(resource, Verb::Delete, &key.namespace, Some(&key.name));
        call.body = RequestBody::Object(json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": propagation.as_str(),
            "preconditions": { "uid": uid },
        }));
        match self.api.handle(&call) {
            Err(refusal) if refusal.code != 404 => Err(refusal),
            _ => Ok(()),
        }
    }

    /// Deletes an object with its current UID, unless it is being deleted already.
    pub(in crate::controllers) fn delete_object(
        &self,
        resource: &Arc<Resource>,
        object: &Value,
    ) -> Result<(), StatusError> {
        if object.pointer("/metadata/deletionTimestamp").is_some() {
            return Ok(());
        }
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        self.delete(resource, &ObjectKey::of(object), uid, Propagation::Background)
    }

    /// Sends a merge patch.
    pub(in crate::controllers) fn merge(
        &self,
        resource: &Arc<Resource>,
        key: &ObjectKey,
        patch: Value,
    ) -> Result<(), StatusError> {
        let mut call = self.call(resource, Verb::Patch, &key.namespace, Some(&key.name));
        call.body = RequestBody::Patch(PatchType::Merge, patch);
        self.api.handle(&call).map(|_| ())
    }

    /// Updates a subresource.
    pub(in crate::controllers) fn put(
        &self,
        resource: &Arc<Resource>,
        key: &ObjectKey,
        subresource: Subresource,
        object: Value,
    ) -> Result<(), StatusError> {
        let mut call = self.call(resource, Verb::Update, &key.namespace, Some(&key.name));
        call.subresource = Some(subresource);
        call.body = RequestBody::Object(object);
        self.api.handle(&call).map(|_| ())
    }

    /// Creates a subresource of an object.
    pub(in crate::controllers) fn create_subresource<K: k8s_openapi::Resource>(
        &self,
        key: &ObjectKey,
        subresource: Subresource,
        object: Value,
    ) -> Result<(), StatusError> {
        let resource = self.resource_of::<K>()?;
        let mut call = self.call(&resource, Verb::Create, &key.namespace, Some(&key.name));
        call.subresource = Some(subresource);
        call.body = RequestBody::Object(object);
        self.api.handle(&call).map(|_| ())
    }

    fn call(
        &self,
        resource: &Arc<Resource>,
        verb: Verb,
        namespace: &str,
        name: Option<&str>,
    ) -> ApiRequest {
        let namespaced = resource.namespaced && !namespace.is_empty();
        ApiRequest {
            user: self.user.clone(),
            user_agent: self.user.name.clone(),
            resource: Arc::clone(resource),
            namespace: namespaced.then(|| namespace.to_owned()),
            name: name.map(str::to_owned),
            subresource: None,
            verb,
            query: QueryParams::default(),
            body: RequestBody::None,
        }
    }
}

#[cfg(test)]
impl Component {
    /// Creates an object.
    pub(in crate::controllers) fn create(
        &self,
        resource: &Arc<Resource>,
        object: Value,
    ) -> Result<Value, StatusError> {
        let key = ObjectKey::of(&object);
        let mut call = self.call(resource, Verb::Create, &key.namespace, None);
        call.body = RequestBody::Object(object);
        match self.api.handle(&call)? {
            ApiResponse::Object { object, .. } => Ok((*object).clone()),
            other => Err(unexpected(&other)),
        }
    }

    /// Deletes a terminated object without grace period, as kubelets do.
    pub(in crate::controllers) fn remove(
        &self,
        resource: &Arc<Resource>,
        key: &ObjectKey,
        uid: &str,
    ) -> Result<(), StatusError> {
        let mut call = self.call(resource, Verb::Delete, &key.namespace, Some(&key.name));
        let preconditions = json!({ "uid": uid });
        call.body =
            RequestBody::Object(json!({ "gracePeriodSeconds": 0, "preconditions": preconditions }));
        self.api.handle(&call).map(|_| ())
    }
}

fn unexpected(reply: &ApiResponse) -> StatusError {
    StatusError::internal(format!("unexpected reply: {reply:?}"))
}

/// Namespace (empty for cluster-scoped objects) and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::controllers) struct ObjectKey {
    pub(in crate::controllers) namespace: String,
    pub(in crate::controllers) name: String,
}

impl ObjectKey {
    pub(in crate::controllers) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The key of a stored object.
    pub(in crate::controllers) fn of(object: &Value) -> Self {
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
        Self::new(text("/metadata/namespace"), text("/metadata/name"))
    }

    /// The key of an object, from its metadata.
    pub(in crate::controllers) fn of_metadata(metadata: &ObjectMeta) -> Self {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        Self { namespace: text(&metadata.namespace), name: text(&metadata.name) }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => f.write_str(&self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}
