//! Questions about access: who am I, what may I do, what may somebody do.

use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SelfSubjectRulesReview, SubjectAccessReviewSpec,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::access::Access;
use super::identity::Identity;
use super::invalid::Invalid;
use crate::api::{Body, Call, Refusal};
use crate::rbac::{Decision, Grant, Request, User};

const GROUP: &str = "authorization.k8s.io";

/// The answer to a question about access; `None` where the request is something else.
pub(super) fn answer(
    access: &Access,
    actor: &Identity,
    call: &Call,
) -> Option<Result<Value, Refusal>> {
    let (group, kind) = (call.resource.group.as_str(), call.resource.kind.as_str());
    match (group, kind) {
        ("authentication.k8s.io", "SelfSubjectReview") => {
            Some(reviewed(call, json!({ "userInfo": actor.document() })))
        }
        (GROUP, "SelfSubjectRulesReview") => Some(rules(access, actor, call)),
        (GROUP, "SelfSubjectAccessReview") => Some(own_access(access, actor, call)),
        (GROUP, "SubjectAccessReview" | "LocalSubjectAccessReview") => {
            Some(others_access(access, call))
        }
        _ => None,
    }
}

fn own_access(access: &Access, actor: &Identity, call: &Call) -> Result<Value, Refusal> {
    let spec: SubjectAccessReviewSpec = spec(call)?;
    decided(access, call, &spec, &actor.user)
}

fn others_access(access: &Access, call: &Call) -> Result<Value, Refusal> {
    let spec: SubjectAccessReviewSpec = spec(call)?;
    let groups = spec.groups.clone().unwrap_or_default();
    let user = User { name: spec.user.clone().unwrap_or_default(), groups };
    if user.name.is_empty() && user.groups.is_empty() {
        return Err(invalid(
            "spec.user",
            "\"\"",
            "at least one of user or group must be specified",
        ));
    }
    if let Some(namespace) = &call.namespace {
        let asked = spec.resource_attributes.as_ref().and_then(|it| it.namespace.clone());
        let asked = asked.unwrap_or_default();
        if asked != *namespace {
            let (field, value) = ("spec.resourceAttributes.namespace", format!("{asked:?}"));
            return Err(invalid(field, &value, "must match metadata.namespace"));
        }
    }
    decided(access, call, &spec, &user)
}

fn decided(
    access: &Access,
    call: &Call,
    spec: &SubjectAccessReviewSpec,
    user: &User,
) -> Result<Value, Refusal> {
    let decision = match (&spec.resource_attributes, &spec.non_resource_attributes) {
        (Some(objects), None) => access.policy().decide(user, &about_objects(objects)),
        (None, Some(path)) => access.policy().decide(user, &about_path(path)),
        (None, None) => {
            let detail =
                "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            return Err(invalid("spec.resourceAttributes", "\"null\"", detail));
        }
        (Some(_), Some(NonResourceAttributes { path, verb })) => {
            let path = path.as_deref().unwrap_or_default();
            let verb = verb.as_deref().unwrap_or_default();
            let value =
                format!("authorization.NonResourceAttributes{{Path:{path:?}, Verb:{verb:?}}}");
            let detail = "cannot be specified in combination with resourceAttributes";
            return Err(invalid("spec.nonResourceAttributes", &value, detail));
        }
    };
    let mut status = json!({ "allowed": decision.is_allowed() });
    if let Decision::Allowed(grant @ Grant::Binding { .. }) = decision {
        status["reason"] = json!(grant.to_string());
    }
    reviewed(call, status)
}

fn about_objects(objects: &ResourceAttributes) -> Request<'_> {
    Request::Resource {
        verb: objects.verb.as_deref().unwrap_or_default(),
        group: objects.group.as_deref().unwrap_or_default(),
        resource: objects.resource.as_deref().unwrap_or_default(),
        subresource: objects.subresource.as_deref().unwrap_or_default(),
        namespace: objects.namespace.as_deref().unwrap_or_default(),
        name: objects.name.as_deref().unwrap_or_default(),
    }
}

