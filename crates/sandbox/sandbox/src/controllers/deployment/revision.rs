//! What a Deployment writes into the annotations of its ReplicaSets.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

use super::limits::{max_surge, replicas};

/// Counts the templates that a Deployment has had.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
/// The revisions that a template had before it came back.
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// How many pods the Deployment wanted when the ReplicaSet was last scaled.
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// How many it allowed then.
const MAX: &str = "deployment.kubernetes.io/max-replicas";

/// What is said about the Deployment itself, and not about its ReplicaSets.
const NOT_COPIED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED,
    MAX,
    "deprecated.deployment.rollback.to",
];

/// The longest history of revisions, in bytes, as in the real controller.
const LONGEST_HISTORY: usize = 2000;

/// The revision of a ReplicaSet, zero if it has none.
pub(super) fn revision(set: &ReplicaSet) -> i64 {
    number(set, REVISION).unwrap_or(0)
}

/// How many pods the Deployment wanted when the ReplicaSet was last scaled.
pub(super) fn desired(set: &ReplicaSet) -> Option<i64> {
    number(set, DESIRED)
}

/// How many it allowed then.
pub(super) fn max(set: &ReplicaSet) -> Option<i64> {
    number(set, MAX)
}

fn number(set: &ReplicaSet, annotation: &str) -> Option<i64> {
    set.metadata.annotations.as_ref()?.get(annotation)?.parse().ok()
}

/// Notes how many pods the Deployment wants and allows.
pub(super) fn note_scale(set: &mut ReplicaSet, deployment: &Deployment) {
    let (wanted, surge) = (replicas(deployment), max_surge(deployment));
    let annotations = set.metadata.annotations.get_or_insert_default();
    annotations.insert(DESIRED.to_owned(), wanted.to_string());
    annotations.insert(MAX.to_owned(), wanted.saturating_add(surge).to_string());
}

/// Gives the ReplicaSet of the current template the Deployment's annotations and the newest
/// revision, unless it has that already. One that comes back remembers the revision it had.
pub(super) fn note_revision(set: &mut ReplicaSet, deployment: &Deployment, newest: i64) {
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
            remember(annotations, &before);
        }
    }
}

fn remember(annotations: &mut BTreeMap<String, String>, revision: &str) {
    let known = annotations.get(REVISION_HISTORY).map_or("", String::as_str);
    let all: Vec<_> =
        known.split(',').filter(|known| !known.is_empty()).chain([revision]).collect();
    let mut kept = all.as_slice();
    while kept.len() > 1 && kept.join(",").len() > LONGEST_HISTORY {
        kept = &kept[1..];
    }
    annotations.insert(REVISION_HISTORY.to_owned(), kept.join(","));
}
