//! Authentication: client certificates, tokens, in-process clients, and impersonation.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::authz::{RequestAttributes, RequestedObjects};
use crate::rbac::User;
use crate::store::Store;
use crate::token::{Claims, ObjectIdentity, TokenError, Tokens};

pub(super) const ANONYMOUS: &str = "system:anonymous";
pub(super) const UNAUTHENTICATED: &str = "system:unauthenticated";
pub(super) const AUTHENTICATED: &str = "system:authenticated";
const USER_HEADER: &str = "impersonate-user";
const GROUP_HEADER: &str = "impersonate-group";
const UID_HEADER: &str = "impersonate-uid";
const EXTRA_HEADER_PREFIX: &str = "impersonate-extra-";
const AUTHENTICATION_GROUP: &str = "authentication.k8s.io";

/// An authenticated user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// Name and groups.
    pub user: User,
    /// The UID; may be empty.
    pub uid: String,
    /// Extra attributes.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Request extension with the user of an in-process client, which needs no credentials.
#[derive(Clone, Debug)]
pub struct Caller(pub User);

impl UserInfo {
    /// Identity of an authenticated user.
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

    /// Identity of a ServiceAccount token.
    pub(super) fn from_claims(claims: &Claims) -> Self {
        let mut extra = BTreeMap::new();
        if let Some(ObjectIdentity { name, uid }) = &claims.cluster.pod {
            extra.insert("authentication.kubernetes.io/pod-name".to_owned(), vec![name.clone()]);
            extra.insert("authentication.kubernetes.io/pod-uid".to_owned(), vec![uid.clone()]);
        }
        let uid = claims.cluster.serviceaccount.uid.clone();
        Self { user: claims.cluster.user(), uid, extra }
    }

    /// `UserInfo` of reviews and audit events. Empty fields are omitted.
    pub(super) fn to_document(&self) -> Value {
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

/// Credentials of a request.
#[derive(Clone, Copy)]
pub(super) struct Credentials<'a> {
    pub(super) caller: Option<&'a User>,
    pub(super) certificate: Option<&'a User>,
    pub(super) headers: &'a HeaderMap,
}

/// Authenticates a request. An invalid token is an error, missing credentials are anonymous.
pub(super) fn authenticate(
    credentials: Credentials<'_>,
    tokens: &Tokens,
    store: &Store,
    now: Timestamp,
) -> Result<UserInfo, TokenError> {
    if let Some(user) = credentials.caller.or(credentials.certificate) {
        return Ok(UserInfo::authenticated(user.clone()));
    }
    match bearer_token(credentials.headers) {
        None => Ok(UserInfo::anonymous()),
        Some(token) => {
            let claims = verify_token(token, &[], tokens, store, now)?;
            Ok(UserInfo::from_claims(&claims))
        }
    }
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Verifies a token and that the objects it is bound to exist.
pub(super) fn verify_token(
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
    let is_present = |(plural, identity): (&str, Option<&ObjectIdentity>)| {
        identity.is_none_or(|identity| exists(store, plural, &cluster.namespace, identity))
    };
    if bound.into_iter().all(is_present) { Ok(claims) } else { Err(TokenError::Invalid) }
}

fn exists(store: &Store, plural: &str, namespace: &str, identity: &ObjectIdentity) -> bool {
    let object = store.find("", plural, Some(namespace), &identity.name);
    object.is_some_and(|object| {
        object.pointer("/metadata/uid").and_then(Value::as_str) == Some(&identity.uid)
    })
}

/// Impersonation headers without a user name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("groups, a uid or extra fields were requested without impersonating a user name")]
pub(super) struct MissingUserName;

/// The impersonated user; `None` if the request has no impersonation headers.
pub(super) fn impersonated_user(headers: &HeaderMap) -> Result<Option<UserInfo>, MissingUserName> {
    let values_of = |name: &str| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.map(str::to_owned).collect::<Vec<_>>()
    };
    let name = values_of(USER_HEADER).into_iter().next().unwrap_or_default();
    let (groups, uid, extra) = (
        values_of(GROUP_HEADER),
        values_of(UID_HEADER).into_iter().next(),
        extra_attributes(headers),
    );
    if name.is_empty() {
        let alone = groups.is_empty() && uid.is_none() && extra.is_empty();
        return if alone { Ok(None) } else { Err(MissingUserName) };
    }
    let user = User { name, groups };
    Ok(Some(UserInfo { user, uid: uid.unwrap_or_default(), extra }))
}

fn extra_attributes(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        if let (Some(key), Ok(value)) =
            (name.as_str().strip_prefix(EXTRA_HEADER_PREFIX), value.to_str())
        {
            extra.entry(key.to_owned()).or_default().push(value.to_owned());
        }
    }
    extra
}

