//! `removed-apis`: APIs in use that the target release does not serve.
//!
//! Removed are the APIs that the target release's Kubernetes removes, and the CRD versions that it
//! no longer serves. An API is in use if the cluster counts requests for it (`RemovedApisInUse`),
//! or if objects were last written through it (`RemovedApisInManifests`; for information if
//! requests are counted, because the write may be old). A CRD with stored versions that the target
//! release does not have cannot be updated (`StoredVersionsRemoved`). Objects of a CRD that the
//! target release deletes are deleted with it (`RemovedKindsHaveObjects`).
//!
//! A release declares its Kubernetes version in its image-references
//! (`io.openshift.build.versions`). If it does not, if the version is newer than the table of
//! removals, or if something cannot be read, the check has no result; its findings remain.

use std::collections::BTreeSet;

use fairway_compat::removed_apis::KNOWN_UP_TO;
use fairway_compat::{KubernetesMinor, removed_apis};
use fairway_findings::Finding;
use fairway_text::chain;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use kube::api::{ApiResource, ObjectMeta};
use kube::core::GroupVersionKind;

use self::crds::{CrdRemovals, DeletedCrd, StoredVersions};
pub(super) use self::usage::COUNTS;
use self::usage::Count;
use crate::check::{BuiltInCheck, BuiltInResult, NoResult};
use crate::cluster::{Cluster, ClusterReadError, Resource};
use crate::resources::{CRDS, crd_changes};
use crate::target::Target;
use crate::wording::{counted, listed, quoted};

mod crds;
mod usage;

/// The check `removed-apis`.
pub(crate) struct RemovedApis;

impl BuiltInCheck for RemovedApis {
    fn name(&self) -> &'static str {
        "removed-apis"
    }

    fn watched(&self) -> &[Resource] {
        &[COUNTS, CRDS]
    }

    fn watched_at_run_time<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Vec<Resource>> {
        async move {
            let CrdRemovals { retired, deleted, .. } =
                crd_removals(cluster, target).await.unwrap_or_default();
            let retired = retired.iter().map(|gone| &gone.through);
            let deleted = deleted.iter().map(|crd| &crd.resource);
            retired.chain(deleted).map(Resource::named).collect()
        }
        .boxed()
    }

    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Result<BuiltInResult, NoResult>> {
        examine(cluster, target).boxed()
    }
}

/// An API that the cluster serves and the target release does not.
#[derive(Clone, Debug)]
struct RemovedApi {
    /// Name in request counts: `cronjobs.v1beta1.batch`.
    api: String,
    /// `apiVersion`, such as `batch/v1beta1`.
    api_version: String,
    /// Resource through which its objects are read.
    through: ApiResource,
    /// `apiVersion` of the replacement.
    instead: Option<String>,
}

impl RemovedApi {
    fn new(gone: &ApiResource, through: &ApiResource, instead: Option<String>) -> Self {
        Self {
            api: format!("{}.{}.{}", gone.plural, gone.version, gone.group),
            api_version: gone.api_version.clone(),
            through: through.clone(),
            instead,
        }
    }
}

/// Everything that the check read.
#[derive(Default)]
struct ReadState {
    /// Kubernetes version of the target release, if declared.
    kubernetes: Option<KubernetesMinor>,
    gone: Vec<RemovedApi>,
    /// `None` if the cluster does not count requests.
    counts: Option<Vec<Count>>,
    written: Vec<ManifestWrite>,
    stored: Vec<StoredVersions>,
    deleted: Vec<(DeletedCrd, usize)>,
    /// What could not be read, and why.
    unread: Vec<String>,
}

/// An object that was written through a removed API.
struct ManifestWrite {
    /// Kind and name, such as `CronJob team/nightly`.
    object: String,
    api_version: String,
    by: String,
}

async fn examine(cluster: &Cluster, target: &Target) -> Result<BuiltInResult, NoResult> {
    let kubernetes =
        target.content.image_references.component("kubernetes").and_then(KubernetesMinor::parse);
    let CrdRemovals { retired, stored, deleted } = crd_removals(cluster, target).await?;
    let served = cluster.served().await?;
    let mut state = ReadState {
        kubernetes,
        gone: kubernetes.map_or_else(Vec::new, |kubernetes| built_in(kubernetes, &served)),
        stored,
        ..ReadState::default()
    };
    state.gone.extend(retired);
    let mut counts = Vec::new();
    let counted = cluster.each_of(&COUNTS.into(), |count| counts.extend(Count::read(&count))).await;
    state.counts = state.record_error(counted).map(|()| counts);
    for gone in state.gone.clone() {
        if usage::may_have_manifests(&gone.through.plural) {
            let read = cluster.metadata_of(&gone.through).await;
            let objects = state.record_error(read).unwrap_or_default();
            state
                .written
                .extend(objects.iter().filter_map(|object| ManifestWrite::of(object, &gone)));
        }
    }
    for crd in deleted {
        let read = cluster.metadata_of(&crd.resource).await;
        let objects = state.record_error(read).unwrap_or_default();
        state.deleted.push((crd, objects.len()));
    }
    Ok(evaluate(&state))
}

