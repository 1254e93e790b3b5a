//! Who writes objects through an API that goes, as the objects themselves tell.

use kube::api::ObjectMeta;
use serde::Deserialize;

/// What `kubectl apply` leaves behind.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How programs begin to be called that come with the release, and are replaced by the update.
const OF_THE_RELEASE: [&str; 7] = [
    "api-priority-and-fairness",
    "cluster-version-operator",
    "fairway",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
];

/// Kinds that programs write and people do not: no manifest of them is kept anywhere.
const WRITTEN_BY_PROGRAMS: [&str; 9] = [
    "certificatesigningrequests",
    "controllerrevisions",
    "csinodes",
    "csistoragecapacities",
    "endpointslices",
    "events",
    "leases",
    "replicasets",
    "volumeattachments",
];

/// Whether manifests of that kind may be kept somewhere. Reviews are questions: they are not kept
/// at all.
pub(super) fn people_write(plural: &str) -> bool {
    !WRITTEN_BY_PROGRAMS.contains(&plural) && !plural.ends_with("reviews")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Applied {
    api_version: String,
}

/// Who wrote the object through that API, if anybody did.
pub(super) fn writer<'a>(object: &'a ObjectMeta, api_version: &str) -> Option<&'a str> {
    let applied = object.annotations.as_ref().and_then(|all| all.get(LAST_APPLIED));
    let applied = applied.and_then(|text| serde_json::from_str::<Applied>(text).ok());
    if applied.is_some_and(|applied| applied.api_version == api_version) {
        return Some("kubectl apply");
    }
    let fields = object.managed_fields.iter().flatten();
    let through = fields.filter(|fields| fields.api_version.as_deref() == Some(api_version));
    let mut managers = through.filter_map(|fields| fields.manager.as_deref());
    managers.find(|manager| !OF_THE_RELEASE.iter().any(|known| manager.starts_with(known)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wrote(metadata: Value) -> Option<String> {
        let object: ObjectMeta = serde_json::from_value(metadata).unwrap();
        writer(&object, "policy/v1beta1").map(str::to_owned)
    }

    #[test]
    fn an_object_tells_who_wrote_it_through_an_api() {
        let by = |manager: &str, api: &str| json!({"managedFields": [{"manager": manager, "apiVersion": api}]});
        let applied = |text: &str| json!({"annotations": {LAST_APPLIED: text}});
        for (metadata, expected) in [
            (json!({}), None),
            (by("helm", "policy/v1beta1"), Some("helm")),
            (by("helm", "policy/v1"), None),
            (by("kube-controller-manager", "policy/v1beta1"), None),
            (by("kubectl-create", "policy/v1beta1"), Some("kubectl-create")),
            (applied(r#"{"apiVersion": "policy/v1beta1", "kind": "x"}"#), Some("kubectl apply")),
            (applied(r#"{"apiVersion": "policy/v1"}"#), None),
            (applied("policy/v1beta1"), None),
        ] {
            assert_eq!(wrote(metadata.clone()).as_deref(), expected, "{metadata}");
        }
    }
}
