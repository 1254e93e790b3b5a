//! A component of the cluster as the API sees it.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::{Api, Body, Call, Client, PatchKind, Propagation, Query, Refusal, Reply};
use crate::catalog::{Resource, Subresource, Verb};
use crate::rbac::User;
use crate::store::Watcher;

use super::ObjectKey;

/// A component of the cluster: a user of the API that is trusted with everything.
///
/// Objects whose kind is known when this is compiled go through its [`Client`]; the methods here are
/// for objects of any kind.
#[derive(Clone)]
pub(in crate::controllers) struct Component {
    api: Api,
    client: Client,
    user: User,
}

impl Component {
    /// The component of this name, among those of the cluster.
    pub(in crate::controllers) fn new(api: &Api, name: &str) -> Self {
        let groups = ["system:masters", "system:authenticated"];
        let user =
            User { name: name.to_owned(), groups: groups.into_iter().map(str::to_owned).collect() };
        Self { api: api.clone(), client: api.client(name), user }
    }

    /// One of those controllers that have an account of their own.
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

    /// Objects of a known kind in a namespace, or with an empty one everywhere; only those that are
    /// chosen are made typed.
    pub(in crate::controllers) fn list_where<K>(
        &self,
        namespace: &str,
        chosen: impl Fn(&Value) -> bool,
    ) -> Result<Vec<K>, Refusal>
    where
        K: k8s_openapi::Resource + DeserializeOwned,
    {
        let resource = self.resource_of::<K>()?;
        let objects = self.list(&resource, namespace)?;
        let chosen = objects.iter().filter(|object| chosen(object));
        chosen.map(|object| K::deserialize(&**object).map_err(Refusal::internal)).collect()
    }

    /// The keys of the objects of a known kind in a namespace that are chosen.
    pub(in crate::controllers) fn keys_where<K: k8s_openapi::Resource>(
        &self,
        namespace: &str,
        chosen: impl Fn(&Value) -> bool,
    ) -> Result<Vec<ObjectKey>, Refusal> {
        let objects = self.list(&self.resource_of::<K>()?, namespace)?;
        let chosen = objects.iter().filter(|object| chosen(object));
        Ok(chosen.map(|object| ObjectKey::of(object)).collect())
    }

    /// All objects of a known kind, as they are stored.
    pub(in crate::controllers) fn list_all<K: k8s_openapi::Resource>(
        &self,
    ) -> Result<Vec<Arc<Value>>, Refusal> {
        self.list(&self.resource_of::<K>()?, "")
    }

    fn resource_of<K: k8s_openapi::Resource>(&self) -> Result<Arc<Resource>, Refusal> {
        let found = self.api.catalog().kind(K::GROUP, K::KIND).cloned();
        found.ok_or_else(|| Refusal::internal(format!("{} is not served", K::KIND)))
    }

    /// Objects in a namespace, or with an empty one everywhere.
    pub(in crate::controllers) fn list(
        &self,
        resource: &Arc<Resource>,
        namespace: &str,
    ) -> Result<Vec<Arc<Value>>, Refusal> {
        let call = self.call(resource, Verb::List, namespace, None);
        match self.api.answer(&call)? {
            Reply::List(list) => Ok(list.items),
            other => Err(unexpected(&other)),
        }
    }