/// Removals of the cluster's CRDs.
async fn crd_removals(cluster: &Cluster, target: &Target) -> Result<CrdRemovals, ClusterReadError> {
    let crd_changes = crd_changes(&target.manifests);
    let mut crd_removals = CrdRemovals::default();
    let take = |now: CustomResourceDefinition| {
        if let Some(change) = crd_changes.get(&now.name_any()) {
            crd_removals.add(&now, change);
        }
    };
    cluster.each(take).await?;
    Ok(crd_removals)
}

/// Removed Kubernetes APIs that the cluster serves.
fn built_in(kubernetes: KubernetesMinor, served: &BTreeSet<String>) -> Vec<RemovedApi> {
    let gone = removed_apis::gone_in(kubernetes).filter(|api| served.contains(&api.api_version()));
    let gone = gone.map(|api| {
        let instead = api.replacement_in(kubernetes);
        let resource = |group: &str, version: &str| {
            let kind = GroupVersionKind::gvk(group, version, api.kind);
            ApiResource::from_gvk_with_plural(&kind, api.resource)
        };
        // The replacement may be readable where the old API is not.
        let through = instead.filter(|instead| served.contains(*instead));
        let through = through.and_then(|instead| instead.split_once('/'));
        let (group, version) = through.unwrap_or((api.group, api.version));
        let gone = resource(api.group, api.version);
        RemovedApi::new(&gone, &resource(group, version), instead.map(str::to_owned))
    });
    gone.collect()
}

impl ReadState {
    /// Value of a read. Records errors, unless the kind is not served.
    fn record_error<T>(&mut self, read: Result<T, ClusterReadError>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(ClusterReadError::NotServed(_)) => None,
            Err(why) => {
                self.unread.push(format!("{}.", quoted(&chain(&why))));
                None
            }
        }
    }
}

impl ManifestWrite {
    fn of(object: &ObjectMeta, gone: &RemovedApi) -> Option<Self> {
        let by = usage::writer(object, &gone.api_version)?.to_owned();
        let name = object.name.as_deref().unwrap_or_default();
        let kind = &gone.through.kind;
        let object = match &object.namespace {
            Some(namespace) => format!("{kind} {namespace}/{name}"),
            None => format!("{kind} {name}"),
        };
        Some(Self { object, api_version: gone.api_version.clone(), by })
    }
}

const GUIDE: &str = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/";

const VERSIONING: &str = "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#upgrade-existing-objects-to-a-new-stored-version";

/// Result for everything that was read.
fn evaluate(state: &ReadState) -> BuiltInResult {
    let findings =
        [in_manifests(state), in_use(state), deleted(&state.deleted), stored(&state.stored)];
    BuiltInResult {
        findings: findings.into_iter().flatten().collect(),
        unknown: beyond_the_table(state).into_iter().chain(state.unread.iter().cloned()).collect(),
        not_covered: not_covered(state),
    }
}

fn in_use(state: &ReadState) -> Option<Finding> {
    let of_kubernetes =
        |count: &Count| count.removed_in.is_some_and(|it| Some(it) <= state.kubernetes);
    let uses = state.counts.iter().flatten().filter_map(|count| {
        let gone = state.gone.iter().find(|gone| gone.api == count.api);
        (gone.is_some() || of_kubernetes(count)).then_some((count, gone))
    });
    let uses: Vec<(&Count, Option<&RemovedApi>)> = uses.collect();
    let (first, _) = uses.first()?;
    let render: Vec<String> = uses.iter().map(|&(count, gone)| usage(count, gone)).collect();
    let message = format!(
        "The target release does not serve APIs that clients requested within the last 24 hours: \
         {}. Requests for these APIs will fail.",
        listed(&render)
    );
    let remediation = format!(
        "Migrate these clients to the replacement of each API. To list all clients: kubectl get \
         apirequestcounts.apiserver.openshift.io {} -o yaml",
        first.api
    );
    Some(Finding::warning("RemovedApisInUse", message).remediation(remediation).url(GUIDE))
}

