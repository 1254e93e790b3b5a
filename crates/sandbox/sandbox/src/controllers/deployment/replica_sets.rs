//! ReplicaSets of a Deployment, and the annotations that it writes to them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::scale::{max_surge, replicas};
use crate::controllers::ownership;
use crate::controllers::rollout::template_hash;

/// Label with the hash of the pod template.
pub(super) const HASH_LABEL: &str = "pod-template-hash";

/// The ReplicaSets of a Deployment, including planned changes.
#[derive(Clone, Debug)]
pub(super) struct OwnedReplicaSets<'a> {
    pub(super) deployment: &'a Deployment,
    /// The ReplicaSet with the current template.
    pub(super) new: Option<ReplicaSet>,
    /// All others, oldest first.
    pub(super) old: Vec<ReplicaSet>,
}

impl<'a> OwnedReplicaSets<'a> {
    /// Finds the ReplicaSet with the current template; the oldest one if there are several.
    pub(super) fn new(deployment: &'a Deployment, mut sets: Vec<ReplicaSet>) -> Self {
        sets.sort_by_key(|set| (created(set), set.metadata.name.clone()));
        let current = template(deployment);
        let index = sets.iter().position(|set| same_template(set, &current));
        let mut new = index.map(|index| sets.remove(index));
        let newest = sets.iter().map(revision).max().unwrap_or(0).saturating_add(1);
        if let Some(new) = &mut new {
            set_revision(new, deployment, newest);
            let spec = new.spec.get_or_insert_default();
            let wanted = deployment.spec.as_ref().and_then(|spec| spec.min_ready_seconds);
            if spec.min_ready_seconds.unwrap_or(0) != wanted.unwrap_or(0) {
                spec.min_ready_seconds = wanted;
            }
        }
        Self { deployment, new, old: sets }
    }

    /// Adds a ReplicaSet without pods for the current template, if missing.
    pub(super) fn ensure_new(&mut self) {
        if self.new.is_some() {
            return;
        }
        let newest = self.old.iter().map(revision).max().unwrap_or(0).saturating_add(1);
        let mut set = for_template(self.deployment);
        set_revision(&mut set, self.deployment, newest);
        set_scale_annotations(&mut set, self.deployment);
        self.new = Some(set);
    }

    /// All ReplicaSets.
    pub(super) fn all(&self) -> impl Iterator<Item = &ReplicaSet> {
        self.old.iter().chain(&self.new)
    }
}

/// Creation time; a ReplicaSet that is only planned is the newest.
pub(super) fn created(set: &ReplicaSet) -> Timestamp {
    set.metadata.creation_timestamp.as_ref().map_or(Timestamp::MAX, |time| time.0)
}

/// Desired replicas.
pub(super) fn size(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

/// Available replicas.
pub(super) fn available(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0)
}

/// Ready replicas.
pub(super) fn ready(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0)
}

/// Observed replicas.
pub(super) fn observed(set: &ReplicaSet) -> i32 {
    set.status.as_ref().map_or(0, |status| status.replicas)
}

/// Sum of a number over ReplicaSets.
pub(super) fn sum<'a>(
    sets: impl IntoIterator<Item = &'a ReplicaSet>,
    number: fn(&ReplicaSet) -> i32,
) -> i32 {
    sets.into_iter().fold(0, |sum: i32, set| sum.saturating_add(number(set)))
}

/// The template without the hash label.
fn template(deployment: &Deployment) -> PodTemplateSpec {
    let template = deployment.spec.as_ref().map(|spec| spec.template.clone());
    without_hash(template.unwrap_or_default())
}

/// Whether a ReplicaSet has this template, ignoring the hash label.
fn same_template(set: &ReplicaSet, template: &PodTemplateSpec) -> bool {
    let own = set.spec.as_ref().and_then(|spec| spec.template.clone());
    without_hash(own.unwrap_or_default()) == *template
}

fn without_hash(mut template: PodTemplateSpec) -> PodTemplateSpec {
    let metadata = template.metadata.get_or_insert_default();
    let labels = metadata.labels.get_or_insert_default();
    labels.remove(HASH_LABEL);
    template
}