    /// An object, if it is there.
    pub(in crate::controllers) fn get(
        &self,
        resource: &Arc<Resource>,
        key: &ObjectKey,
    ) -> Result<Option<Arc<Value>>, Refusal> {
        let call = self.call(resource, Verb::Get, &key.namespace, Some(&key.name));
        match self.api.answer(&call) {
            Ok(Reply::Object { object, .. }) => Ok(Some(object)),
            Ok(other) => Err(unexpected(&other)),
            Err(refusal) if refusal.code == 404 => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// What happens to the objects of a resource, beginning with those that are there.
    pub(in crate::controllers) fn watch(
        &self,
        resource: &Arc<Resource>,
    ) -> Result<Watcher, Refusal> {
        let mut call = self.call(resource, Verb::Watch, "", None);
        call.query = Query::default().with("watch", "true");
        match self.api.answer(&call)? {
            Reply::Watch(watcher) => Ok(watcher),
            other => Err(unexpected(&other)),
        }
    }

    /// Deletes an object with this identity; none being there is as good.
    pub(in crate::controllers) fn delete(
        &self,
        resource: &Arc<Resource>,
        key: &ObjectKey,
        uid: &str,
        propagation: Propagation,
    ) -> Result<(), Refusal> {
        let mut call = self.call(resource, Verb::Delete, &key.namespace, Some(&key.name));
        call.body = Body::Object(json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": propagation.as_str(),
            "preconditions": { "uid": uid },
        }));
        match self.api.answer(&call) {
            Err(refusal) if refusal.code != 404 => Err(refusal),
            _ => Ok(()),
        }
    }

    /// Changes parts of an object by a merge patch.
    pub(in crate::controllers) fn merge(
        &self,
        resource: &Arc<Resource>,
        key: &ObjectKey,
        patch: Value,
    ) -> Result<(), Refusal> {
        let mut call = self.call(resource, Verb::Patch, &key.namespace, Some(&key.name));
        call.body = Body::Patch(PatchKind::Merge, patch);
        self.api.answer(&call).map(|_| ())
    }

    /// Replaces what a subresource holds.
    pub(in crate::controllers) fn put(
        &self,
        resource: &Arc<Resource>,
        key: &ObjectKey,
        subresource: Subresource,
        object: Value,
    ) -> Result<(), Refusal> {
        let mut call = self.call(resource, Verb::Update, &key.namespace, Some(&key.name));
        call.subresource = Some(subresource);
        call.body = Body::Object(object);
        self.api.answer(&call).map(|_| ())
    }

    /// Makes what a subresource of an object of a known kind takes.
    pub(in crate::controllers) fn create_below<K: k8s_openapi::Resource>(
        &self,
        key: &ObjectKey,
        subresource: Subresource,
        object: Value,
    ) -> Result<(), Refusal> {
        let resource = self.resource_of::<K>()?;
        let mut call = self.call(&resource, Verb::Create, &key.namespace, Some(&key.name));
        call.subresource = Some(subresource);
        call.body = Body::Object(object);
        self.api.answer(&call).map(|_| ())
    }

    fn call(
        &self,
        resource: &Arc<Resource>,
        verb: Verb,
        namespace: &str,
        name: Option<&str>,
    ) -> Call {
        let namespaced = resource.namespaced && !namespace.is_empty();
        Call {
            user: self.user.clone(),
            user_agent: self.user.name.clone(),
            resource: Arc::clone(resource),
            namespace: namespaced.then(|| namespace.to_owned()),
            name: name.map(str::to_owned),
            subresource: None,
            verb,
            query: Query::default(),
            body: Body::None,
        }
    }
}

#[cfg(test)]
impl Component {
    /// Makes an object.
    pub(in crate::controllers) fn create(
        &self,
        resource: &Arc<Resource>,
        object: Value,
    ) -> Result<Value, Refusal> {
        let key = ObjectKey::of(&object);
        let mut call = self.call(resource, Verb::Create, &key.namespace, None);
        call.body = Body::Object(object);
        match self.api.answer(&call)? {
            Reply::Object { object, .. } => Ok((*object).clone()),
            other => Err(unexpected(&other)),
        }
    }

    /// Removes an object that has stopped, as kubelets do.
    pub(in crate::controllers) fn remove(
        &self,
        resource: &Arc<Resource>,
        key: &ObjectKey,
        uid: &str,
    ) -> Result<(), Refusal> {
        let mut call = self.call(resource, Verb::Delete, &key.namespace, Some(&key.name));
        let preconditions = json!({ "uid": uid });
        call.body =
            Body::Object(json!({ "gracePeriodSeconds": 0, "preconditions": preconditions }));
        self.api.answer(&call).map(|_| ())
    }
}

fn unexpected(reply: &Reply) -> Refusal {
    Refusal::internal(format!("unexpected reply: {reply:?}"))
}
