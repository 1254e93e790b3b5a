//! Verification of the RBAC manifests of a check.
//!
//! A check may have a ServiceAccount, roles, and bindings of these roles to this ServiceAccount.
//! They reference no other objects of the cluster, and all of them are renamed.

use serde_json::Value;

use super::job;
use super::rules::{self, Field, Scope};
use super::{ACCOUNT, ANNOTATION, AccessPolicy, JobRefusal, NAMESPACE};
use crate::{consent, text};

/// Maximum number of RBAC manifests of a check.
const MAX_OBJECTS: usize = 20;

/// Maximum bytes of all RBAC manifests.
const MAX_BYTES: usize = 64 << 10;

/// Maximum length of a name, without the suffix that is added.
const MAX_NAME: usize = 180;

/// API group of roles.
pub(super) const GROUP: &str = "rbac.authorization.k8s.io";

/// `apiVersion` of roles.
pub(super) const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Verified RBAC manifests of a check.
#[derive(Debug, Default)]
pub(super) struct Access<'a> {
    /// Name of its ServiceAccount.
    pub(super) account: Option<&'a str>,
    pub(super) roles: Vec<Grant<'a, Rules<'a>>>,
    /// Bindings of its roles to its ServiceAccount.
    pub(super) bindings: Vec<Grant<'a, RoleRef<'a>>>,
}

/// A role or a binding.
#[derive(Debug)]
pub(super) struct Grant<'a, T> {
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
    /// Empty for cluster-scoped kinds.
    pub(super) namespace: &'a str,
    pub(super) content: T,
}

/// Verified rules of a role.
pub(super) type Rules<'a> = &'a Value;

/// Role of a binding.
#[derive(Debug)]
pub(super) struct RoleRef<'a> {
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
}

/// Verifies the RBAC manifests of a check that uses this ServiceAccount.
pub(super) fn vet<'a>(
    check: &str,
    access: &'a [Value],
    account_name: &str,
) -> Result<Access<'a>, JobRefusal> {
    let size: usize = access.iter().map(|manifest| manifest.to_string().len()).sum();
    if access.len() > MAX_OBJECTS || size > MAX_BYTES {
        let why = "a check may have at most 20 RBAC manifests, with 64 KiB in total";
        let (object, field) = (check.to_owned(), "access".to_owned());
        return Err(JobRefusal::Access { object, field, why });
    }
    let manifests: Vec<_> = access.iter().map(Manifest::new).collect();
    let account = own_account(&manifests)?;
    if account_name != account.map_or("", |account| account.name)
        && !["", ACCOUNT].contains(&account_name)
    {
        let field = "spec.template.spec.serviceAccountName".to_owned();
        let why = "a check must use its own ServiceAccount or preflight-check";
        return Err(JobRefusal::Job { field, why });
    }
    let roles = manifests.iter().filter_map(|manifest| manifest.role().transpose());
    let roles = roles.collect::<Result<Vec<_>, _>>()?;
    let bindings = manifests.iter().filter_map(|one| one.binding(&roles, account).transpose());
    let bindings = bindings.collect::<Result<Vec<_>, _>>()?;
    Ok(Access { account: account.map(|account| account.name), roles, bindings })
}

/// ServiceAccount of the check, if any. Fails if a manifest has another kind than checks may have.
fn own_account<'m, 'a>(
    manifests: &'m [Manifest<'a>],
) -> Result<Option<&'m Manifest<'a>>, JobRefusal> {
    let mut account = None;
    for manifest in manifests {
        manifest.verify_kind()?;
        if manifest.is("v1", "ServiceAccount") && account.replace(manifest).is_some() {
            return manifest
                .refuse(&manifest.root.field("kind"), "a check may have only one ServiceAccount");
        }
    }
    Ok(account)
}

struct Manifest<'a> {
    root: Field<'a>,
    kind: &'a str,
    name: &'a str,
    namespace: &'a str,
}

impl<'a> Manifest<'a> {
    fn new(value: &'a Value) -> Self {
        let root = Field::root(value);
        let kind = root.field("kind").text();
        let name = root.at(&["metadata", "name"]).text();
        let namespace = root.at(&["metadata", "namespace"]).text();
        Self { root, kind, name, namespace }
    }

    fn is(&self, version: &str, kind: &str) -> bool {
        (self.root.field("apiVersion").text(), self.kind) == (version, kind)
    }

    fn verify_kind(&self) -> Result<(), JobRefusal> {
        let is_cluster_wide = ["ClusterRole", "ClusterRoleBinding"].contains(&self.kind);
        let is_known = self.is("v1", "ServiceAccount")
            || self.is(RBAC, self.kind)
                && (is_cluster_wide || ["Role", "RoleBinding"].contains(&self.kind));
        let annotation = self.root.at(&["metadata", "annotations", ANNOTATION]);
        let namespace = self.root.at(&["metadata", "namespace"]);
        if !is_known {
            let why = "a check may contain only a ServiceAccount, roles and role bindings";
            return self.refuse(&self.root.field("kind"), why);
        }
        if annotation.text() != "true" {
            return self.refuse(&annotation, "must be \"true\" for an object of a check");
        }
        if !is_name(self.name) {
            return self.refuse(&self.root.at(&["metadata", "name"]), "not a valid name");
        }
        if is_cluster_wide == is_name(self.namespace) {
            return self.refuse(
                &namespace,
                "namespaced objects require a namespace, and \
                                            cluster-scoped objects must not have one",
            );
        }
        if self.namespace == NAMESPACE && self.kind != "ServiceAccount" {
            return self.refuse(
                &namespace,
                "a check must not have permissions in the namespace of preflight checks",
            );
        }
        Ok(())
    }

