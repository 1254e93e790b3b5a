//! What is to be said of all that was seen.

use fairway_compat::removed_apis::KNOWN_UP_TO;
use fairway_findings::Finding;

use super::{Count, Deleted, Gone, Seen, Stored, Written};
use crate::check::Answer;
use crate::wording::{counted, listed, quoted};

const GUIDE: &str = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/";

const VERSIONING: &str = "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#upgrade-existing-objects-to-a-new-stored-version";

/// What is to be said of all that was seen.
pub(super) fn judge(seen: &Seen) -> Answer {
    let findings = [in_manifests(seen), in_use(seen), deleted(&seen.deleted), stored(&seen.stored)];
    Answer {
        findings: findings.into_iter().flatten().collect(),
        unknown: beyond_the_table(seen).into_iter().chain(seen.unseen.iter().cloned()).collect(),
        left_out: left_out(seen),
    }
}

fn in_use(seen: &Seen) -> Option<Finding> {
    let of_kubernetes =
        |count: &Count| count.removed_in.is_some_and(|it| Some(it) <= seen.kubernetes);
    let uses = seen.counts.iter().flatten().filter_map(|count| {
        let gone = seen.gone.iter().find(|gone| gone.api == count.api);
        (gone.is_some() || of_kubernetes(count)).then_some((count, gone))
    });
    let uses: Vec<(&Count, Option<&Gone>)> = uses.collect();
    let (first, _) = uses.first()?;
    let told: Vec<String> = uses.iter().map(|&(count, gone)| usage(count, gone)).collect();
    let message = format!(
        "The target does not serve APIs that were asked for within the last day: {}. Whoever asks \
         for them will fail.",
        listed(&told)
    );
    let remediation = format!(
        "Move these clients to what takes the place of each API. All who ask: kubectl get \
         apirequestcounts.apiserver.openshift.io {} -o yaml",
        first.api
    );
    Some(Finding::warning("RemovedApisInUse", message).remediation(remediation).url(GUIDE))
}

fn usage(count: &Count, gone: Option<&Gone>) -> String {
    let Count { api, requests, clients, .. } = count;
    let requests = counted(usize::try_from(*requests).unwrap_or(usize::MAX), "request");
    let clients: Vec<String> = clients.iter().map(|client| quoted(client)).collect();
    let clients =
        if clients.is_empty() { String::new() } else { format!(" by {}", listed(&clients)) };
    let instead = gone.and_then(|gone| gone.instead.as_deref());
    let instead = instead.map_or_else(String::new, |instead| format!("; use {instead}"));
    format!("{api} ({requests}{clients}{instead})")
}

fn in_manifests(seen: &Seen) -> Option<Finding> {
    let told = |Written { object, api_version, by }: &Written| {
        format!("{object} ({api_version}, by {by})")
    };
    let told: Vec<String> = seen.written.iter().map(told).collect();
    let first = seen.written.first()?;
    let gone = seen.gone.iter().find(|gone| gone.api_version == first.api_version);
    let instead = gone.and_then(|gone| gone.instead.as_deref()).unwrap_or("another API");
    let message = format!(
        "{} written through APIs that the target does not serve: {}. Whoever writes them that way \
         again will fail.",
        match told.len() {
            1 => "1 object was".to_owned(),
            count => format!("{count} objects were"),
        },
        listed(&told)
    );
    let remediation = format!(
        "Where their manifests are kept, write {instead} for {} and alike, and apply them again \
         before the update: kubectl apply -f FILE",
        first.api_version
    );
    // Objects do not forget. Where requests are counted, the count tells whether it still happens.
    let found = if seen.counts.is_some() { Finding::info } else { Finding::warning };
    Some(found("RemovedApisInManifests", message).remediation(remediation).url(GUIDE))
}

fn stored(all: &[Stored]) -> Option<Finding> {
    let told = |it: &Stored| format!("{} ({})", it.definition, it.lost.join(", "));
    let told: Vec<String> = all.iter().map(told).collect();
    let Stored { definition, storage, .. } = all.first()?;
    let message = format!(
        "Custom resources may be stored in versions that the target's definitions do not know: {}. \
         The API server will refuse these definitions, and the update will not go on.",
        listed(&told)
    );
    let remediation = format!(
        "Write every object once more, then say that none is stored in the old version: kubectl get \
         {definition} -A -o json | kubectl replace -f -; kubectl patch crd {definition} \
         --subresource=status --type=merge -p '{{\"status\":{{\"storedVersions\":[\"{storage}\"]}}}}'"
    );
    let finding = Finding::critical("StoredVersionsRemoved", message);
    Some(finding.remediation(remediation).url(VERSIONING))
}

fn deleted(all: &[(Deleted, usize)]) -> Option<Finding> {
    let all: Vec<_> = all.iter().filter(|(_, objects)| *objects > 0).collect();
    let told = |(it, objects): &&(Deleted, usize)| {
        format!("{} ({})", it.definition, counted(*objects, "object"))
    };
    let told: Vec<String> = all.iter().map(told).collect();
    let (Deleted { definition, .. }, _) = all.first()?;
    let message = format!(
        "The target deletes definitions of custom resources, and their objects with them: {}.",
        listed(&told)
    );
    let remediation = format!(
        "Keep what you need, and move whoever uses it: kubectl get {definition} -A -o yaml > \
         {definition}.yaml"
    );
    Some(Finding::critical("RemovedKindsHaveObjects", message).remediation(remediation))
}

/// What nobody knows about the APIs of the target's Kubernetes.
fn beyond_the_table(seen: &Seen) -> Option<String> {
    match seen.kubernetes {
        None => Some(
            "The release does not say which Kubernetes it brings, so APIs of Kubernetes itself were \
             not looked at."
                .to_owned(),
        ),
        Some(kubernetes) if kubernetes > KNOWN_UP_TO => Some(format!(
            "The release brings Kubernetes {kubernetes}; which APIs are removed after {KNOWN_UP_TO} \
             is only known where the cluster says it."
        )),
        Some(_) => None,
    }
}

fn left_out(seen: &Seen) -> String {
    let is_uncounted = seen.counts.is_none() && !seen.gone.is_empty();
    let uncounted = "The cluster does not count requests, so whoever only reads was not seen.";
    if is_uncounted { uncounted.to_owned() } else { String::new() }
}
