//! Role-based access control with the rules of the API server.
//!
//! Everything that no rule allows is denied. A binding with a missing or invalid role allows
//! nothing.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};

/// Members of this group are always allowed.
const MASTERS_GROUP: &str = "system:masters";

/// A user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The groups.
    pub groups: Vec<String>,
}

/// A request to authorize.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessRequest<'a> {
    /// A request for objects.
    Resource {
        /// Such as `get`, or `create`.
        verb: &'a str,
        /// The API group, empty for the core.
        group: &'a str,
        /// The plural resource name.
        resource: &'a str,
        /// The subresource; may be empty.
        subresource: &'a str,
        /// The namespace; empty for cluster-scoped objects and for all namespaces.
        namespace: &'a str,
        /// The name; empty for collections.
        name: &'a str,
    },
    /// A request for a path that is not a resource.
    Path {
        /// Such as `get`.
        verb: &'a str,
        /// Such as `/healthz`.
        path: &'a str,
    },
}

/// The decision about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Allowed, with the reason.
    Allowed(Grant),
    /// No rule allows it.
    Denied,
}

impl Decision {
    /// Whether it is allowed.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }
}

/// Why a request is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// The user is a member of `system:masters`.
    Masters,
    /// A binding allows it.
    Binding {
        /// The kind and name of the binding.
        binding: String,
        /// The kind and name of the role.
        role: String,
        /// The matching subject.
        subject: String,
    },
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Masters => write!(f, "the user is in the group {MASTERS_GROUP:?}"),
            Self::Binding { binding, role, subject } => {
                write!(f, "RBAC: allowed by {binding} of {role} to {subject}")
            }
        }
    }
}

/// All roles and bindings of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    cluster_roles: BTreeMap<String, Vec<PolicyRule>>,
    roles: BTreeMap<(String, String), Vec<PolicyRule>>,
    cluster_bindings: Vec<Binding>,
    bindings: BTreeMap<String, Vec<Binding>>,
}

#[derive(Clone, Debug)]
struct Binding {
    label: String,
    role: RoleRef,
    subjects: Vec<Subject>,
}

impl Policy {
    /// Adds a `ClusterRole`.
    pub fn add_cluster_role(&mut self, role: ClusterRole) {
        let name = role.metadata.name.unwrap_or_default();
        self.cluster_roles.insert(name, role.rules.unwrap_or_default());
    }

    /// Adds a `Role`.
    pub fn add_role(&mut self, role: Role) {
        let name = role.metadata.name.unwrap_or_default();
        let namespace = role.metadata.namespace.unwrap_or_default();
        self.roles.insert((namespace, name), role.rules.unwrap_or_default());
    }

    /// Adds a `ClusterRoleBinding`.
    pub fn add_cluster_role_binding(&mut self, binding: ClusterRoleBinding) {
        let label = format!("ClusterRoleBinding {:?}", binding.metadata.name.unwrap_or_default());
        let subjects = binding.subjects.unwrap_or_default();
        self.cluster_bindings.push(Binding { label, role: binding.role_ref, subjects });
    }

    /// Adds a `RoleBinding`.
    pub fn add_role_binding(&mut self, binding: RoleBinding) {
        let namespace = binding.metadata.namespace.unwrap_or_default();
        let name = binding.metadata.name.unwrap_or_default();
        let label = format!("RoleBinding {:?}", format!("{name}/{namespace}"));
        let subjects = binding.subjects.unwrap_or_default();
        let binding = Binding { label, role: binding.role_ref, subjects };
        self.bindings.entry(namespace).or_default().push(binding);
    }

    /// Whether the user is allowed.
    pub fn decide(&self, user: &User, request: &AccessRequest<'_>) -> Decision {
        if user.groups.iter().any(|group| group == MASTERS_GROUP) {
            return Decision::Allowed(Grant::Masters);
        }
        let everywhere = self.cluster_bindings.iter();
        let in_namespace = match request {
            AccessRequest::Resource { namespace, .. } => self.bindings.get(*namespace),
            AccessRequest::Path { .. } => None,
        };
        let namespace = match request {
            AccessRequest::Resource { namespace, .. } => namespace,
            AccessRequest::Path { .. } => "",
        };
        let mut grants = everywhere
            .map(|binding| (binding, ""))
            .chain(in_namespace.into_iter().flatten().map(|binding| (binding, namespace)))
            .filter_map(|(binding, namespace)| self.grant(binding, namespace, user, request));
        grants.next().map_or(Decision::Denied, Decision::Allowed)
    }

