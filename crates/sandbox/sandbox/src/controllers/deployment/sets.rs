//! The ReplicaSets of a Deployment.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::revision::{note_revision, note_scale, revision};
use crate::controllers::owner;
use crate::controllers::template_hash::template_hash;

/// The label that tells the pods of one template from those of others.
pub(super) const HASH_LABEL: &str = "pod-template-hash";

/// The ReplicaSets of a Deployment, as they are going to be.
#[derive(Clone, Debug)]
pub(super) struct Sets<'a> {
    pub(super) deployment: &'a Deployment,
    /// The one with the current template.
    pub(super) new: Option<ReplicaSet>,
    /// All others, the oldest first.
    pub(super) old: Vec<ReplicaSet>,
}

impl<'a> Sets<'a> {
    /// Finds the one with the current template: the oldest, if there are several.
    pub(super) fn of(deployment: &'a Deployment, mut sets: Vec<ReplicaSet>) -> Self {
        sets.sort_by_key(|set| (created(set), set.metadata.name.clone()));
        let current = template(deployment);
        let index = sets.iter().position(|set| same_template(set, &current));
        let mut new = index.map(|index| sets.remove(index));
        let newest = sets.iter().map(revision).max().unwrap_or(0).saturating_add(1);
        if let Some(new) = &mut new {
            note_revision(new, deployment, newest);
            let spec = new.spec.get_or_insert_default();
            let wanted = deployment.spec.as_ref().and_then(|spec| spec.min_ready_seconds);
            if spec.min_ready_seconds.unwrap_or(0) != wanted.unwrap_or(0) {
                spec.min_ready_seconds = wanted;
            }
        }
        Self { deployment, new, old: sets }
    }

    /// Begins a ReplicaSet for the current template, without pods, if there is none.
    pub(super) fn begin_new(&mut self) {
        if self.new.is_some() {
            return;
        }
        let newest = self.old.iter().map(revision).max().unwrap_or(0).saturating_add(1);
        let mut set = for_template(self.deployment);
        note_revision(&mut set, self.deployment, newest);
        note_scale(&mut set, self.deployment);
        self.new = Some(set);
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &ReplicaSet> {
        self.old.iter().chain(&self.new)
    }
}

/// When it was made; what is not made yet is the newest.
pub(super) fn created(set: &ReplicaSet) -> Timestamp {
    set.metadata.creation_timestamp.as_ref().map_or(Timestamp::MAX, |time| time.0)
}

/// How many pods it is to have.
pub(super) fn size(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

/// How many of its pods are available.
pub(super) fn available(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0)
}

/// How many of its pods are ready.
pub(super) fn ready(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0)
}

/// How many pods it has.
pub(super) fn observed(set: &ReplicaSet) -> i32 {
    set.status.as_ref().map_or(0, |status| status.replicas)
}

/// The sum of a number over some ReplicaSets.
pub(super) fn sum<'a>(
    sets: impl IntoIterator<Item = &'a ReplicaSet>,
    number: fn(&ReplicaSet) -> i32,
) -> i32 {
    sets.into_iter().fold(0, |sum: i32, set| sum.saturating_add(number(set)))
}

/// The template without what tells ReplicaSets apart.
fn template(deployment: &Deployment) -> PodTemplateSpec {
    let template = deployment.spec.as_ref().map(|spec| spec.template.clone());
    without_hash(template.unwrap_or_default())
}

/// Whether a ReplicaSet has this template, but for its hash.
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
            owner_references: Some(vec![owner::reference(deployment)]),
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

/// Whether a ReplicaSet that stands where a new one was to be is that one already.
pub(super) fn is_what_was_wanted(found: &ReplicaSet, deployment: &Deployment) -> bool {
    let owner = owner::controller_of(&found.metadata).map(|owner| &owner.uid);
    owner == deployment.metadata.uid.as_ref() && same_template(found, &template(deployment))
}
