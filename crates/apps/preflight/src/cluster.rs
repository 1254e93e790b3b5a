//! What a check sees of a cluster: it can read, and nothing else.

use std::collections::BTreeSet;
use std::fmt::Debug;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, ObjectMeta, PartialObjectMeta};
use kube::core::GroupVersionKind;
use serde::de::DeserializeOwned;

/// Objects that are asked for at once, as the API's own clients do.
const PAGE: u32 = 500;

/// Objects of one kind that are looked at: as many as the largest clusters have pods.
const MOST_OBJECTS: usize = 300_000;

/// A kind of object, by group, version and plural, and which of its objects count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// The API group, empty for the oldest kinds.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// What it is called in paths.
    pub plural: &'static str,
    /// Which of them count.
    pub part: Part,
}

/// Which objects of a kind count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// All of them.
    All,
    /// Those of a namespace.
    Namespace(&'static str),
    /// One, by its namespace, if it has one, and its name.
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

    /// Some of its objects.
    #[must_use]
    pub const fn only(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// A kind that is known by its name alone.
    pub(crate) fn named(resource: &ApiResource) -> Self {
        let ApiResource { group, version, kind, plural, .. } = resource;
        Self::new(keep(group), keep(version), keep(kind), keep(plural))
    }
}

/// A process looks on behalf of one release, whose names are kept for as long as it lives.
pub(crate) fn keep(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}

impl From<Resource> for ApiResource {
    fn from(resource: Resource) -> Self {
        let Resource { group, version, kind, plural, .. } = resource;
        Self::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }
}

/// Why something cannot be seen.
#[derive(Debug, thiserror::Error)]
pub enum Unseen {
    /// The cluster does not have that kind.
    #[error("the cluster does not serve {0}")]
    NotServed(String),
    /// The check may not read it, or the server does not answer.
    #[error("cannot read {what}")]
    Unreadable {
        /// What.
        what: String,
        /// Why.
        source: Box<kube::Error>,
    },
    /// There is more of it than a check looks at.
    #[error("the cluster has more than {MOST_OBJECTS} {0}")]
    TooMany(String),
}

/// A cluster to be looked at.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
}

impl Cluster {
    /// The cluster that the client speaks to.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Who asks.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Hands on every object of a kind, page by page: together they may be large.
    pub async fn each<K>(&self, take: impl FnMut(K)) -> Result<(), Unseen>
    where
        K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let api: Api<K> = Api::all(self.client.clone());
        pages(&api, ListParams::default(), &K::plural(&()), take).await
    }

    /// Every object of a kind.
    pub async fn all<K>(&self) -> Result<Vec<K>, Unseen>
    where
        K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let mut all = Vec::new();
        self.each(|object| all.push(object)).await?;
        Ok(all)
    }

    /// Hands on every object of a kind that is known by its name alone.
    pub async fn each_of(
        &self,
        resource: &ApiResource,
        take: impl FnMut(DynamicObject),
    ) -> Result<(), Unseen> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
        pages(&api, ListParams::default(), &resource.plural, take).await
    }

    /// The objects of a kind and a namespace that are selected.
    pub async fn some_of(
        &self,
        resource: &ApiResource,
        namespace: &str,
        selection: ListParams,
    ) -> Result<Vec<DynamicObject>, Unseen> {
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), namespace, resource);
        let mut all = Vec::new();
        pages(&api, selection, &resource.plural, |object| all.push(object)).await?;
        Ok(all)
    }

    /// Every object of a kind, without its content.
    pub async fn metadata_of(&self, resource: &ApiResource) -> Result<Vec<ObjectMeta>, Unseen> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
        let (mut all, mut params) = (Vec::new(), ListParams::default().limit(PAGE));
        loop {
            let page = api.list_metadata(&params).await;
            let page = page.map_err(|error| unseen(&resource.plural, error))?;
            all.extend(page.items.into_iter().map(|item: PartialObjectMeta<_>| item.metadata));
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                return Ok(all);
            }
            if all.len() >= MOST_OBJECTS {
                return Err(Unseen::TooMany(resource.plural.clone()));
            }
        }
    }

    /// The groups and versions that the cluster serves, such as `batch/v1`.
    pub async fn served(&self) -> Result<BTreeSet<String>, Unseen> {
        let groups = self.client.list_api_groups().await;
        let groups = groups.map_err(|error| unseen("API groups", error))?.groups;
        let versions = groups.into_iter().flat_map(|group| group.versions);
        Ok(versions.map(|version| version.group_version).collect())
    }

    /// Every object that has some labels, of a kind or of a namespace.
    pub async fn labelled<K>(&self, api: Api<K>, labels: &str) -> Result<Vec<K>, Unseen>
    where
        K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let mut all = Vec::new();
        let params = ListParams::default().labels(labels);
        pages(&api, params, &K::plural(&()), |object| all.push(object)).await?;
        Ok(all)
    }

    /// One object, if it is there.
    pub async fn one<K>(&self, api: Api<K>, name: &str) -> Result<Option<K>, Unseen>
    where
        K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        api.get_opt(name).await.map_err(|error| unseen(&K::plural(&()), error))
    }

    /// One object of a kind that is known by its name alone, if it is there.
    pub async fn one_of(
        &self,
        resource: &ApiResource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<DynamicObject>, Unseen> {
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), namespace, resource);
        api.get_opt(name).await.map_err(|error| unseen(&resource.plural, error))
    }
}

async fn pages<K>(
    api: &Api<K>,
    params: ListParams,
    plural: &str,
    mut take: impl FnMut(K),
) -> Result<(), Unseen>
where
    K: kube::Resource + Clone + DeserializeOwned + Debug,
{
    let (mut seen, mut params) = (0, params.limit(PAGE));
    loop {
        let page = api.list(&params).await.map_err(|error| unseen(plural, error))?;
        seen += page.items.len();
        page.items.into_iter().for_each(&mut take);
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            return Ok(());
        }
        if seen >= MOST_OBJECTS {
            return Err(Unseen::TooMany(plural.to_owned()));
        }
    }
}

fn unseen(plural: &str, error: kube::Error) -> Unseen {
    match error {
        kube::Error::Api(status) if status.code == 404 => Unseen::NotServed(plural.to_owned()),
        source => Unseen::Unreadable { what: plural.to_owned(), source: Box::new(source) },
    }
}
