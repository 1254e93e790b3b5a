//! What an API server asks, and what it is answered.

use std::collections::BTreeMap;

use fairway_compat::olm::{
    ClusterVersions, Declaration, Operator, install, is_copied, is_object_name,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::metrics::Decision;

/// An answer, and what it comes to.
pub(crate) struct Answer {
    pub(crate) body: Value,
    pub(crate) decision: Decision,
}

#[derive(Deserialize)]
struct Review {
    request: Request,
}

#[derive(Deserialize)]
struct Request {
    uid: String,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    object: Option<Object>,
}

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    spec: Option<Spec>,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    replaces: Option<String>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    reason: Option<String>,
}

/// The namespace and name of the operator that would be updated by what is refused otherwise. What
/// cannot be the name of one is none, and is not asked for: anybody can write it, and send it.
pub(crate) fn predecessor(body: &[u8], cluster: &ClusterVersions) -> Option<(String, String)> {
    let Review { request } = serde_json::from_slice(body).ok()?;
    install::refusal(&installation(&request)?, cluster)?;
    let (namespace, name) = (request.namespace, request.object?.spec?.replaces?);
    (is_object_name(&namespace) && is_object_name(&name)).then_some((namespace, name))
}

/// Answers a review; `None` if it is none. Whatever is not the installation of an operator that is
/// known not to run on this cluster is allowed; the update of an installed one is none, though OLM
/// creates an object for it too.
pub(crate) fn answer(body: &[u8], cluster: &ClusterVersions, is_update: bool) -> Option<Answer> {
    let Review { request } = serde_json::from_slice(body).ok()?;
    let operator = installation(&request).filter(|_| !is_update);
    let refusal = operator.as_ref().and_then(|operator| install::refusal(operator, cluster));
    let decision = if refusal.is_some() { Decision::refused } else { Decision::allowed };
    let mut response = json!({ "uid": request.uid, "allowed": refusal.is_none() });
    if let Some(message) = refusal {
        response["status"] = json!({ "code": 403, "reason": "Forbidden", "message": message });
    }
    if let Some(warning) = operator.as_ref().and_then(warning) {
        response["warnings"] = json!([warning]);
    }
    let body = json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response,
    });
    Some(Answer { body, decision })
}

/// The operator that is to be installed, if that is what is asked about.
fn installation(request: &Request) -> Option<Operator> {
    let object = request.object.as_ref().filter(|_| request.operation == "CREATE")?;
    let nothing = BTreeMap::new();
    let Metadata { name, labels, annotations } = &object.metadata;
    let (labels, annotations) =
        (labels.as_ref().unwrap_or(&nothing), annotations.as_ref().unwrap_or(&nothing));
    let reason = object.status.as_ref().and_then(|status| status.reason.as_deref());
    if is_copied(&request.namespace, labels, annotations, reason) {
        return None;
    }
    let name = name.clone().unwrap_or_else(|| request.name.clone());
    Some(Operator::read(request.namespace.clone(), name, annotations))
}

/// What whoever installs an operator should know.
fn warning(operator: &Operator) -> Option<String> {
    match &operator.declared {
        Declaration::Invalid(why) => Some(format!(
            "the operator {operator} declares an invalid maximum OpenShift version: {why}"
        )),
        Declaration::Missing | Declaration::Maximum(..) => None,
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::Version;
    use fairway_compat::olm::MAXIMUM_ANNOTATION;

    use super::*;

    fn cluster(version: &str) -> ClusterVersions {
        let version = Version::parse(version).ok();
        ClusterVersions { desired: version.clone(), completed: version }
    }

    fn review(operation: &str, metadata: &Value) -> Vec<u8> {
        let request = json!({
            "uid": "7", "operation": operation, "namespace": "ns", "name": "etcd.v1",
            "object": { "metadata": metadata, "status": { "reason": null } },
        });
        json!({ "kind": "AdmissionReview", "request": request }).to_string().into_bytes()
    }

    fn up_to(maximum: &str) -> Value {
        json!({ "name": "etcd.v1", "annotations": { MAXIMUM_ANNOTATION: maximum } })
    }

    fn allowed(body: &[u8], cluster: &ClusterVersions) -> bool {
        answer(body, cluster, false).unwrap().body["response"]["allowed"].as_bool().unwrap()
    }

    #[test]
    fn only_installations_of_what_does_not_run_are_refused() {
        let cluster = cluster("4.9.1");
        assert!(!allowed(&review("CREATE", &up_to("4.8")), &cluster));
        assert!(allowed(&review("CREATE", &up_to("4.9")), &cluster));
        assert!(allowed(&review("UPDATE", &up_to("4.8")), &cluster));
        assert!(allowed(&review("DELETE", &up_to("4.8")), &cluster));
        assert!(allowed(&review("CREATE", &up_to("4.8")), &ClusterVersions::default()));
        let mut copy = up_to("4.8");
        copy["labels"] = json!({ "olm.copiedFrom": "elsewhere" });
        assert!(allowed(&review("CREATE", &copy), &cluster));
    }

    #[test]
    fn only_names_are_asked_for() {
        let asked = |namespace: &str, replaces: &Value| {
            let object = json!({ "metadata": up_to("4.8"), "spec": { "replaces": replaces } });
            let request = json!({
                "uid": "7", "operation": "CREATE", "namespace": namespace, "object": object,
            });
            let body = json!({ "request": request }).to_string();
            predecessor(body.as_bytes(), &cluster("4.9.1"))
        };
        let found = Some(("team".to_owned(), "etcd.v1.0.0".to_owned()));
        assert_eq!(asked("team", &json!("etcd.v1.0.0")), found);
        assert_eq!(asked("a/../team", &json!("etcd.v1.0.0")), None);
        for replaces in [json!(null), json!(""), json!("?limit=1"), json!("../other"), json!("A b")]
        {
            assert_eq!(asked("team", &replaces), None, "{replaces}");
        }
    }

    #[test]
    fn what_is_vague_is_allowed_with_a_warning() {
        let answer = answer(&review("CREATE", &up_to("4.x")), &cluster("4.9.1"), false).unwrap();
        assert_eq!(answer.body["response"]["allowed"], true);
        let warning = answer.body["response"]["warnings"][0].as_str().unwrap();
        insta::assert_snapshot!(warning, @r#"the operator ns/etcd.v1 declares an invalid maximum OpenShift version: failed to parse "4.x" as semver: unexpected character 'x' while parsing minor version number"#);
    }

    #[test]
    fn what_is_no_review_has_no_answer() {
        for body in ["", "{}", "[]", r#"{"request":{}}"#, r#"{"request":{"uid":7}}"#] {
            assert!(
                answer(body.as_bytes(), &ClusterVersions::default(), false).is_none(),
                "{body}"
            );
        }
    }
}
