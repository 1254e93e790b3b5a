//! The API as the cluster's own components use it: typed, without a network.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, Resource as Kind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Api, Body, Call, PatchKind, Query, Refusal, Reply};
use crate::catalog::{Resource, Subresource, Verb};
use crate::rbac::User;
use crate::store::Watcher;

/// The API as a component of the cluster uses it. Clones are handles to the same API.
#[derive(Clone)]
pub struct Client {
    api: Api,
    user: User,
}

/// What a client can handle: a built-in kind with the usual metadata.
pub trait Object:
    Kind + Metadata<Ty = ObjectMeta> + Serialize + DeserializeOwned + Clone + Send + Sync
{
}

impl<K> Object for K where
    K: Kind + Metadata<Ty = ObjectMeta> + Serialize + DeserializeOwned + Clone + Send + Sync
{
}

/// What happens to the objects that an object owns when it is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They stay.
    Orphan,
    /// They go afterwards.
    Background,
    /// They go first.
    Foreground,
}

impl Propagation {
    /// The word in the options of a deletion.
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

    /// The API behind it.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// An object, if there is one; cluster-wide ones have an empty namespace.
    pub fn get<K: Object>(&self, namespace: &str, name: &str) -> Result<Option<K>, Refusal> {
        let call = self.call::<K>(Verb::Get, namespace, Some(name))?;
        match self.api.answer(&call) {
            Ok(reply) => typed(reply).map(Some),
            Err(refusal) if refusal.code == 404 => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// The objects of a namespace, or with an empty one all of them.
    pub fn list<K: Object>(&self, namespace: &str) -> Result<Vec<K>, Refusal> {
        match self.api.answer(&self.call::<K>(Verb::List, namespace, None)?)? {
            Reply::List(list) => list.items.iter().map(|object| read(object)).collect(),
            other => Err(unexpected(&other)),
        }
    }

    /// What happens to the objects of a kind, beginning with those that are there.
    pub fn watch<K: Object>(&self) -> Result<Watcher, Refusal> {
        let mut call = self.call::<K>(Verb::Watch, "", None)?;
        call.query = Query::default().with("watch", "true");
        match self.api.answer(&call)? {
            Reply::Watch(watcher) => Ok(watcher),
            other => Err(unexpected(&other)),
        }
    }

    /// Makes an object.
    pub fn create<K: Object>(&self, object: &K) -> Result<K, Refusal> {
        let namespace = object.metadata().namespace.clone().unwrap_or_default();
        let mut call = self.call::<K>(Verb::Create, &namespace, None)?;
        call.body = Body::Object(json!(object));
        typed(self.api.answer(&call)?)
    }

    /// Makes an object of any kind that is served.
    pub fn create_any(&self, object: Value) -> Result<Arc<Value>, Refusal> {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (group, _) = text("/apiVersion").split_once('/').unwrap_or_default();
        let resource = self.served(group, text("/kind"))?;
        let namespace = Some(text("/metadata/namespace").to_owned());
        let call = Call {
            namespace: namespace.filter(|_| resource.namespaced),
            body: Body::Object(object),
            ..self.blank_call(resource, Verb::Create)
        };
        match self.api.answer(&call)? {
            Reply::Object { object, .. } => Ok(object),
            other => Err(unexpected(&other)),
        }
    }

    /// Replaces an object; a conflict where it carries another resource version than the newest.
    pub fn update<K: Object>(&self, object: &K) -> Result<K, Refusal> {
        self.put(object, None)
    }

    /// Replaces the status of an object.
    pub fn update_status<K: Object>(&self, object: &K) -> Result<K, Refusal> {
        self.put(object, Some(Subresource::Status))
    }

    /// Changes parts of an object.
    pub fn merge<K: Object>(
        &self,
        namespace: &str,
        name: &str,
        patch: Value,
    ) -> Result<K, Refusal> {
        let mut call = self.call::<K>(Verb::Patch, namespace, Some(name))?;
        call.body = Body::Patch(PatchKind::Merge, patch);
        typed(self.api.answer(&call)?)
    }

    /// Deletes an object, which is no error if it is gone.
    pub fn delete<K: Object>(&self, object: &K, propagation: Propagation) -> Result<(), Refusal> {
        let metadata = object.metadata();
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let mut call = self.call::<K>(Verb::Delete, namespace, metadata.name.as_deref())?;
        call.body = Body::Object(json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": propagation.as_str(),
            "preconditions": { "uid": metadata.uid },
        }));
        match self.api.answer(&call) {
            Err(refusal) if refusal.code != 404 => Err(refusal),
            _ => Ok(()),
        }
    }

    /// Deletes an object at once, however long it was given to end. It is no error if it is gone.
    pub fn delete_now<K: Object>(&self, object: &K) -> Result<(), Refusal> {
        let metadata = object.metadata();
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let mut call = self.call::<K>(Verb::Delete, namespace, metadata.name.as_deref())?;
        call.body = Body::Object(json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "gracePeriodSeconds": 0,
            "preconditions": { "uid": metadata.uid },
        }));
        match self.api.answer(&call) {
            Err(refusal) if refusal.code != 404 => Err(refusal),
            _ => Ok(()),
        }
    }

    fn put<K: Object>(&self, object: &K, subresource: Option<Subresource>) -> Result<K, Refusal> {
        let metadata = object.metadata();
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let mut call = self.call::<K>(Verb::Update, namespace, metadata.name.as_deref())?;
        call.subresource = subresource;
        call.body = Body::Object(json!(object));
        typed(self.api.answer(&call)?)
    }

    fn call<K: Object>(
        &self,
        verb: Verb,
        namespace: &str,
        name: Option<&str>,
    ) -> Result<Call, Refusal> {
        let resource = self.served(K::GROUP, K::KIND)?;
        let namespaced = resource.namespaced && !namespace.is_empty();
        Ok(Call {
            namespace: namespaced.then(|| namespace.to_owned()),
            name: name.map(str::to_owned),
            ..self.blank_call(resource, verb)
        })
    }

    fn blank_call(&self, resource: Arc<Resource>, verb: Verb) -> Call {
        Call {
            user: self.user.clone(),
            user_agent: self.user.name.clone(),
            resource,
            namespace: None,
            name: None,
            subresource: None,
            verb,
            query: Query::default(),
            body: Body::None,
        }
    }

    fn served(&self, group: &str, kind: &str) -> Result<Arc<Resource>, Refusal> {
        let found = self.api.catalog().kind(group, kind).cloned();
        found.ok_or_else(|| Refusal::internal(format!("{kind} is not served")))
    }
}

fn typed<K: Object>(reply: Reply) -> Result<K, Refusal> {
    match reply {
        Reply::Object { object, .. } => read(&object),
        other => Err(unexpected(&other)),
    }
}

fn read<K: Object>(object: &Value) -> Result<K, Refusal> {
    K::deserialize(object).map_err(Refusal::internal)
}

fn unexpected(reply: &Reply) -> Refusal {
    Refusal::internal(format!("unexpected reply: {reply:?}"))
}