/// A ReplicaSet without pods for the current template.
fn for_template(deployment: &Deployment) -> ReplicaSet {
    let spec = deployment.spec.clone().unwrap_or_default();
    let collisions = deployment.status.as_ref().and_then(|status| status.collision_count);
    let hash = template_hash(&spec.template, collisions);
    let name = deployment.metadata.name.as_deref().unwrap_or_default();

    let (mut template, mut selector) = (spec.template, spec.selector);
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    labels.insert(HASH_LABEL.to_owned(), hash.clone());
    let labels = labels.clone();
    selector.match_labels.get_or_insert_default().insert(HASH_LABEL.to_owned(), hash.clone());
    ReplicaSet {
        metadata: ObjectMeta {
            name: Some(format!("{name}-{hash}")),
            namespace: deployment.metadata.namespace.clone(),
            labels: Some(labels),
            owner_references: Some(vec![ownership::reference(deployment)]),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: Some(0),
            min_ready_seconds: spec.min_ready_seconds,
            selector,
            template: Some(template),
        }),
        status: None,
    }
}

/// Whether an existing ReplicaSet with the name of the new one has its owner and template.
pub(super) fn is_new_replica_set(found: &ReplicaSet, deployment: &Deployment) -> bool {
    let owner = ownership::controller_of(&found.metadata).map(|owner| &owner.uid);
    owner == deployment.metadata.uid.as_ref() && same_template(found, &template(deployment))
}

/// Counts the templates of a Deployment.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
/// Earlier revisions of a template that was rolled back to.
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// Desired replicas of the Deployment when the ReplicaSet was last scaled.
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// Maximum replicas of the Deployment when the ReplicaSet was last scaled.
const MAX: &str = "deployment.kubernetes.io/max-replicas";

/// Annotations of Deployments that are not copied to ReplicaSets.
const NOT_COPIED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED,
    MAX,
    "deprecated.deployment.rollback.to",
];

/// Maximum size of the revision history in bytes, as in Kubernetes.
const MAX_HISTORY_BYTES: usize = 2000;

/// The revision of a ReplicaSet, 0 without one.
pub(super) fn revision(set: &ReplicaSet) -> i64 {
    number(set, REVISION).unwrap_or(0)
}

/// Desired replicas of the Deployment when the ReplicaSet was last scaled.
pub(super) fn desired(set: &ReplicaSet) -> Option<i64> {
    number(set, DESIRED)
}

/// Maximum replicas of the Deployment when the ReplicaSet was last scaled.
pub(super) fn max(set: &ReplicaSet) -> Option<i64> {
    number(set, MAX)
}

fn number(set: &ReplicaSet, annotation: &str) -> Option<i64> {
    set.metadata.annotations.as_ref()?.get(annotation)?.parse().ok()
}

/// Writes desired and maximum replicas of the Deployment.
pub(super) fn set_scale_annotations(set: &mut ReplicaSet, deployment: &Deployment) {
    let (wanted, surge) = (replicas(deployment), max_surge(deployment));
    let annotations = set.metadata.annotations.get_or_insert_default();
    annotations.insert(DESIRED.to_owned(), wanted.to_string());
    annotations.insert(MAX.to_owned(), wanted.saturating_add(surge).to_string());
}

/// Copies the annotations of the Deployment to the new ReplicaSet and sets the newest revision,
/// unless set. The previous revision is added to the history.
pub(super) fn set_revision(set: &mut ReplicaSet, deployment: &Deployment, newest: i64) {
    let before = set.metadata.annotations.as_ref().and_then(|all| all.get(REVISION)).cloned();
    let is_older = revision(set) < newest;
    let annotations = set.metadata.annotations.get_or_insert_default();
    let copied = deployment.metadata.annotations.iter().flatten();
    for (key, value) in copied.filter(|(key, _)| !NOT_COPIED.contains(&key.as_str())) {
        annotations.insert(key.clone(), value.clone());
    }
    if is_older {
        annotations.insert(REVISION.to_owned(), newest.to_string());
        if let Some(before) = before {
            append_revision_history(annotations, &before);
        }
    }
}

fn append_revision_history(annotations: &mut BTreeMap<String, String>, revision: &str) {
    let known = annotations.get(REVISION_HISTORY).map_or("", String::as_str);
    let all: Vec<_> =
        known.split(',').filter(|known| !known.is_empty()).chain([revision]).collect();
    let mut kept = all.as_slice();
    while kept.len() > 1 && kept.join(",").len() > MAX_HISTORY_BYTES {
        kept = &kept[1..];
    }
    annotations.insert(REVISION_HISTORY.to_owned(), kept.join(","));
}
