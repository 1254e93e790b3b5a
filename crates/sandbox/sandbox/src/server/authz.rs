//! Authorization by the stored roles and bindings.

use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;

use crate::api::{ApiResult, QueryParams, StatusDetails, StatusError};
use crate::rbac::{AccessRequest, Decision, Policy, User};
use crate::selector::{Field, FieldSelector};
use crate::store::{ResourceKey, Selection, Store, WatchFrom, Watcher};

pub(super) const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
const RBAC_RESOURCES: [&str; 4] = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];

/// Segments after the name of a namespace that are its subresources.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// The RBAC policy of the stored roles and bindings, rebuilt when one of them changes.
pub(super) struct Authorizer {
    store: Store,
    cache: Mutex<PolicyCache>,
}

struct PolicyCache {
    /// Revision up to which the policy is current.
    revision: u64,
    watchers: Vec<Watcher>,
    policy: Arc<Policy>,
}

impl Authorizer {
    pub(super) fn new(store: Store) -> Self {
        let cache = PolicyCache { revision: 0, watchers: Vec::new(), policy: Arc::default() };
        Self { store, cache: Mutex::new(cache) }
    }

    /// The current policy. A role that is written before this call is included.
    pub(super) fn policy(&self) -> Arc<Policy> {
        // The cache is consistent after each statement, so a poisoned lock is safe to use.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = self.store.revision();
        if revision != cache.revision {
            if cache.is_outdated() {
                cache.watchers = self.watchers();
                cache.policy = Arc::new(self.read_policy());
            }
            cache.revision = revision;
        }
        Arc::clone(&cache.policy)
    }

    /// Whether the user is allowed, and by which binding.
    pub(super) fn decide(&self, user: &User, attributes: &RequestAttributes) -> Decision {
        self.policy().decide(user, &attributes.access_request())
    }

    /// Returns 403 if the user is not allowed.
    pub(super) fn check(&self, user: &User, attributes: &RequestAttributes) -> ApiResult<()> {
        match self.decide(user, attributes) {
            Decision::Allowed(_) => Ok(()),
            Decision::Denied => Err(forbidden(user, attributes)),
        }
    }

    fn watchers(&self) -> Vec<Watcher> {
        let from = WatchFrom::After(self.store.revision());
        let watch = |plural: &&str| {
            let resource = ResourceKey::new(RBAC_GROUP, plural);
            self.store.watch(&resource, Selection::default(), from).ok()
        };
        RBAC_RESOURCES.iter().filter_map(watch).collect()
    }

    fn read_policy(&self) -> Policy {
        let [cluster_roles, cluster_bindings, roles, bindings] = RBAC_RESOURCES;
        let mut policy = Policy::default();
        self.list(cluster_roles).for_each(|role| policy.add_cluster_role(role));
        self.list(cluster_bindings).for_each(|binding| policy.add_cluster_role_binding(binding));
        self.list(roles).for_each(|role| policy.add_role(role));
        self.list(bindings).for_each(|binding| policy.add_role_binding(binding));
        policy
    }

    fn list<T: DeserializeOwned>(&self, plural: &str) -> impl Iterator<Item = T> {
        let objects = self.store.all(RBAC_GROUP, plural);
        objects.into_iter().filter_map(|object| T::deserialize(&*object).ok())
    }
}

impl PolicyCache {
    /// Whether a role or binding changed, or may have: a watch that fell behind has missed events.
    fn is_outdated(&mut self) -> bool {
        self.watchers.len() < RBAC_RESOURCES.len()
            || self.watchers.iter_mut().any(|it| it.try_next().is_some() || it.end().is_some())
    }
}