    /// All rules of a user in a namespace, including cluster-wide ones.
    pub fn rules_of(&self, user: &User, namespace: &str) -> Vec<&PolicyRule> {
        let everywhere = self.cluster_bindings.iter().map(|binding| (binding, ""));
        let here = self.bindings.get(namespace).into_iter().flatten();
        let bindings = everywhere.chain(here.map(|binding| (binding, namespace)));
        let held = bindings.filter(|(binding, namespace)| {
            binding.subjects.iter().any(|subject| subject_matches(user, subject, namespace))
        });
        held.filter_map(|(binding, namespace)| self.rules(&binding.role, namespace))
            .flatten()
            .collect()
    }

    fn grant(
        &self,
        binding: &Binding,
        namespace: &str,
        user: &User,
        request: &AccessRequest<'_>,
    ) -> Option<Grant> {
        let subject =
            binding.subjects.iter().find(|subject| subject_matches(user, subject, namespace))?;
        self.rules(&binding.role, namespace)?.iter().find(|rule| allows(rule, request))?;
        Some(Grant::Binding {
            binding: binding.label.clone(),
            role: format!("{} {:?}", binding.role.kind, binding.role.name),
            subject: subject_text(subject, namespace),
        })
    }

    /// The rules of a role, if a binding in this namespace can refer to it.
    pub fn rules(&self, role: &RoleRef, namespace: &str) -> Option<&Vec<PolicyRule>> {
        match role.kind.as_str() {
            "ClusterRole" => self.cluster_roles.get(&role.name),
            "Role" => self.roles.get(&(namespace.to_owned(), role.name.clone())),
            _ => None,
        }
    }
}

/// Whether a subject matches the user.
fn subject_matches(user: &User, subject: &Subject, binding_namespace: &str) -> bool {
    match subject.kind.as_str() {
        "User" => user.name == subject.name,
        "Group" => user.groups.contains(&subject.name),
        "ServiceAccount" => {
            let namespace = subject.namespace.as_deref().unwrap_or(binding_namespace);
            let account = user.name.strip_prefix("system:serviceaccount:");
            !namespace.is_empty()
                && account.and_then(|account| account.split_once(':'))
                    == Some((namespace, subject.name.as_str()))
        }
        _ => false,
    }
}

fn subject_text(subject: &Subject, binding_namespace: &str) -> String {
    let namespace = subject.namespace.as_deref().unwrap_or(binding_namespace);
    match subject.kind.as_str() {
        "ServiceAccount" => format!("ServiceAccount {:?}", format!("{}/{namespace}", subject.name)),
        kind => format!("{kind} {:?}", subject.name),
    }
}

fn allows(rule: &PolicyRule, request: &AccessRequest<'_>) -> bool {
    let any_of = |words: &Option<Vec<String>>, matches: &dyn Fn(&str) -> bool| {
        words.iter().flatten().any(|word| word == "*" || matches(word))
    };
    let verb_matches = |verb: &str| rule.verbs.iter().any(|word| word == "*" || word == verb);
    match *request {
        AccessRequest::Resource { verb, group, resource, subresource, name, .. } => {
            verb_matches(verb)
                && any_of(&rule.api_groups, &|word| word == group)
                && any_of(&rule.resources, &|word| resource_matches(word, resource, subresource))
                && name_matches(rule.resource_names.as_deref().unwrap_or_default(), name)
        }
        AccessRequest::Path { verb, path } => {
            verb_matches(verb)
                && any_of(&rule.non_resource_urls, &|word| {
                    let prefix = word.strip_suffix('*');
                    word == path || prefix.is_some_and(|prefix| path.starts_with(prefix))
                })
        }
    }
}

/// Whether the resource of a rule matches: `pods`, `pods/log`, or `*/scale` for every resource.
fn resource_matches(word: &str, resource: &str, subresource: &str) -> bool {
    if subresource.is_empty() {
        return word == resource;
    }
    word.split_once('/')
        .is_some_and(|(of, sub)| sub == subresource && (of == "*" || of == resource))
}

