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
        "The target release does not serve APIs that clients requested within the last 24 hours: \
         {}. Requests for these APIs will fail.",
        listed(&told)
    );
    let remediation = format!(
        "Migrate these clients to the replacement of each API. To list all clients: kubectl get \
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
        "{} written through APIs that the target release does not serve: {}. Further writes \
         through these APIs will fail.",
        match told.len() {
            1 => "1 object was".to_owned(),
            count => format!("{count} objects were"),
        },
        listed(&told)
    );
    let remediation = format!(
        "Replace {} with {instead} in the source of these manifests, do the same for the other \
         APIs, and apply them before the update: kubectl apply -f FILE",
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
        "Custom resources may be stored in versions that the CRDs of the target release do not \
         contain: {}. The API server will reject these CRDs, and the update will stop.",
        listed(&told)
    );
    let remediation = format!(
        "Rewrite all objects in the storage version, then remove the old version from \
         status.storedVersions: kubectl get {definition} -A -o json | kubectl replace -f -; \
         kubectl patch crd {definition} --subresource=status --type=merge -p \
         '{{\"status\":{{\"storedVersions\":[\"{storage}\"]}}}}'"
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
    let message =
        format!("The target release deletes CRDs and all their objects: {}.", listed(&told));
    let remediation = format!(
        "Migrate the clients of these CRDs, and save the objects that you need: kubectl get \
         {definition} -A -o yaml > {definition}.yaml"
    );
    Some(Finding::critical("RemovedKindsHaveObjects", message).remediation(remediation))
}

/// What nobody knows about the APIs of the target's Kubernetes.
fn beyond_the_table(seen: &Seen) -> Option<String> {
    match seen.kubernetes {
        None => Some(
            "The target release does not declare its Kubernetes version, so the check did not \
             examine the APIs of Kubernetes."
                .to_owned(),
        ),
        Some(kubernetes) if kubernetes > KNOWN_UP_TO => Some(format!(
            "The target release contains Kubernetes {kubernetes}. This check knows removed APIs \
             up to Kubernetes {KNOWN_UP_TO}; for later versions it relies on the APIRequestCounts \
             of the cluster."
        )),
        Some(_) => None,
    }
}

fn left_out(seen: &Seen) -> String {
    let is_uncounted = seen.counts.is_none() && !seen.gone.is_empty();
    let uncounted =
        "The cluster does not count API requests, so the check did not see clients that only read.";
    if is_uncounted { uncounted.to_owned() } else { String::new() }
}