/// 403 with the message of the API server.
pub(super) fn forbidden(user: &User, attributes: &RequestAttributes) -> StatusError {
    let (name, verb) = (&user.name, &attributes.verb);
    let Some(objects) = &attributes.objects else {
        let message = format!("forbidden: User {name:?} cannot {verb} path {:?}", attributes.path);
        return StatusError::new(403, "Forbidden", message).with_details(StatusDetails::default());
    };
    let resource = match objects.subresource.as_str() {
        "" => objects.resource.clone(),
        subresource => format!("{}/{subresource}", objects.resource),
    };
    let scope = match objects.namespace.as_str() {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    let group = &objects.group;
    let reason =
        format!("User {name:?} cannot {verb} resource {resource:?} in API group {group:?} {scope}");
    forbidden_object(group, &objects.resource, &objects.name, &reason)
}

/// 403 for an object, with a reason.
pub(super) fn forbidden_object(
    group: &str,
    resource: &str,
    name: &str,
    reason: &str,
) -> StatusError {
    let mut subject = resource.to_owned();
    if !group.is_empty() {
        subject = format!("{subject}.{group}");
    }
    if !name.is_empty() {
        subject = format!("{subject} {name:?}");
    }
    let message = format!("{subject} is forbidden: {reason}");
    StatusError::new(403, "Forbidden", message).with_details(StatusDetails {
        name: name.to_owned(),
        group: group.to_owned(),
        kind: resource.to_owned(),
        ..StatusDetails::default()
    })
}

/// Authorization attributes of a request, by its path alone, whether it is served or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestAttributes {
    /// The verb, or the lowercase method for non-resource paths.
    pub(super) verb: String,
    /// The path without the query.
    pub(super) path: String,
    /// `None` for non-resource paths.
    pub(super) objects: Option<RequestedObjects>,
}

/// The requested objects. Missing parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestedObjects {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) resource: String,
    pub(super) subresource: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl RequestAttributes {
    /// Attributes of a method and a decoded path.
    pub(super) fn new(method: &str, path: &str, query: &QueryParams) -> Self {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let (group, version, rest) = match *segments {
            ["api", version, ref rest @ ..] if !rest.is_empty() => ("", version, rest),
            ["apis", group, version, ref rest @ ..] if !rest.is_empty() => (group, version, rest),
            _ => {
                let verb = method.to_ascii_lowercase();
                return Self { verb, path: path.to_owned(), objects: None };
            }
        };
        let mut objects = below_version(rest);
        let verb = verb(method, &mut objects, query).to_owned();
        let objects =
            RequestedObjects { group: group.to_owned(), version: version.to_owned(), ..objects };
        Self { verb, path: path.to_owned(), objects: Some(objects) }
    }

    /// The RBAC request.
    pub(super) fn access_request(&self) -> AccessRequest<'_> {
        let Some(objects) = &self.objects else {
            return AccessRequest::Path { verb: &self.verb, path: &self.path };
        };
        AccessRequest::Resource {
            verb: &self.verb,
            group: &objects.group,
            resource: &objects.resource,
            subresource: &objects.subresource,
            namespace: &objects.namespace,
            name: &objects.name,
        }
    }
}

fn below_version(rest: &[&str]) -> RequestedObjects {
    let (namespace, rest) = match *rest {
        ["namespaces", namespace, below, ..] if !NAMESPACE_SUBRESOURCES.contains(&below) => {
            (namespace, &rest[2..])
        }
        ["namespaces", namespace, ..] => (namespace, rest),
        _ => ("", rest),
    };
    let part = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
    RequestedObjects {
        namespace: namespace.to_owned(),
        resource: part(0),
        name: part(1),
        subresource: part(2),
        ..RequestedObjects::default()
    }
}

