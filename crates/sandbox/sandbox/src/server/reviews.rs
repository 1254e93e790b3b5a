//! Access reviews, token reviews and token requests.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenReview};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SelfSubjectRulesReview, SubjectAccessReviewSpec,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::authn::{UserInfo, verify_token};
use super::authz::Authorizer;
use crate::api::{ApiRequest, ApiResult, RequestBody, StatusDetails, StatusError};
use crate::catalog::Subresource;
use crate::rbac::{AccessRequest, Decision, Grant, User};
use crate::store::Store;
use crate::token::{ClusterClaims, ObjectIdentity, TokenError, Tokens};

const AUTHORIZATION_GROUP: &str = "authorization.k8s.io";
const AUTHENTICATION_GROUP: &str = "authentication.k8s.io";

/// Default token lifetime.
const DEFAULT_EXPIRATION_SECONDS: i64 = 60 * 60;

/// Limits of the API server for token lifetimes.
const MIN_EXPIRATION_SECONDS: i64 = 10 * 60;
const MAX_EXPIRATION_SECONDS: i64 = 1 << 32;

/// Handles access reviews; `None` for other requests.
pub(super) fn handle_access_review(
    authorizer: &Authorizer,
    user_info: &UserInfo,
    request: &ApiRequest,
) -> Option<ApiResult<Value>> {
    let (group, kind) = (request.resource.group.as_str(), request.resource.kind.as_str());
    match (group, kind) {
        ("authentication.k8s.io", "SelfSubjectReview") => {
            Some(review_response(request, json!({ "userInfo": user_info.to_document() })))
        }
        (AUTHORIZATION_GROUP, "SelfSubjectRulesReview") => {
            Some(rules_review(authorizer, user_info, request))
        }
        (AUTHORIZATION_GROUP, "SelfSubjectAccessReview") => {
            Some(self_access_review(authorizer, user_info, request))
        }
        (AUTHORIZATION_GROUP, "SubjectAccessReview" | "LocalSubjectAccessReview") => {
            Some(subject_access_review(authorizer, request))
        }
        _ => None,
    }
}

fn self_access_review(
    authorizer: &Authorizer,
    user_info: &UserInfo,
    request: &ApiRequest,
) -> ApiResult<Value> {
    let spec: SubjectAccessReviewSpec = review_spec(request)?;
    decide(authorizer, request, &spec, &user_info.user)
}

fn subject_access_review(authorizer: &Authorizer, request: &ApiRequest) -> ApiResult<Value> {
    let spec: SubjectAccessReviewSpec = review_spec(request)?;
    let groups = spec.groups.clone().unwrap_or_default();
    let user = User { name: spec.user.clone().unwrap_or_default(), groups };
    if user.name.is_empty() && user.groups.is_empty() {
        return Err(invalid_review(
            "spec.user",
            "\"\"",
            "at least one of user or group must be specified",
        ));
    }
    if let Some(namespace) = &request.namespace {
        let requested = spec.resource_attributes.as_ref().and_then(|it| it.namespace.clone());
        let requested = requested.unwrap_or_default();
        if requested != *namespace {
            let (field, value) = ("spec.resourceAttributes.namespace", format!("{requested:?}"));
            return Err(invalid_review(field, &value, "must match metadata.namespace"));
        }
    }
    decide(authorizer, request, &spec, &user)
}

fn decide(
    authorizer: &Authorizer,
    request: &ApiRequest,
    spec: &SubjectAccessReviewSpec,
    user: &User,
) -> ApiResult<Value> {
    let decision = match (&spec.resource_attributes, &spec.non_resource_attributes) {
        (Some(objects), None) => authorizer.policy().decide(user, &resource_request(objects)),
        (None, Some(path)) => authorizer.policy().decide(user, &path_request(path)),
        (None, None) => {
            let detail =
                "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            return Err(invalid_review("spec.resourceAttributes", "\"null\"", detail));
        }
        (Some(_), Some(NonResourceAttributes { path, verb })) => {
            let path = path.as_deref().unwrap_or_default();
            let verb = verb.as_deref().unwrap_or_default();
            let value =
                format!("authorization.NonResourceAttributes{{Path:{path:?}, Verb:{verb:?}}}");
            let detail = "cannot be specified in combination with resourceAttributes";
            return Err(invalid_review("spec.nonResourceAttributes", &value, detail));
        }
    };
    let mut status = json!({ "allowed": decision.is_allowed() });
    if let Decision::Allowed(grant @ Grant::Binding { .. }) = decision {
        status["reason"] = json!(grant.to_string());
    }
    review_response(request, status)
}

fn resource_request(objects: &ResourceAttributes) -> AccessRequest<'_> {
    AccessRequest::Resource {
        verb: objects.verb.as_deref().unwrap_or_default(),
        group: objects.group.as_deref().unwrap_or_default(),
        resource: objects.resource.as_deref().unwrap_or_default(),
        subresource: objects.subresource.as_deref().unwrap_or_default(),
        namespace: objects.namespace.as_deref().unwrap_or_default(),
        name: objects.name.as_deref().unwrap_or_default(),
    }
}

