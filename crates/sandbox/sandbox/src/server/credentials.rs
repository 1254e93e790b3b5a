//! Tokens of service accounts over the API: asking for one, and asking whose one is.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenReview};
use serde_json::{Value, json};

use super::identity::{Identity, verify};
use super::invalid::Invalid;
use super::reviews;
use crate::api::{Call, Details, Refusal};
use crate::catalog::Subresource;
use crate::store::{Key, Resource, Store};
use crate::token::{ClusterClaims, Named, TokenError, Tokens};

const GROUP: &str = "authentication.k8s.io";

/// What one gets without asking for more or less.
const DEFAULT_SECONDS: i64 = 60 * 60;

/// The limits of the API server.
const SHORTEST: i64 = 10 * 60;
const LONGEST: i64 = 1 << 32;

/// The answer to a request for or about a token; `None` where the request is something else.
pub(super) fn answer(
    tokens: &Tokens,
    store: &Store,
    call: &Call,
    now: Timestamp,
) -> Option<Result<Value, Refusal>> {
    if call.subresource == Some(Subresource::Token) {
        return Some(request(tokens, store, call, now));
    }
    let is_review = call.resource.group == GROUP && call.resource.kind == "TokenReview";
    is_review.then(|| review(tokens, store, call, now))
}

fn request(tokens: &Tokens, store: &Store, call: &Call, now: Timestamp) -> Result<Value, Refusal> {
    let request: TokenRequest = reviews::typed(call)?;
    let namespace = call.namespace.as_deref().unwrap_or_default();
    let name = call.name.as_deref().unwrap_or_default();
    let seconds = request.spec.expiration_seconds.unwrap_or(DEFAULT_SECONDS);
    check_seconds(seconds)?;
    let account = find(store, "serviceaccounts", namespace, name)?;
    let (mut pod, mut secret) = (None, None);
    if let Some(reference) = &request.spec.bound_object_ref {
        match reference.kind.as_deref() {
            Some("Pod") => pod = Some(bound_pod(store, namespace, name, reference)?),
            Some("Secret") => secret = Some(bound(store, "secrets", namespace, reference)?.0),
            other => {
                let version = reference.api_version.as_deref().unwrap_or_default();
                let kind = other.unwrap_or_default();
                return Err(Refusal::bad_request(format!(
                    "cannot bind token for object of type {version}, Kind={kind}"
                )));
            }
        }
    }
    let audiences = match request.spec.audiences {
        audiences if audiences.is_empty() => vec![tokens.issuer().to_owned()],
        audiences => audiences,
    };
    let serviceaccount = Named { name: name.to_owned(), uid: uid(&account).to_owned() };
    let whose = ClusterClaims { namespace: namespace.to_owned(), pod, secret, serviceaccount };
    let token = tokens.issue(whose, audiences.clone(), seconds, now).map_err(Refusal::internal)?;
    let expires = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
    Ok(json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": { "name": name, "namespace": namespace, "creationTimestamp": format!("{now:.0}") },
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": request.spec.bound_object_ref,
        },
        "status": { "token": token, "expirationTimestamp": format!("{expires:.0}") },
    }))
}

fn check_seconds(seconds: i64) -> Result<(), Refusal> {
    let detail = match seconds {
        ..SHORTEST => "may not specify a duration less than 10 minutes",
        SHORTEST..=LONGEST => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let request = Invalid { kind: "TokenRequest", group: GROUP, ..Invalid::default() };
    Err(request.value("spec.expirationSeconds", &seconds.to_string(), detail))
}

fn bound_pod(
    store: &Store,
    namespace: &str,
    account: &str,
    reference: &BoundObjectReference,
) -> Result<Named, Refusal> {
    let (named, pod) = bound(store, "pods", namespace, reference)?;
    let own = pod.pointer("/spec/serviceAccountName").and_then(Value::as_str).unwrap_or_default();
    if own == account {
        return Ok(named);
    }
    Err(Refusal::bad_request(format!(
        "cannot bind token for serviceaccount {account:?} to pod running with different \
         serviceaccount name."
    )))
}

fn bound(
    store: &Store,
    plural: &str,
    namespace: &str,
    reference: &BoundObjectReference,
) -> Result<(Named, std::sync::Arc<Value>), Refusal> {
    let name = reference.name.as_deref().unwrap_or_default();
    let object = find(store, plural, namespace, name)?;
    let actual = uid(&object).to_owned();
    match reference.uid.as_deref() {
        Some(wanted) if !wanted.is_empty() && wanted != actual => {
            let message = format!(
                "Operation cannot be fulfilled on {plural} {name:?}: the UID in the bound object \
                 reference ({wanted}) does not match the UID in record. The object might have \
                 been deleted and then recreated"
            );
            Err(Refusal::new(409, "Conflict", message).about(details(plural, name)))
        }
        _ => Ok((Named { name: name.to_owned(), uid: actual }, object)),
    }
}

fn find(
    store: &Store,
    plural: &str,
    namespace: &str,
    name: &str,
) -> Result<std::sync::Arc<Value>, Refusal> {
    let key = Key::new(&Resource::new("", plural), Some(namespace), name).ok();
    key.and_then(|key| store.get(&key)).ok_or_else(|| {
        let message = format!("{plural} {name:?} not found");
        Refusal::new(404, "NotFound", message).about(details(plural, name))
    })
}

fn details(plural: &str, name: &str) -> Details {
    Details { name: name.to_owned(), kind: plural.to_owned(), ..Details::default() }
}

fn uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}

fn review(tokens: &Tokens, store: &Store, call: &Call, now: Timestamp) -> Result<Value, Refusal> {
    let review: TokenReview = reviews::typed(call)?;
    let token = review.spec.token.unwrap_or_default();
    if token.is_empty() {
        return Err(Refusal::bad_request("token is required for TokenReview in authentication"));
    }
    let wanted = review.spec.audiences.unwrap_or_default();
    let status = match verify(&token, &wanted, tokens, store, now) {
        Err(TokenError::Audience) => {
            let error = format!("[{}, {}]", TokenError::Invalid, TokenError::Audience);
            json!({ "user": {}, "error": error })
        }
        Err(error) => json!({ "user": {}, "error": error.to_string() }),
        Ok(claims) => {
            let meant = |audience: &&String| wanted.is_empty() || wanted.contains(audience);
            json!({
                "authenticated": true,
                "user": Identity::of_account(&claims).document(),
                "audiences": claims.audiences.iter().filter(meant).collect::<Vec<_>>(),
            })
        }
    };
    reviews::reviewed(call, status)
}