/// The verb of a resource request. Lists and watches that select one name are requests for that
/// name, as in the API server.
fn verb(method: &str, objects: &mut RequestedObjects, query: &QueryParams) -> &'static str {
    match method {
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" if objects.name.is_empty() => "deletecollection",
        "DELETE" => "delete",
        "GET" | "HEAD" if objects.name.is_empty() => {
            let selector = query.get("fieldSelector").unwrap_or_default();
            let selector = FieldSelector::parse(selector, &Field::METADATA).unwrap_or_default();
            selector.exact("metadata.name").unwrap_or_default().clone_into(&mut objects.name);
            match query.get("watch") {
                None | Some("0") => "list",
                Some(word) if word.eq_ignore_ascii_case("false") => "list",
                Some(_) => "watch",
            }
        }
        "GET" | "HEAD" => "get",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::api::QueryParams;
    use crate::store::Key;

    use super::*;

    fn ann() -> User {
        User { name: "ann".to_owned(), groups: Vec::new() }
    }

    #[test]
    fn policy_includes_roles_as_soon_as_they_are_written() {
        let store = Store::new(3);
        let authorizer = Authorizer::new(store.clone());
        let list = RequestAttributes::new("GET", "/api/v1/pods", &QueryParams::default());
        assert!(authorizer.check(&ann(), &list).is_err());

        let key = |plural| Key::new(&ResourceKey::new(RBAC_GROUP, plural), None, "r").unwrap();
        let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }]);
        let role = json!({ "metadata": { "name": "r" }, "rules": rules });
        store.create(&key("clusterroles"), role).unwrap();
        assert!(authorizer.check(&ann(), &list).is_err());

        let role = json!({ "apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "r" });
        let binding = json!({
            "metadata": { "name": "r" },
            "roleRef": role,
            "subjects": [{ "kind": "User", "name": "ann" }],
        });
        store.create(&key("clusterrolebindings"), binding).unwrap();
        assert!(authorizer.check(&ann(), &list).is_ok());

        // More changes than the history of the store.
        for number in 0..5 {
            let role = json!({ "metadata": { "name": "r" }, "rules": rules, "number": number });
            store.update(&key("clusterroles"), role, None).unwrap();
        }
        assert!(authorizer.check(&ann(), &list).is_ok());
        store.delete(&key("clusterroles"), None).unwrap();
        assert!(authorizer.check(&ann(), &list).is_err());
    }

    #[test]
    fn attributes_by_method_path_and_query() {
        for (method, path, query, expected) in [
            ("GET", "/healthz", "", "get /healthz"),
            ("GET", "/api/v1", "", "get /api/v1"),
            ("GET", "/apis/apps/v1", "", "get /apis/apps/v1"),
            ("GET", "/api/v1/pods", "", "list - - pods - -"),
            ("GET", "/api/v1/pods", "watch", "watch - - pods - -"),
            ("GET", "/api/v1/pods", "watch=false", "list - - pods - -"),
            ("GET", "/api/v1/pods", "fieldSelector=metadata.name%3Dx", "list - - pods x -"),
            ("HEAD", "/api/v1/nodes/n", "", "get - - nodes n -"),
            ("POST", "/api/v1/namespaces/a/pods", "", "create a - pods - -"),
            ("PUT", "/api/v1/namespaces/a/pods/x/status", "", "update a - pods x status"),
            ("PUT", "/api/v1/namespaces/a/finalize", "", "update a - namespaces a finalize"),
            ("GET", "/api/v1/namespaces/a", "", "get a - namespaces a -"),
            ("GET", "/api/v1/namespaces", "", "list - - namespaces - -"),
            ("PATCH", "/apis/x.org/v2/namespaces/a/ys/y", "", "patch a x.org ys y -"),
            ("DELETE", "/apis/x.org/v2/ys", "", "deletecollection - x.org ys - -"),
            ("DELETE", "/apis/x.org/v2/ys/y", "", "delete - x.org ys y -"),
        ] {
            let attributes = RequestAttributes::new(method, path, &QueryParams::parse(query));
            let shown = match &attributes.objects {
                None => format!("{} {}", attributes.verb, attributes.path),
                Some(it) => {
                    let words = [&it.namespace, &it.group, &it.resource, &it.name, &it.subresource];
                    let words = words.map(|word| if word.is_empty() { "-" } else { word });
                    format!("{} {}", attributes.verb, words.join(" "))
                }
            };
            assert_eq!(shown, expected, "{method} {path}?{query}");
        }
    }
}
