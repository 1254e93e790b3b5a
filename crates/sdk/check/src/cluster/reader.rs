//! Reader for objects of one kind.

use kube::Resource;
use kube::api::{GetParams, ListParams, ObjectList};
use kube::core::Request;
use serde::de::DeserializeOwned;

use super::policy::Failure;
use super::{Cluster, MAX_OBJECTS};
use crate::CannotTell;

/// Page size of lists. A page of the largest objects takes a tenth of a check's memory.
const PAGE_SIZE: u32 = 250;

/// Reads objects of one kind, in all namespaces or in one.
#[derive(Clone)]
pub struct Reader<K: Resource> {
    cluster: Cluster,
    kind: K::DynamicType,
    namespace: Option<String>,
    parameters: ListParams,
}

impl<K: Resource> Reader<K> {
    pub(super) fn new(cluster: Cluster, kind: K::DynamicType) -> Self {
        Self { cluster, kind, namespace: None, parameters: ListParams::default().limit(PAGE_SIZE) }
    }

    /// Restricts the reader to a namespace.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self }
    }

    /// Restricts the reader by labels, such as `app=router,tier!=test`.
    #[must_use]
    pub fn labelled(self, selector: &str) -> Self {
        Self { parameters: self.parameters.labels(selector), ..self }
    }

    /// Restricts the reader by fields, such as `spec.nodeName=a`. Kubernetes supports only a few
    /// fields.
    #[must_use]
    pub fn with_fields(self, selector: &str) -> Self {
        Self { parameters: self.parameters.fields(selector), ..self }
    }

    fn request(&self) -> Request {
        Request::new(K::url_path(&self.kind, self.namespace.as_deref()))
    }

    /// Name in messages: `nodes`, or `leases.coordination.k8s.io/a in kube-system`.
    fn what(&self, name: Option<&str>) -> String {
        let (mut what, group) = (K::plural(&self.kind).into_owned(), K::group(&self.kind));
        let group = Some(group.as_ref()).filter(|group| !group.is_empty());
        for (joint, part) in [(".", group), ("/", name), (" in ", self.namespace.as_deref())] {
            if let Some(part) = part {
                what.push_str(joint);
                what.push_str(part);
            }
        }
        what
    }
}

impl<K: Resource + Clone + DeserializeOwned> Reader<K> {
    /// An object, if it exists. For namespaced kinds, set the namespace with
    /// [`in_namespace`](Self::in_namespace).
    pub async fn get(&self, name: &str) -> Result<Option<K>, CannotTell> {
        let answer = self.cluster.send(|| async {
            let request = self.request().get(name, &GetParams::default());
            let request = request.map_err(kube::Error::BuildRequest)?;
            self.cluster.client.request::<K>(request).await
        });
        match answer.await {
            Ok(object) => Ok(Some(object)),
            Err(failure) if is_missing_object(&failure, name) => Ok(None),
            Err(failure) => Err(failure.to_cannot_tell(self.what(Some(name)))),
        }
    }

    /// Passes every object to `take`, page by page, because all together may exceed the memory.
    pub async fn each(&self, mut take: impl FnMut(K)) -> Result<(), CannotTell> {
        let (mut seen, mut parameters) = (0, self.parameters.clone());
        loop {
            self.cluster.check_memory()?;
            let page = self.cluster.send(|| async {
                let request = self.request().list(&parameters);
                let request = request.map_err(kube::Error::BuildRequest)?;
                self.cluster.client.request::<ObjectList<K>>(request).await
            });
            let page = page.await.map_err(|failure| failure.to_cannot_tell(self.what(None)))?;
            seen += page.items.len();
            page.items.into_iter().for_each(&mut take);
            parameters.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if parameters.continue_token.is_none() {
                return Ok(());
            }
            if seen >= MAX_OBJECTS {
                return Err(CannotTell::TooMany(self.what(None)));
            }
        }
    }

    /// All objects, for kinds with few objects.
    pub async fn all(&self) -> Result<Vec<K>, CannotTell> {
        let mut all = Vec::new();
        self.each(|object| all.push(object)).await?;
        Ok(all)
    }
}

/// Whether the kind is served and the object does not exist.
fn is_missing_object(failure: &Failure, name: &str) -> bool {
    let Failure::Refused(kube::Error::Api(status)) = failure else { return false };
    let named = status.details.as_ref().is_some_and(|details| details.name == name);
    status.code == 404 && named
}