fn path_request(path: &NonResourceAttributes) -> AccessRequest<'_> {
    AccessRequest::Path {
        verb: path.verb.as_deref().unwrap_or_default(),
        path: path.path.as_deref().unwrap_or_default(),
    }
}

fn rules_review(
    authorizer: &Authorizer,
    user_info: &UserInfo,
    request: &ApiRequest,
) -> ApiResult<Value> {
    let review: SelfSubjectRulesReview = decode_review(request)?;
    let namespace = review.spec.namespace.unwrap_or_default();
    if namespace.is_empty() {
        return Err(StatusError::bad_request("no namespace on request"));
    }
    let policy = authorizer.policy();
    let rules = policy.rules_of(&user_info.user, &namespace);
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
    let mut response = review_response(request, status)?;
    // The API server returns an empty spec.
    response["spec"] = json!({});
    Ok(response)
}

fn without_nulls(mut document: Value) -> Value {
    if let Some(fields) = document.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    document
}

fn review_spec<T: DeserializeOwned + Default>(request: &ApiRequest) -> ApiResult<T> {
    #[derive(Deserialize)]
    struct Review<T> {
        spec: Option<T>,
    }
    Ok(decode_review::<Review<T>>(request)?.spec.unwrap_or_default())
}

/// Decodes the review in the body.
pub(super) fn decode_review<T: DeserializeOwned>(request: &ApiRequest) -> ApiResult<T> {
    let RequestBody::Object(object) = &request.body else {
        return Err(StatusError::bad_request("expected a review object"));
    };
    check_kind(request, object)?;
    let mut review = object.clone();
    if let Some(fields) = review.as_object_mut() {
        // The server sets the status.
        fields.remove("status");
    }
    T::deserialize(review).map_err(|error| {
        let (kind, version) = (review_kind(request), &request.resource.version);
        StatusError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {error}"
        ))
    })
}

fn check_kind(request: &ApiRequest, object: &Value) -> ApiResult<()> {
    let expected = review_kind(request);
    match object.get("kind").and_then(Value::as_str) {
        None | Some("") => Ok(()),
        Some(found) if found == expected => Ok(()),
        Some(found) => {
            let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
            let short = version.rsplit('/').next().unwrap_or_default();
            Err(StatusError::bad_request(format!(
                "{found} in version {short:?} cannot be handled as a {expected}: \
                 no kind {found:?} is registered for version {version:?}"
            )))
        }
    }
}

fn review_kind(request: &ApiRequest) -> &str {
    let own = request.subresource.and_then(Subresource::own_kind);
    own.map_or(&*request.resource.kind, |(_, _, kind)| kind)
}

/// The review with its status.
pub(super) fn review_response(request: &ApiRequest, status: Value) -> ApiResult<Value> {
    let RequestBody::Object(review) = &request.body else {
        return Err(StatusError::bad_request("expected a review object"));
    };
    let mut response = review.clone();
    if let Some(fields) = response.as_object_mut() {
        fields.insert("kind".to_owned(), json!(request.resource.kind));
        fields.insert("apiVersion".to_owned(), json!(request.resource.api_version()));
        fields.insert("status".to_owned(), status);
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("creationTimestamp".to_owned(), Value::Null);
        }
    }
    Ok(response)
}

/// 422 for a review. The API server omits the kind.
fn invalid_review(field: &str, value: &str, detail: &str) -> StatusError {
    StatusError::invalid_value(("", AUTHORIZATION_GROUP, ""), field, value, detail)
}

/// Handles `TokenRequest` and `TokenReview`; `None` for other requests.
pub(super) fn handle_token_request(
    tokens: &Tokens,
    store: &Store,
    request: &ApiRequest,
    now: Timestamp,
) -> Option<ApiResult<Value>> {
    if request.subresource == Some(Subresource::Token) {
        return Some(issue_token(tokens, store, request, now));
    }
    let is_review =
        request.resource.group == AUTHENTICATION_GROUP && request.resource.kind == "TokenReview";
    is_review.then(|| review_token(tokens, store, request, now))
}

