//! `removed-apis`: what the target does not serve any more, and somebody still uses.
//!
//! Gone are the APIs of Kubernetes that the target's Kubernetes removes, and the versions that its
//! definitions of custom resources do not serve. They are in use if the cluster counts requests for
//! them (`RemovedApisInUse`), or if objects were last written through them (`RemovedApisInManifests`):
//! where requests are counted, that alone stands against no update, for it may be long ago. Custom
//! resources that are stored in a version which the target's definition does not know keep the
//! definition from being updated (`StoredVersionsRemoved`); those whose definition the target deletes
//! go with it (`RemovedKindsHaveObjects`).
//!
//! Which Kubernetes a release brings, it says in its image-references (`io.openshift.build.versions`).
//! Where it does not, where it is newer than the table of removals, or where something cannot be read,
//! the check cannot tell: what it has found all the same stands.

mod counts;
mod definitions;
mod judge;
mod objects;

use std::collections::BTreeSet;

use fairway_compat::{Minor, removed_apis};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use kube::api::{ApiResource, ObjectMeta};
use kube::core::GroupVersionKind;

pub(super) use self::counts::COUNTS;
use self::counts::Count;
use self::definitions::{Deleted, Losses, Stored};
use crate::check::{Answer, BuiltIn, CannotTell};
use crate::cluster::{Cluster, Resource, Unseen};
use crate::definitions::{DEFINITIONS, intents};
use crate::target::Target;
use crate::wording::quoted;
use fairway_text::chain;

/// What the target does not serve any more, and somebody still uses.
pub(crate) struct RemovedApis;

impl BuiltIn for RemovedApis {
    fn name(&self) -> &'static str {
        "removed-apis"
    }

    fn looks_at(&self) -> &[Resource] {
        &[COUNTS, DEFINITIONS]
    }

    fn looks_also_at<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Vec<Resource>> {
        async move {
            let Losses { retired, deleted, .. } = losses(cluster, target).await.unwrap_or_default();
            let retired = retired.iter().map(|gone| &gone.through);
            let deleted = deleted.iter().map(|definition| &definition.resource);
            retired.chain(deleted).map(Resource::named).collect()
        }
        .boxed()
    }

    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Result<Answer, CannotTell>> {
        look(cluster, target).boxed()
    }
}

/// An API that the cluster serves, and the target does not.
#[derive(Clone, Debug)]
struct Gone {
    /// As request counts are named: `cronjobs.v1beta1.batch`.
    api: String,
    /// As objects name it: `batch/v1beta1`.
    api_version: String,
    /// Its kind, and how its objects are read.
    through: ApiResource,
    /// The group and version that takes its place.
    instead: Option<String>,
}

impl Gone {
    fn new(gone: &ApiResource, through: &ApiResource, instead: Option<String>) -> Self {
        Self {
            api: format!("{}.{}.{}", gone.plural, gone.version, gone.group),
            api_version: gone.api_version.clone(),
            through: through.clone(),
            instead,
        }
    }
}

/// All that was seen.
#[derive(Default)]
struct Seen {
    /// The target's Kubernetes, if it says.
    kubernetes: Option<Minor>,
    gone: Vec<Gone>,
    /// Nothing where requests are not counted.
    counts: Option<Vec<Count>>,
    written: Vec<Written>,
    stored: Vec<Stored>,
    deleted: Vec<(Deleted, usize)>,
    /// What could not be looked at, and why, as sentences.
    unseen: Vec<String>,
}

/// An object that was written through an API that goes.
struct Written {
    /// `CronJob team/nightly`.
    object: String,
    api_version: String,
    by: String,
}

async fn look(cluster: &Cluster, target: &Target) -> Result<Answer, CannotTell> {
    let kubernetes = target.content.image_references.component("kubernetes").and_then(Minor::parse);
    let Losses { retired, stored, deleted } = losses(cluster, target).await?;
    let served = cluster.served().await?;
    let mut seen = Seen {
        kubernetes,
        gone: kubernetes.map_or_else(Vec::new, |kubernetes| built_in(kubernetes, &served)),
        stored,
        ..Seen::default()
    };
    seen.gone.extend(retired);
    let mut counts = Vec::new();
    let counted = cluster.each_of(&COUNTS.into(), |count| counts.extend(Count::read(&count))).await;
    seen.counts = seen.unless_unseen(counted).map(|()| counts);
    for gone in seen.gone.clone() {
        if objects::people_write(&gone.through.plural) {
            let read = cluster.metadata_of(&gone.through).await;
            let objects = seen.unless_unseen(read).unwrap_or_default();
            seen.written.extend(objects.iter().filter_map(|object| Written::of(object, &gone)));
        }
    }
    for definition in deleted {
        let read = cluster.metadata_of(&definition.resource).await;
        let objects = seen.unless_unseen(read).unwrap_or_default();
        seen.deleted.push((definition, objects.len()));
    }
    Ok(judge::judge(&seen))
}

/// What the cluster loses of its own definitions.
async fn losses(cluster: &Cluster, target: &Target) -> Result<Losses, Unseen> {
    let intents = intents(&target.manifests);
    let mut losses = Losses::default();
    let take = |now: CustomResourceDefinition| {
        if let Some(intent) = intents.get(&now.name_any()) {
            losses.add(&now, intent);
        }
    };
    cluster.each(take).await?;
    Ok(losses)
}

/// The APIs of Kubernetes that go, of those that the cluster serves.
fn built_in(kubernetes: Minor, served: &BTreeSet<String>) -> Vec<Gone> {
    let gone = removed_apis::gone_in(kubernetes).filter(|api| served.contains(&api.api_version()));
    let gone = gone.map(|api| {
        let instead = api.replacement_in(kubernetes);
        let resource = |group: &str, version: &str| {
            let kind = GroupVersionKind::gvk(group, version, api.kind);
            ApiResource::from_gvk_with_plural(&kind, api.resource)
        };
        // What takes its place may have moved to a group that everybody may read.
        let through = instead.filter(|instead| served.contains(*instead));
        let through = through.and_then(|instead| instead.split_once('/'));
        let (group, version) = through.unwrap_or((api.group, api.version));
        let gone = resource(api.group, api.version);
        Gone::new(&gone, &resource(group, version), instead.map(str::to_owned))
    });
    gone.collect()
}

impl Seen {
    /// What was read; what could not be is taken down, unless it is not there at all.
    fn unless_unseen<T>(&mut self, read: Result<T, Unseen>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(Unseen::NotServed(_)) => None,
            Err(why) => {
                self.unseen.push(format!("{}.", quoted(&chain(&why))));
                None
            }
        }
    }
}

impl Written {
    fn of(object: &ObjectMeta, gone: &Gone) -> Option<Self> {
        let by = objects::writer(object, &gone.api_version)?.to_owned();
        let name = object.name.as_deref().unwrap_or_default();
        let kind = &gone.through.kind;
        let object = match &object.namespace {
            Some(namespace) => format!("{kind} {namespace}/{name}"),
            None => format!("{kind} {name}"),
        };
        Some(Self { object, api_version: gone.api_version.clone(), by })
    }
}

#[cfg(test)]
mod tests;
