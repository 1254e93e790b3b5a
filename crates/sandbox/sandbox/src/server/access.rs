//! Who may do what, by the roles and bindings that are stored at the moment.

use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;

use super::attributes::Attributes;
use crate::api::{Details, Refusal};
use crate::rbac::{Decision, Policy, User};
use crate::store::{ListOptions, Resource, Selection, Store, WatchFrom, Watcher};

pub(super) const GROUP: &str = "rbac.authorization.k8s.io";

const RESOURCES: [&str; 4] = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];

/// The policy, made anew when one of its parts has changed.
pub(super) struct Access {
    store: Store,
    cache: Mutex<Cache>,
}

struct Cache {
    /// Everything up to here is in the policy.
    revision: u64,
    watchers: Vec<Watcher>,
    policy: Arc<Policy>,
}

impl Access {
    pub(super) fn new(store: Store) -> Self {
        let cache = Cache { revision: 0, watchers: Vec::new(), policy: Arc::default() };
        Self { store, cache: Mutex::new(cache) }
    }

    /// The policy as of now: whoever gets it after a role was written sees that role.
    pub(super) fn policy(&self) -> Arc<Policy> {
        // The cache is whole after each statement, so a poisoned lock guards a whole one.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = self.store.revision();
        if revision != cache.revision {
            if cache.is_outdated() {
                cache.watchers = self.watchers();
                cache.policy = Arc::new(self.read());
            }
            cache.revision = revision;
        }
        Arc::clone(&cache.policy)
    }

    /// Whether the user may do it, and why.
    pub(super) fn decide(&self, user: &User, attributes: &Attributes) -> Decision {
        self.policy().decide(user, &attributes.request())
    }

    /// Refuses what the user may not do.
    pub(super) fn check(&self, user: &User, attributes: &Attributes) -> Result<(), Refusal> {
        match self.decide(user, attributes) {
            Decision::Allowed(_) => Ok(()),
            Decision::Denied => Err(forbidden(user, attributes)),
        }
    }

    fn watchers(&self) -> Vec<Watcher> {
        let from = WatchFrom::After(self.store.revision());
        let watch = |plural: &&str| {
            let resource = Resource::new(GROUP, plural);
            self.store.watch(&resource, Selection::default(), from).ok()
        };
        RESOURCES.iter().filter_map(watch).collect()
    }

    fn read(&self) -> Policy {
        let [cluster_roles, cluster_bindings, roles, bindings] = RESOURCES;
        let mut policy = Policy::default();
        self.all(cluster_roles).for_each(|role| policy.add_cluster_role(role));
        self.all(cluster_bindings).for_each(|binding| policy.add_cluster_role_binding(binding));
        self.all(roles).for_each(|role| policy.add_role(role));
        self.all(bindings).for_each(|binding| policy.add_role_binding(binding));
        policy
    }

    fn all<T: DeserializeOwned>(&self, plural: &str) -> impl Iterator<Item = T> {
        let resource = Resource::new(GROUP, plural);
        let list = self.store.list(&resource, &Selection::default(), &ListOptions::default());
        let items = list.map(|list| list.items).unwrap_or_default();
        items.into_iter().filter_map(|object| T::deserialize(&*object).ok())
    }
}

impl Cache {
    /// Whether something has changed, or may have: a watch that fell behind cannot tell.
    fn is_outdated(&mut self) -> bool {
        self.watchers.len() < RESOURCES.len()
            || self.watchers.iter_mut().any(|it| it.try_next().is_some() || it.end().is_some())
    }
}

/// 403, by the words of the API server.
pub(super) fn forbidden(user: &User, attributes: &Attributes) -> Refusal {
    let (name, verb) = (&user.name, &attributes.verb);
    let Some(objects) = &attributes.objects else {
        let message = format!("forbidden: User {name:?} cannot {verb} path {:?}", attributes.path);
        return Refusal::new(403, "Forbidden", message).about(Details::default());
    };
    let resource = match objects.subresource.as_str() {
        "" => objects.resource.clone(),
        subresource => format!("{}/{subresource}", objects.resource),
    };
    let place = match objects.namespace.as_str() {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    let group = &objects.group;
    let reason =
        format!("User {name:?} cannot {verb} resource {resource:?} in API group {group:?} {place}");
    forbidden_because(group, &objects.resource, &objects.name, &reason)
}

/// 403 about an object, for a reason of its own.
pub(super) fn forbidden_because(group: &str, resource: &str, name: &str, reason: &str) -> Refusal {
    let mut subject = resource.to_owned();
    if !group.is_empty() {
        subject = format!("{subject}.{group}");
    }
    if !name.is_empty() {
        subject = format!("{subject} {name:?}");
    }
    let message = format!("{subject} is forbidden: {reason}");
    Refusal::new(403, "Forbidden", message).about(Details {
        name: name.to_owned(),
        group: group.to_owned(),
        kind: resource.to_owned(),
        ..Details::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::Query;
    use crate::store::{Key, Preconditions};

    fn ann() -> User {
        User { name: "ann".to_owned(), groups: Vec::new() }
    }

    #[test]
    fn a_role_counts_as_soon_as_it_is_written() {
        let store = Store::new(3);
        let access = Access::new(store.clone());
        let list = Attributes::of("GET", "/api/v1/pods", &Query::default());
        assert!(access.check(&ann(), &list).is_err());

        let key = |plural| Key::new(&Resource::new(GROUP, plural), None, "r").unwrap();
        let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }]);
        let role = json!({ "metadata": { "name": "r" }, "rules": rules });
        store.create(&key("clusterroles"), role).unwrap();
        assert!(access.check(&ann(), &list).is_err());

        let role = json!({ "apiGroup": GROUP, "kind": "ClusterRole", "name": "r" });
        let binding = json!({
            "metadata": { "name": "r" },
            "roleRef": role,
            "subjects": [{ "kind": "User", "name": "ann" }],
        });
        store.create(&key("clusterrolebindings"), binding).unwrap();
        assert!(access.check(&ann(), &list).is_ok());

        // More changes than the store keeps.
        for number in 0..5 {
            let role = json!({ "metadata": { "name": "r" }, "rules": rules, "number": number });
            store.update(&key("clusterroles"), role, None).unwrap();
        }
        assert!(access.check(&ann(), &list).is_ok());
        store.delete(&key("clusterroles"), &Preconditions::default()).unwrap();
        assert!(access.check(&ann(), &list).is_err());
    }

    #[test]
    fn a_refusal_says_what_is_missing() {
        for (method, path, expected) in [
            (
                "GET",
                "/api/v1/namespaces/a/configmaps",
                r#"configmaps is forbidden: User "ann" cannot list resource "configmaps" in API group "" in the namespace "a""#,
            ),
            (
                "GET",
                "/apis/apps/v1/deployments",
                r#"deployments.apps is forbidden: User "ann" cannot list resource "deployments" in API group "apps" at the cluster scope"#,
            ),
            (
                "PUT",
                "/api/v1/nodes/x/status",
                r#"nodes "x" is forbidden: User "ann" cannot update resource "nodes/status" in API group "" at the cluster scope"#,
            ),
            ("GET", "/foo", r#"forbidden: User "ann" cannot get path "/foo""#),
        ] {
            let attributes = Attributes::of(method, path, &Query::default());
            assert_eq!(forbidden(&ann(), &attributes).message, expected);
        }
    }
}
