//! What an API server asks, and what it is answered.

use std::collections::BTreeMap;

use fairway_compat::olm::{ClusterVersions, Declaration, Operator, install, is_copied};
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
    status: Option<Status>,
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

/// Answers a review; `None` if it is none. Whatever is not the installation of an operator that is
/// known not to run on this cluster is allowed.
pub(crate) fn answer(body: &[u8], cluster: &ClusterVersions) -> Option<Answer> {
    let Review { request } = serde_json::from_slice(body).ok()?;
    let operator = installation(&request);
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
            "the operator {operator} does not say clearly up to which version of OpenShift it runs: {why}"
        )),
        Declaration::Missing | Declaration::Maximum(..) => None,
    }
}