/// Whether the resource names of a rule match. Rules with names do not match requests without one.
fn name_matches(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|listed| listed == name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(rules: &serde_json::Value) -> Policy {
        let mut policy = Policy::default();
        let role = json!({ "metadata": { "name": "r" }, "rules": rules });
        policy.add_cluster_role(serde_json::from_value(role).unwrap());
        let subjects = json!([
            { "kind": "User", "name": "ann" },
            { "kind": "Group", "name": "admins" },
            { "kind": "ServiceAccount", "name": "robot", "namespace": "a" },
            { "kind": "ServiceAccount", "name": "homeless" },
        ]);
        let role_ref = json!({ "apiGroup": "", "kind": "ClusterRole", "name": "r" });
        let binding =
            json!({ "metadata": { "name": "b" }, "roleRef": role_ref, "subjects": subjects });
        policy.add_cluster_role_binding(serde_json::from_value(binding).unwrap());
        policy
    }

    fn ann() -> User {
        User { name: "ann".into(), groups: Vec::new() }
    }

    fn get<'a>(resource: &'a str, subresource: &'a str, name: &'a str) -> AccessRequest<'a> {
        AccessRequest::Resource {
            verb: "get",
            group: "",
            resource,
            subresource,
            namespace: "a",
            name,
        }
    }

    #[test]
    fn resources_and_subresources_match_separately() {
        for (resources, resource, subresource, allowed) in [
            (json!(["pods"]), "pods", "", true),
            (json!(["pods"]), "pods", "log", false),
            (json!(["pods/log"]), "pods", "log", true),
            (json!(["pods/log"]), "pods", "", false),
            (json!(["*/scale"]), "deployments", "scale", true),
            (json!(["*/scale"]), "deployments", "status", false),
            (json!(["*"]), "anything", "at-all", true),
            (json!(["pods/*"]), "pods", "log", false),
        ] {
            let policy =
                policy(&json!([{ "apiGroups": [""], "resources": resources, "verbs": ["get"] }]));
            let decision = policy.decide(&ann(), &get(resource, subresource, "x"));
            assert_eq!(decision.is_allowed(), allowed, "{resources} {resource}/{subresource}");
        }
    }

    #[test]
    fn resource_names_restrict_requests() {
        let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["x"] }]);
        let policy = policy(&rules);
        assert!(policy.decide(&ann(), &get("pods", "", "x")).is_allowed());
        assert!(!policy.decide(&ann(), &get("pods", "", "y")).is_allowed());
        assert!(!policy.decide(&ann(), &get("pods", "", "")).is_allowed());
    }

    #[test]
    fn paths_match_exactly_or_by_prefix() {
        let policy =
            policy(&json!([{ "nonResourceURLs": ["/healthz", "/api/*"], "verbs": ["get"] }]));
        for (path, allowed) in
            [("/healthz", true), ("/healthz/etcd", false), ("/api/v1", true), ("/apis", false)]
        {
            let request = AccessRequest::Path { verb: "get", path };
            assert_eq!(policy.decide(&ann(), &request).is_allowed(), allowed, "{path}");
        }
    }

    #[test]
    fn subjects_match_users_groups_and_service_accounts() {
        let policy = policy(&json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]));
        for (name, groups, allowed) in [
            ("ann", vec![], true),
            ("bob", vec![], false),
            ("bob", vec!["admins"], true),
            ("system:serviceaccount:a:robot", vec![], true),
            ("system:serviceaccount:b:robot", vec![], false),
            ("robot", vec![], false),
            ("system:serviceaccount::homeless", vec![], false),
        ] {
            let groups = groups.into_iter().map(str::to_owned).collect();
            let user = User { name: name.to_owned(), groups };
            assert_eq!(
                policy.decide(&user, &get("pods", "", "x")).is_allowed(),
                allowed,
                "{user:?}"
            );
        }
    }

    #[test]
    fn decision_states_its_reason() {
        let policy = policy(&json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["*"] }]));
        let Decision::Allowed(grant) = policy.decide(&ann(), &get("pods", "", "x")) else {
            panic!("it is allowed");
        };
        assert_eq!(
            grant.to_string(),
            r#"RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "ann""#
        );
        let master = User { name: "m".into(), groups: vec![MASTERS_GROUP.into()] };
        assert_eq!(
            Policy::default().decide(&master, &get("x", "", "")),
            Decision::Allowed(Grant::Masters)
        );
    }
}
