//! Objects of one kind.

use kube::Resource;
use kube::api::{GetParams, ListParams, ObjectList};
use kube::core::Request;
use serde::de::DeserializeOwned;

use super::patience::Failure;
use super::{Cluster, MOST_OBJECTS};
use crate::CannotTell;

/// Objects that are asked for at once: of the largest, a tenth of the memory that a check has.
const PAGE: u32 = 250;

/// Objects of one kind, in a cluster or in a namespace of it.
#[derive(Clone)]
pub struct Reader<K: Resource> {
    cluster: Cluster,
    kind: K::DynamicType,
    namespace: Option<String>,
    parameters: ListParams,
}

impl<K: Resource> Reader<K> {
    pub(super) fn new(cluster: Cluster, kind: K::DynamicType) -> Self {
        Self { cluster, kind, namespace: None, parameters: ListParams::default().limit(PAGE) }
    }

    /// Only those in this namespace.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self }
    }

    /// Only those with such labels, such as `app=router,tier!=test`.
    #[must_use]
    pub fn labelled(self, selector: &str) -> Self {
        Self { parameters: self.parameters.labels(selector), ..self }
    }

    /// Only those with such fields, such as `spec.nodeName=a`: a few fields can be selected by.
    #[must_use]
    pub fn with_fields(self, selector: &str) -> Self {
        Self { parameters: self.parameters.fields(selector), ..self }
    }

    fn request(&self) -> Request {
        Request::new(K::url_path(&self.kind, self.namespace.as_deref()))
    }

    /// What people call it: `nodes`, or `leases.coordination.k8s.io/a in kube-system`.
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
    /// The object of that name, if there is one. For kinds that live in namespaces,
    /// [`in_namespace`](Self::in_namespace) says in which.
    pub async fn get(&self, name: &str) -> Result<Option<K>, CannotTell> {
        let answer = self.cluster.ask(|| async {
            let request = self.request().get(name, &GetParams::default());
            let request = request.map_err(kube::Error::BuildRequest)?;
            self.cluster.client.request::<K>(request).await
        });
        match answer.await {
            Ok(object) => Ok(Some(object)),
            Err(failure) if lacks(&failure, name) => Ok(None),
            Err(failure) => Err(failure.about(self.what(Some(name)))),
        }
    }

    /// Hands on every object, page by page: together they may be larger than memory.
    pub async fn each(&self, mut take: impl FnMut(K)) -> Result<(), CannotTell> {
        let (mut seen, mut parameters) = (0, self.parameters.clone());
        loop {
            self.cluster.has_room()?;
            let page = self.cluster.ask(|| async {
                let request = self.request().list(&parameters);
                let request = request.map_err(kube::Error::BuildRequest)?;
                self.cluster.client.request::<ObjectList<K>>(request).await
            });
            let page = page.await.map_err(|failure| failure.about(self.what(None)))?;
            seen += page.items.len();
            page.items.into_iter().for_each(&mut take);
            parameters.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if parameters.continue_token.is_none() {
                return Ok(());
            }
            if seen >= MOST_OBJECTS {
                return Err(CannotTell::TooMany(self.what(None)));
            }
        }
    }

    /// Every object: for kinds of which there are few.
    pub async fn all(&self) -> Result<Vec<K>, CannotTell> {
        let mut all = Vec::new();
        self.each(|object| all.push(object)).await?;
        Ok(all)
    }
}

/// Whether the server serves such objects, and has none of that name.
fn lacks(failure: &Failure, name: &str) -> bool {
    let Failure::Refused(kube::Error::Api(status)) = failure else { return false };
    let named = status.details.as_ref().is_some_and(|details| details.name == name);
    status.code == 404 && named
}
