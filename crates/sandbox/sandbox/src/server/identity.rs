//! Who asks: by a client certificate, by a token, or nobody.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::rbac::User;
use crate::store::{Key, Resource, Store};
use crate::token::{Claims, Named, TokenError, Tokens};

pub(super) const ANONYMOUS: &str = "system:anonymous";
pub(super) const UNAUTHENTICATED: &str = "system:unauthenticated";
pub(super) const AUTHENTICATED: &str = "system:authenticated";

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The name and the groups.
    pub user: User,
    /// What tells users of the same name apart; empty where nothing does.
    pub uid: String,
    /// What else is known.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// A request that carries this is from that user, whatever else it carries: how clients in this
/// process say who they are.
#[derive(Clone, Debug)]
pub struct Caller(pub User);

impl Identity {
    /// Of a user who proved it.
    pub(super) fn authenticated(mut user: User) -> Self {
        if !user.groups.iter().any(|group| group == AUTHENTICATED) {
            user.groups.push(AUTHENTICATED.to_owned());
        }
        Self { user, ..Self::default() }
    }

    pub(super) fn anonymous() -> Self {
        let groups = vec![UNAUTHENTICATED.to_owned()];
        Self { user: User { name: ANONYMOUS.to_owned(), groups }, ..Self::default() }
    }

    /// Of the holder of a token.
    pub(super) fn of_account(claims: &Claims) -> Self {
        let mut extra = BTreeMap::new();
        if let Some(Named { name, uid }) = &claims.cluster.pod {
            extra.insert("authentication.kubernetes.io/pod-name".to_owned(), vec![name.clone()]);
            extra.insert("authentication.kubernetes.io/pod-uid".to_owned(), vec![uid.clone()]);
        }
        let uid = claims.cluster.serviceaccount.uid.clone();
        Self { user: claims.cluster.user(), uid, extra }
    }

    /// As reviews and the audit log show it; what is empty is left out.
    pub(super) fn document(&self) -> Value {
        let mut document = json!({ "username": self.user.name });
        if !self.uid.is_empty() {
            document["uid"] = json!(self.uid);
        }
        if !self.user.groups.is_empty() {
            document["groups"] = json!(self.user.groups);
        }
        if !self.extra.is_empty() {
            document["extra"] = json!(self.extra);
        }
        document
    }
}

/// What a request shows to prove who asks.
#[derive(Clone, Copy)]
pub(super) struct Proof<'a> {
    pub(super) caller: Option<&'a User>,
    pub(super) certificate: Option<&'a User>,
    pub(super) headers: &'a HeaderMap,
}

/// Who asks; an error where a token is shown that is worth nothing.
pub(super) fn authenticate(
    proof: Proof<'_>,
    tokens: &Tokens,
    store: &Store,
    now: Timestamp,
) -> Result<Identity, TokenError> {
    if let Some(user) = proof.caller.or(proof.certificate) {
        return Ok(Identity::authenticated(user.clone()));
    }
    match bearer_token(proof.headers) {
        None => Ok(Identity::anonymous()),
        Some(token) => {
            let claims = verify(token, &[], tokens, store, now)?;
            Ok(Identity::of_account(&claims))
        }
    }
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// What a token says, if it holds and whatever it is bound to is still there.
pub(super) fn verify(
    token: &str,
    audiences: &[String],
    tokens: &Tokens,
    store: &Store,
    now: Timestamp,
) -> Result<Claims, TokenError> {
    let claims = tokens.verify(token, audiences, now)?;
    let cluster = &claims.cluster;
    let bound = [
        ("serviceaccounts", Some(&cluster.serviceaccount)),
        ("pods", cluster.pod.as_ref()),
        ("secrets", cluster.secret.as_ref()),
    ];
    let is_there = |(plural, named): (&str, Option<&Named>)| {
        named.is_none_or(|named| exists(store, plural, &cluster.namespace, named))
    };
    if bound.into_iter().all(is_there) { Ok(claims) } else { Err(TokenError::Invalid) }
}

fn exists(store: &Store, plural: &str, namespace: &str, named: &Named) -> bool {
    let Ok(key) = Key::new(&Resource::new("", plural), Some(namespace), &named.name) else {
        return false;
    };
    let object = store.get(&key);
    object.is_some_and(|object| {
        object.pointer("/metadata/uid").and_then(Value::as_str) == Some(&named.uid)
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_bearer_tokens_count() {
        for (header, expected) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Bearer ", None),
            ("Bearer", None),
            ("Basic abc", None),
        ] {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static(header))]);
            assert_eq!(bearer_token(&headers), expected, "{header:?}");
        }
    }
}