fn about_path(path: &NonResourceAttributes) -> Request<'_> {
    Request::Path {
        verb: path.verb.as_deref().unwrap_or_default(),
        path: path.path.as_deref().unwrap_or_default(),
    }
}

fn rules(access: &Access, actor: &Identity, call: &Call) -> Result<Value, Refusal> {
    let review: SelfSubjectRulesReview = typed(call)?;
    let namespace = review.spec.namespace.unwrap_or_default();
    if namespace.is_empty() {
        return Err(Refusal::bad_request("no namespace on request"));
    }
    let policy = access.policy();
    let rules = policy.rules_of(&actor.user, &namespace);
    let is_empty = |words: &Option<Vec<String>>| words.as_ref().is_none_or(Vec::is_empty);
    let objects = rules.iter().filter(|rule| !is_empty(&rule.resources));
    let objects = objects.map(|rule| {
        json!({
            "verbs": rule.verbs,
            "apiGroups": rule.api_groups,
            "resources": rule.resources,
            "resourceNames": rule.resource_names,
        })
    });
    let paths = rules.iter().filter(|rule| !is_empty(&rule.non_resource_urls));
    let paths =
        paths.map(|rule| json!({ "verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls }));
    let status = json!({
        "resourceRules": objects.map(without_nulls).collect::<Vec<_>>(),
        "nonResourceRules": paths.collect::<Vec<_>>(),
        "incomplete": false,
    });
    let mut answer = reviewed(call, status)?;
    // The API server does not repeat the question.
    answer["spec"] = json!({});
    Ok(answer)
}

fn without_nulls(mut document: Value) -> Value {
    if let Some(fields) = document.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    document
}

fn spec<T: DeserializeOwned + Default>(call: &Call) -> Result<T, Refusal> {
    #[derive(Deserialize)]
    struct Review<T> {
        spec: Option<T>,
    }
    Ok(typed::<Review<T>>(call)?.spec.unwrap_or_default())
}

/// The question, as the type that it has to be.
pub(super) fn typed<T: DeserializeOwned>(call: &Call) -> Result<T, Refusal> {
    let Body::Object(object) = &call.body else {
        return Err(Refusal::bad_request("expected a review object"));
    };
    check_kind(call, object)?;
    let mut question = object.clone();
    if let Some(fields) = question.as_object_mut() {
        // Whatever the client says of the answer is of no interest.
        fields.remove("status");
    }
    T::deserialize(question).map_err(|error| {
        let (kind, version) = (kind(call), &call.resource.version);
        Refusal::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {error}"
        ))
    })
}

fn check_kind(call: &Call, object: &Value) -> Result<(), Refusal> {
    let expected = kind(call);
    match object.get("kind").and_then(Value::as_str) {
        None | Some("") => Ok(()),
        Some(found) if found == expected => Ok(()),
        Some(found) => {
            let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
            let short = version.rsplit('/').next().unwrap_or_default();
            Err(Refusal::bad_request(format!(
                "{found} in version {short:?} cannot be handled as a {expected}: \
                 no kind {found:?} is registered for version {version:?}"
            )))
        }
    }
}

fn kind(call: &Call) -> &str {
    let own = call.subresource.and_then(crate::catalog::Subresource::own_kind);
    own.map_or(&*call.resource.kind, |(_, _, kind)| kind)
}

/// The question with its answer.
pub(super) fn reviewed(call: &Call, status: Value) -> Result<Value, Refusal> {
    let Body::Object(question) = &call.body else {
        return Err(Refusal::bad_request("expected a review object"));
    };
    let mut answer = question.clone();
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("kind".to_owned(), json!(call.resource.kind));
        fields.insert("apiVersion".to_owned(), json!(call.resource.api_version()));
        fields.insert("status".to_owned(), status);
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("creationTimestamp".to_owned(), Value::Null);
        }
    }
    Ok(answer)
}

/// The API server leaves out what it is about.
fn invalid(field: &str, value: &str, detail: &str) -> Refusal {
    Invalid { group: GROUP, ..Invalid::default() }.value(field, value, detail)
}