fn usage(count: &Count, gone: Option<&RemovedApi>) -> String {
    let Count { api, requests, clients, .. } = count;
    let requests = counted(usize::try_from(*requests).unwrap_or(usize::MAX), "request");
    let clients: Vec<String> = clients.iter().map(|client| quoted(client)).collect();
    let clients =
        if clients.is_empty() { String::new() } else { format!(" by {}", listed(&clients)) };
    let instead = gone.and_then(|gone| gone.instead.as_deref());
    let instead = instead.map_or_else(String::new, |instead| format!("; use {instead}"));
    format!("{api} ({requests}{clients}{instead})")
}

fn in_manifests(state: &ReadState) -> Option<Finding> {
    let render = |ManifestWrite { object, api_version, by }: &ManifestWrite| {
        format!("{object} ({api_version}, by {by})")
    };
    let render: Vec<String> = state.written.iter().map(render).collect();
    let first = state.written.first()?;
    let gone = state.gone.iter().find(|gone| gone.api_version == first.api_version);
    let instead = gone.and_then(|gone| gone.instead.as_deref()).unwrap_or("another API");
    let message = format!(
        "{} written through APIs that the target release does not serve: {}. Further writes \
         through these APIs will fail.",
        match render.len() {
            1 => "1 object was".to_owned(),
            count => format!("{count} objects were"),
        },
        listed(&render)
    );
    let remediation = format!(
        "Replace {} with {instead} in the manifests of these objects, do the same for the other \
         APIs, and apply the manifests before the update: kubectl apply -f FILE",
        first.api_version
    );
    // Managed fields may be old. If requests are counted, the counts show whether the API is in
    // use.
    let found = if state.counts.is_some() { Finding::info } else { Finding::warning };
    Some(found("RemovedApisInManifests", message).remediation(remediation).url(GUIDE))
}

fn stored(all: &[StoredVersions]) -> Option<Finding> {
    let render = |it: &StoredVersions| format!("{} ({})", it.crd, it.lost.join(", "));
    let render: Vec<String> = all.iter().map(render).collect();
    let StoredVersions { crd, storage, .. } = all.first()?;
    let message = format!(
        "Custom resources may be stored in versions that the CRDs of the target release do not \
         contain: {}. The API server will reject these CRDs, and the update will stop.",
        listed(&render)
    );
    let remediation = format!(
        "Rewrite all objects in the storage version, then remove the old version from \
         status.storedVersions: kubectl get {crd} -A -o json | kubectl replace -f -; \
         kubectl patch crd {crd} --subresource=status --type=merge -p \
         '{{\"status\":{{\"storedVersions\":[\"{storage}\"]}}}}'"
    );
    let finding = Finding::critical("StoredVersionsRemoved", message);
    Some(finding.remediation(remediation).url(VERSIONING))
}

fn deleted(all: &[(DeletedCrd, usize)]) -> Option<Finding> {
    let all: Vec<_> = all.iter().filter(|(_, objects)| *objects > 0).collect();
    let render = |(it, objects): &&(DeletedCrd, usize)| {
        format!("{} ({})", it.crd, counted(*objects, "object"))
    };
    let render: Vec<String> = all.iter().map(render).collect();
    let (DeletedCrd { crd, .. }, _) = all.first()?;
    let message =
        format!("The target release deletes CRDs and all their objects: {}.", listed(&render));
    let remediation = format!(
        "Migrate the clients of these CRDs, and save the objects that you need: kubectl get \
         {crd} -A -o yaml > {crd}.yaml"
    );
    Some(Finding::critical("RemovedKindsHaveObjects", message).remediation(remediation))
}

/// What is unknown about the APIs of the target release's Kubernetes.
fn beyond_the_table(state: &ReadState) -> Option<String> {
    match state.kubernetes {
        None => Some(
            "The target release does not declare its Kubernetes version, so the check did not \
             examine the APIs of Kubernetes."
                .to_owned(),
        ),
        Some(kubernetes) if kubernetes > KNOWN_UP_TO => Some(format!(
            "The target release contains Kubernetes {kubernetes}. This check covers removed APIs \
             up to Kubernetes {KNOWN_UP_TO}; for later versions it relies on the APIRequestCounts \
             of the cluster."
        )),
        Some(_) => None,
    }
}

fn not_covered(state: &ReadState) -> String {
    let is_uncounted = state.counts.is_none() && !state.gone.is_empty();
    let uncounted = "The cluster does not count API requests, so the check cannot detect clients \
                     that only read.";
    if is_uncounted { uncounted.to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests;