fn issue_token(
    tokens: &Tokens,
    store: &Store,
    request: &ApiRequest,
    now: Timestamp,
) -> ApiResult<Value> {
    let token_request: TokenRequest = decode_review(request)?;
    let namespace = request.namespace.as_deref().unwrap_or_default();
    let name = request.name.as_deref().unwrap_or_default();
    let seconds = token_request.spec.expiration_seconds.unwrap_or(DEFAULT_EXPIRATION_SECONDS);
    check_expiration(seconds)?;
    let object = find_object(store, "serviceaccounts", namespace, name)?;
    let (mut pod, mut secret) = (None, None);
    if let Some(reference) = &token_request.spec.bound_object_ref {
        match reference.kind.as_deref() {
            Some("Pod") => pod = Some(bound_pod(store, namespace, name, reference)?),
            Some("Secret") => {
                secret = Some(bound_object(store, "secrets", namespace, reference)?.0);
            }
            other => {
                let version = reference.api_version.as_deref().unwrap_or_default();
                let kind = other.unwrap_or_default();
                return Err(StatusError::bad_request(format!(
                    "cannot bind token for object of type {version}, Kind={kind}"
                )));
            }
        }
    }
    let audiences = match token_request.spec.audiences {
        audiences if audiences.is_empty() => vec![tokens.issuer().to_owned()],
        audiences => audiences,
    };
    let serviceaccount =
        ObjectIdentity { name: name.to_owned(), uid: object_uid(&object).to_owned() };
    let claims = ClusterClaims { namespace: namespace.to_owned(), pod, secret, serviceaccount };
    let token =
        tokens.issue(claims, audiences.clone(), seconds, now).map_err(StatusError::internal)?;
    let expires = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
    Ok(json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": { "name": name, "namespace": namespace, "creationTimestamp": format!("{now:.0}") },
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": token_request.spec.bound_object_ref,
        },
        "status": { "token": token, "expirationTimestamp": format!("{expires:.0}") },
    }))
}

fn check_expiration(seconds: i64) -> ApiResult<()> {
    let detail = match seconds {
        ..MIN_EXPIRATION_SECONDS => "may not specify a duration less than 10 minutes",
        MIN_EXPIRATION_SECONDS..=MAX_EXPIRATION_SECONDS => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let token_request = ("TokenRequest", AUTHENTICATION_GROUP, "");
    let (field, value) = ("spec.expirationSeconds", seconds.to_string());
    Err(StatusError::invalid_value(token_request, field, &value, detail))
}

fn bound_pod(
    store: &Store,
    namespace: &str,
    service_account: &str,
    reference: &BoundObjectReference,
) -> ApiResult<ObjectIdentity> {
    let (identity, pod) = bound_object(store, "pods", namespace, reference)?;
    let actual_name =
        pod.pointer("/spec/serviceAccountName").and_then(Value::as_str).unwrap_or_default();
    if actual_name == service_account {
        return Ok(identity);
    }
    Err(StatusError::bad_request(format!(
        "cannot bind token for serviceaccount {service_account:?} to pod running with different \
         serviceaccount name."
    )))
}

fn bound_object(
    store: &Store,
    plural: &str,
    namespace: &str,
    reference: &BoundObjectReference,
) -> ApiResult<(ObjectIdentity, Arc<Value>)> {
    let name = reference.name.as_deref().unwrap_or_default();
    let object = find_object(store, plural, namespace, name)?;
    let actual = object_uid(&object).to_owned();
    match reference.uid.as_deref() {
        Some(requested) if !requested.is_empty() && requested != actual => {
            let message = format!(
                "Operation cannot be fulfilled on {plural} {name:?}: the UID in the bound object \
                 reference ({requested}) does not match the UID in record. The object might have \
                 been deleted and then recreated"
            );
            Err(StatusError::new(409, "Conflict", message)
                .with_details(object_details(plural, name)))
        }
        _ => Ok((ObjectIdentity { name: name.to_owned(), uid: actual }, object)),
    }
}

fn find_object(store: &Store, plural: &str, namespace: &str, name: &str) -> ApiResult<Arc<Value>> {
    store.find("", plural, Some(namespace), name).ok_or_else(|| {
        let message = format!("{plural} {name:?} not found");
        StatusError::new(404, "NotFound", message).with_details(object_details(plural, name))
    })
}

fn object_details(plural: &str, name: &str) -> StatusDetails {
    StatusDetails { name: name.to_owned(), kind: plural.to_owned(), ..StatusDetails::default() }
}

fn object_uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}

fn review_token(
    tokens: &Tokens,
    store: &Store,
    request: &ApiRequest,
    now: Timestamp,
) -> ApiResult<Value> {
    let review: TokenReview = decode_review(request)?;
    let token = review.spec.token.unwrap_or_default();
    if token.is_empty() {
        return Err(StatusError::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let requested = review.spec.audiences.unwrap_or_default();
    let status = match verify_token(&token, &requested, tokens, store, now) {
        Err(TokenError::Audience) => {
            let error = format!("[{}, {}]", TokenError::Invalid, TokenError::Audience);
            json!({ "user": {}, "error": error })
        }
        Err(error) => json!({ "user": {}, "error": error.to_string() }),
        Ok(claims) => {
            let is_requested =
                |audience: &&String| requested.is_empty() || requested.contains(audience);
            json!({
                "authenticated": true,
                "user": UserInfo::from_claims(&claims).to_document(),
                "audiences": claims.audiences.iter().filter(is_requested).collect::<Vec<_>>(),
            })
        }
    };
    review_response(request, status)
}
