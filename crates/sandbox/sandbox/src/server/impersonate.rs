//! Acting as somebody else, by the headers `Impersonate-…`.

use std::collections::BTreeMap;

use http::HeaderMap;

use super::attributes::{Attributes, Objects};
use super::identity::{ANONYMOUS, AUTHENTICATED, Identity, UNAUTHENTICATED};
use crate::rbac::User;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";
const AUTHENTICATION: &str = "authentication.k8s.io";

/// Somebody was to be impersonated without being named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("groups, a uid or extra fields were requested without impersonating a user name")]
pub(super) struct Nobody;

/// Whom a request wants to act as; `None` where it does not.
pub(super) fn wanted(headers: &HeaderMap) -> Result<Option<Identity>, Nobody> {
    let texts = |name: &str| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.map(str::to_owned).collect::<Vec<_>>()
    };
    let name = texts(USER).into_iter().next().unwrap_or_default();
    let (groups, uid, extra) = (texts(GROUP), texts(UID).into_iter().next(), extra(headers));
    if name.is_empty() {
        let alone = groups.is_empty() && uid.is_none() && extra.is_empty();
        return if alone { Ok(None) } else { Err(Nobody) };
    }
    let user = User { name, groups };
    Ok(Some(Identity { user, uid: uid.unwrap_or_default(), extra }))
}

fn extra(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        if let (Some(key), Ok(value)) = (name.as_str().strip_prefix(EXTRA), value.to_str()) {
            extra.entry(key.to_owned()).or_default().push(value.to_owned());
        }
    }
    extra
}

/// Everything that has to be allowed for it.
pub(super) fn required(wanted: &Identity) -> Vec<Attributes> {
    let attributes = |objects| Attributes {
        verb: "impersonate".to_owned(),
        path: String::new(),
        objects: Some(objects),
    };
    let named = |group: &str, resource: &str, name: &str| Objects {
        group: group.to_owned(),
        version: "v1".to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        ..Objects::default()
    };
    let user = match account(&wanted.user.name) {
        Some((namespace, name)) => {
            Objects { namespace: namespace.to_owned(), ..named("", "serviceaccounts", name) }
        }
        None => named("", "users", &wanted.user.name),
    };
    let groups = wanted.user.groups.iter().map(|group| named("", "groups", group));
    let uid = (!wanted.uid.is_empty()).then(|| named(AUTHENTICATION, "uids", &wanted.uid));
    let extra = wanted.extra.iter().flat_map(|(key, values)| {
        values.iter().map(move |value| Objects {
            subresource: key.clone(),
            ..named(AUTHENTICATION, "userextras", value)
        })
    });
    [user].into_iter().chain(groups).chain(uid).chain(extra).map(attributes).collect()
}

/// Whom the request acts as, with the groups that nobody has to name.
pub(super) fn complete(mut wanted: Identity) -> Identity {
    let user = &mut wanted.user;
    if let (true, Some((namespace, _))) = (user.groups.is_empty(), account(&user.name)) {
        let of_namespace = format!("system:serviceaccounts:{namespace}");
        user.groups = vec!["system:serviceaccounts".to_owned(), of_namespace];
    }
    let implied = if user.name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
    let decided = [AUTHENTICATED, UNAUTHENTICATED];
    if !user.groups.iter().any(|group| decided.contains(&group.as_str())) {
        user.groups.push(implied.to_owned());
    }
    wanted
}

fn account(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("system:serviceaccount:")?.split_once(':')
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn nobody_is_impersonated_without_a_name() {
        assert_eq!(wanted(&headers(&[])), Ok(None));
        for header in [(GROUP, "g"), (UID, "u"), ("impersonate-extra-a", "b")] {
            assert_eq!(wanted(&headers(&[header])), Err(Nobody), "{header:?}");
        }
    }

    #[test]
    fn everything_that_is_taken_has_to_be_allowed() {
        let headers =
            headers(&[(USER, "ann"), (GROUP, "g"), (UID, "u"), ("impersonate-extra-a", "b")]);
        let required = required(&wanted(&headers).unwrap().unwrap());
        let required: Vec<_> = required.iter().filter_map(|it| it.objects.clone()).collect();
        let required: Vec<_> =
            required.iter().map(|it| (it.resource.as_str(), it.name.as_str())).collect();
        assert_eq!(
            required,
            [("users", "ann"), ("groups", "g"), ("uids", "u"), ("userextras", "b")]
        );
    }

    #[test]
    fn groups_that_go_without_saying() {
        for (name, groups, expected) in [
            ("ann", vec![], vec![AUTHENTICATED]),
            ("ann", vec!["g"], vec!["g", AUTHENTICATED]),
            ("system:anonymous", vec![], vec![UNAUTHENTICATED]),
            (
                "system:serviceaccount:a:b",
                vec![],
                vec!["system:serviceaccounts", "system:serviceaccounts:a", AUTHENTICATED],
            ),
        ] {
            let groups = groups.into_iter().map(str::to_owned).collect();
            let user = User { name: name.to_owned(), groups };
            let complete = complete(Identity { user, ..Identity::default() });
            assert_eq!(complete.user.groups, expected, "{name}");
        }
    }
}
