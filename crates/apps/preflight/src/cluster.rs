//! Read-only access to a cluster for checks.

use std::collections::BTreeSet;
use std::fmt::Debug;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, ObjectMeta, PartialObjectMeta};
use kube::core::GroupVersionKind;
use serde::de::DeserializeOwned;

/// Page size of lists, as in kubectl.
const PAGE_SIZE: u32 = 500;

/// Maximum number of objects of a kind: the pods of the largest clusters.
const MAX_OBJECTS: usize = 300_000;

/// A kind of object, and the objects of it that a check reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// API version.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Resource name in paths.
    pub plural: &'static str,
    /// Objects that matter.
    pub part: Part,
}

/// Selection of objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// All objects.
    All,
    /// Objects of a namespace.
    Namespace(&'static str),
    /// One object, by namespace (if namespaced) and name.
    One(Option<&'static str>, &'static str),
}

impl Resource {
    /// All objects of a kind.
    pub const fn new(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self { group, version, kind, plural, part: Part::All }
    }

    /// Restricts the selection.
    #[must_use]
    pub const fn only(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// Resource of a kind that is known at run time only.
    pub(crate) fn named(resource: &ApiResource) -> Self {
        let ApiResource { group, version, kind, plural, .. } = resource;
        Self::new(keep(group), keep(version), keep(kind), keep(plural))
    }
}

/// Interns a name for the life of the process. A process examines only one release, so the number
/// of names is bounded.
pub(crate) fn keep(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}

impl From<Resource> for ApiResource {
    fn from(resource: Resource) -> Self {
        let Resource { group, version, kind, plural, .. } = resource;
        Self::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }
}

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ClusterReadError {
    /// The cluster does not serve the kind.
    #[error("the cluster does not serve {0}")]
    NotServed(String),
    /// The API server refused the request or did not respond.
    #[error("cannot read {what}")]
    Unreadable {
        /// Resource.
        what: String,
        /// Error of the request.
        source: Box<kube::Error>,
    },
    /// The number of objects exceeds the limit.
    #[error("the cluster has more than {MAX_OBJECTS} {0}")]
    TooMany(String),
}

/// Read-only access to a cluster.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
}

impl Cluster {
    /// Wraps a client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Passes every object of a kind to `take`, page by page, because all together may exceed the
    /// memory.
    pub async fn each<K>(&self, take: impl FnMut(K)) -> Result<(), ClusterReadError>
    where
        K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let api: Api<K> = Api::all(self.client.clone());
        pages(&api, ListParams::default(), &K::plural(&()), take).await
    }

    /// All objects of a kind.
    pub async fn all<K>(&self) -> Result<Vec<K>, ClusterReadError>
    where
        K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let mut all = Vec::new();
        self.each(|object| all.push(object)).await?;
        Ok(all)
    }

    /// Passes every object of a dynamic kind to `take`.
    pub async fn each_of(
        &self,
        resource: &ApiResource,
        take: impl FnMut(DynamicObject),
    ) -> Result<(), ClusterReadError> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
        pages(&api, ListParams::default(), &resource.plural, take).await
    }

    /// Objects of a dynamic kind in a namespace, by selector.
    pub async fn some_of(
        &self,
        resource: &ApiResource,
        namespace: &str,
        selection: ListParams,
    ) -> Result<Vec<DynamicObject>, ClusterReadError> {
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), namespace, resource);
        let mut all = Vec::new();
        pages(&api, selection, &resource.plural, |object| all.push(object)).await?;
        Ok(all)
    }

    /// Metadata of all objects of a kind.
    pub async fn metadata_of(
        &self,
        resource: &ApiResource,
    ) -> Result<Vec<ObjectMeta>, ClusterReadError> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
        let (mut all, mut params) = (Vec::new(), ListParams::default().limit(PAGE_SIZE));
        loop {
            let page = api.list_metadata(&params).await;
            let page = page.map_err(|error| unread(&resource.plural, error))?;
            all.extend(page.items.into_iter().map(|item: PartialObjectMeta<_>| item.metadata));
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                return Ok(all);
            }
            if all.len() >= MAX_OBJECTS {
                return Err(ClusterReadError::TooMany(resource.plural.clone()));
            }
        }
    }

    /// Served `apiVersion`s, such as `batch/v1`.
    pub async fn served(&self) -> Result<BTreeSet<String>, ClusterReadError> {
        let groups = self.client.list_api_groups().await;
        let groups = groups.map_err(|error| unread("API groups", error))?.groups;
        let versions = groups.into_iter().flat_map(|group| group.versions);
        Ok(versions.map(|version| version.group_version).collect())
    }

    /// Objects with these labels.
    pub async fn labelled<K>(&self, api: Api<K>, labels: &str) -> Result<Vec<K>, ClusterReadError>
    where
        K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let mut all = Vec::new();
        let params = ListParams::default().labels(labels);
        pages(&api, params, &K::plural(&()), |object| all.push(object)).await?;
        Ok(all)
    }

    /// An object, if it exists.
    pub async fn one<K>(&self, api: Api<K>, name: &str) -> Result<Option<K>, ClusterReadError>
    where
        K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        api.get_opt(name).await.map_err(|error| unread(&K::plural(&()), error))
    }

    /// An object of a dynamic kind, if it exists.
    pub async fn one_of(
        &self,
        resource: &ApiResource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<DynamicObject>, ClusterReadError> {
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), namespace, resource);
        api.get_opt(name).await.map_err(|error| unread(&resource.plural, error))
    }
}

async fn pages<K>(
    api: &Api<K>,
    params: ListParams,
    plural: &str,
    mut take: impl FnMut(K),
) -> Result<(), ClusterReadError>
where
    K: kube::Resource + Clone + DeserializeOwned + Debug,
{
    let (mut count, mut params) = (0, params.limit(PAGE_SIZE));
    loop {
        let page = api.list(&params).await.map_err(|error| unread(plural, error))?;
        count += page.items.len();
        page.items.into_iter().for_each(&mut take);
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            return Ok(());
        }
        if count >= MAX_OBJECTS {
            return Err(ClusterReadError::TooMany(plural.to_owned()));
        }
    }
}

fn unread(plural: &str, error: kube::Error) -> ClusterReadError {
    match error {
        kube::Error::Api(status) if status.code == 404 => {
            ClusterReadError::NotServed(plural.to_owned())
        }
        source => {
            ClusterReadError::Unreadable { what: plural.to_owned(), source: Box::new(source) }
        }
    }
}