    fn role(&self) -> Result<Option<Grant<'a, Rules<'a>>>, JobRefusal> {
        let scope = match self.kind {
            "Role" => Scope::Namespace,
            "ClusterRole" => Scope::Cluster,
            _ => return Ok(None),
        };
        let read_only = rules::read_only(self.root.value, scope);
        read_only.map_err(|(field, why)| self.refusal(field, why))?;
        Ok(Some(self.grant(self.root.field("rules").value)))
    }

    fn binding(
        &self,
        roles: &[Grant<'_, Rules<'_>>],
        account: Option<&Self>,
    ) -> Result<Option<Grant<'a, RoleRef<'a>>>, JobRefusal> {
        if !["RoleBinding", "ClusterRoleBinding"].contains(&self.kind) {
            return Ok(None);
        }
        let field = self.root.field("roleRef");
        let role = RoleRef { kind: field.field("kind").text(), name: field.field("name").text() };
        let is_bound = |own: &Grant<'_, Rules<'_>>| {
            let is_here = own.namespace.is_empty() || own.namespace == self.namespace;
            (own.kind, own.name) == (role.kind, role.name) && is_here
        };
        if !roles.iter().any(is_bound) {
            return self.refuse(&field, "a check may bind only its own roles");
        }
        self.verify_subjects(account)?;
        Ok(Some(self.grant(role)))
    }

    fn verify_subjects(&self, account: Option<&Self>) -> Result<(), JobRefusal> {
        let why = "a check may bind its roles only to its own ServiceAccount";
        let account = account.map(|account| ("ServiceAccount", account.name, account.namespace));
        let subjects = self.root.field("subjects");
        for subject in subjects.items() {
            let [kind, name, namespace] =
                ["kind", "name", "namespace"].map(|name| subject.field(name).text());
            if account != Some((kind, name, namespace)) {
                return self.refuse(&subject, why);
            }
        }
        if subjects.is_set() { Ok(()) } else { self.refuse(&subjects, why) }
    }

    fn grant<T>(&self, content: T) -> Grant<'a, T> {
        Grant { kind: self.kind, name: self.name, namespace: self.namespace, content }
    }

    fn refuse<T>(&self, field: &Field<'_>, why: &'static str) -> Result<T, JobRefusal> {
        Err(self.refusal(field.path.clone(), why))
    }

    fn refusal(&self, field: String, why: &'static str) -> JobRefusal {
        let object = named(self.root.value);
        JobRefusal::Access { object, field, why }
    }
}

/// Whether all kinds allow the name, with the suffix that is added.
fn is_name(text: &str) -> bool {
    text.len() <= MAX_NAME && consent::is_name(text)
}

/// Kind and name of a manifest.
pub(super) fn named(manifest: &Value) -> String {
    let Manifest { kind, name, .. } = Manifest::new(manifest);
    text::beginning(&format!("{kind} {name}"), MAX_NAME)
}

/// Permissions of a check beyond those of all checks, as messages. Empty if they are refused, or if
/// the check does not use its own ServiceAccount. Without a policy, these are the permissions that
/// the check requests.
pub fn granted(
    check: &str,
    job: &Value,
    manifests: &[Value],
    policy: Option<&AccessPolicy>,
) -> Vec<String> {
    let pod = Field::root(job).at(&["spec", "template", "spec"]);
    let Ok(account_name) = job::account(&pod) else { return Vec::new() };
    let Ok(access) = vet(check, manifests, account_name) else { return Vec::new() };
    if policy.is_some_and(|policy| policy.verify(manifests, &access).is_err()) {
        return Vec::new();
    }
    let Some(account) = access.account.filter(|account| *account == account_name) else {
        return Vec::new();
    };
    let rules = access.bindings.iter().flat_map(|binding| binding_permissions(binding, &access));
    std::iter::once(format!("own ServiceAccount {account}")).chain(rules).collect()
}

/// Permissions of a binding.
fn binding_permissions(binding: &Grant<'_, RoleRef<'_>>, access: &Access<'_>) -> Vec<String> {
    let scope = match binding.namespace {
        "" => "cluster-wide".to_owned(),
        namespace => format!("in {namespace}"),
    };
    let is_bound = |kind: &str, name: &str, namespace: &str| {
        (kind, name) == (binding.content.kind, binding.content.name)
            && (namespace.is_empty() || namespace == binding.namespace)
    };
    let roles = access.roles.iter().filter(|role| is_bound(role.kind, role.name, role.namespace));
    let given = roles.flat_map(|role| role.content.as_array().into_iter().flatten());
    given.map(|rule| format!("{} {scope}", rule_permissions(rule))).collect()
}

fn rule_permissions(rule: &Value) -> String {
    let texts = |field: &str| -> Vec<&str> {
        rule[field].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let (groups, resources, names) =
        (texts("apiGroups"), texts("resources"), texts("resourceNames"));
    let full = |group: &str, resource: &str| match group {
        "" => resource.to_owned(),
        group => format!("{resource}.{group}"),
    };
    let of_groups =
        groups.iter().flat_map(|group| resources.iter().map(move |resource| full(group, resource)));
    let what =
        format!("{} {}", texts("verbs").join(", "), of_groups.collect::<Vec<_>>().join(", "));
    if names.is_empty() { what } else { format!("{what} ({})", names.join(", ")) }
}