/// The permissions that the impersonation requires.
pub(super) fn required_permissions(user_info: &UserInfo) -> Vec<RequestAttributes> {
    let attributes = |objects| RequestAttributes {
        verb: "impersonate".to_owned(),
        path: String::new(),
        objects: Some(objects),
    };
    let objects = |group: &str, resource: &str, name: &str| RequestedObjects {
        group: group.to_owned(),
        version: "v1".to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        ..RequestedObjects::default()
    };
    let user = match service_account(&user_info.user.name) {
        Some((namespace, name)) => RequestedObjects {
            namespace: namespace.to_owned(),
            ..objects("", "serviceaccounts", name)
        },
        None => objects("", "users", &user_info.user.name),
    };
    let groups = user_info.user.groups.iter().map(|group| objects("", "groups", group));
    let uid =
        (!user_info.uid.is_empty()).then(|| objects(AUTHENTICATION_GROUP, "uids", &user_info.uid));
    let extra = user_info.extra.iter().flat_map(|(key, values)| {
        values.iter().map(move |value| RequestedObjects {
            subresource: key.clone(),
            ..objects(AUTHENTICATION_GROUP, "userextras", value)
        })
    });
    [user].into_iter().chain(groups).chain(uid).chain(extra).map(attributes).collect()
}

/// Adds the implied groups of an impersonated user.
pub(super) fn with_implied_groups(mut user_info: UserInfo) -> UserInfo {
    let user = &mut user_info.user;
    if let (true, Some((namespace, _))) = (user.groups.is_empty(), service_account(&user.name)) {
        let of_namespace = format!("system:serviceaccounts:{namespace}");
        user.groups = vec!["system:serviceaccounts".to_owned(), of_namespace];
    }
    let implied = if user.name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
    let decided = [AUTHENTICATED, UNAUTHENTICATED];
    if !user.groups.iter().any(|group| decided.contains(&group.as_str())) {
        user.groups.push(implied.to_owned());
    }
    user_info
}

fn service_account(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("system:serviceaccount:")?.split_once(':')
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn bearer_token_by_authorization_header() {
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

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn impersonation_without_user_name_is_refused() {
        assert_eq!(impersonated_user(&headers(&[])), Ok(None));
        for header in [(GROUP_HEADER, "g"), (UID_HEADER, "u"), ("impersonate-extra-a", "b")] {
            assert_eq!(impersonated_user(&headers(&[header])), Err(MissingUserName), "{header:?}");
        }
    }

    #[test]
    fn impersonation_requires_permission_for_each_attribute() {
        let headers = headers(&[
            (USER_HEADER, "ann"),
            (GROUP_HEADER, "g"),
            (UID_HEADER, "u"),
            ("impersonate-extra-a", "b"),
        ]);
        let required = required_permissions(&impersonated_user(&headers).unwrap().unwrap());
        let required: Vec<_> = required.iter().filter_map(|it| it.objects.clone()).collect();
        let required: Vec<_> =
            required.iter().map(|it| (it.resource.as_str(), it.name.as_str())).collect();
        assert_eq!(
            required,
            [("users", "ann"), ("groups", "g"), ("uids", "u"), ("userextras", "b")]
        );
    }
}
