//! What a check needs to read, and whether that is all it would get.
//!
//! A check may bring an account, roles, and bindings of these roles to this account: nothing else of
//! the cluster is named in any of them, and none of them keeps its name.

use serde_json::Value;

use super::fields::Field;
use super::rules::{self, Scope};
use super::{ACCOUNT, ANNOTATION, NAMESPACE, Refusal};
use crate::text;

/// Manifests of one check.
const MAX_OBJECTS: usize = 20;

/// Bytes of all of them together.
const MAX_BYTES: usize = 64 << 10;

/// Characters of a name: with the end that it gets, it is one that the API takes.
const MAX_NAME: usize = 180;

/// The group of roles.
pub(super) const GROUP: &str = "rbac.authorization.k8s.io";

/// Its version.
pub(super) const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// What a check brings.
#[derive(Debug, Default)]
pub(super) struct Access<'a> {
    /// Its account.
    pub(super) account: Option<&'a str>,
    /// Its roles.
    pub(super) roles: Vec<Grant<'a, Rules<'a>>>,
    /// Their bindings to its account.
    pub(super) bindings: Vec<Grant<'a, RoleRef<'a>>>,
}

/// A role, or its binding.
#[derive(Debug)]
pub(super) struct Grant<'a, T> {
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
    /// Empty for kinds that have none.
    pub(super) namespace: &'a str,
    pub(super) gives: T,
}

/// The rules of a role, each of which was looked at.
pub(super) type Rules<'a> = &'a Value;

/// The role that is bound.
#[derive(Debug)]
pub(super) struct RoleRef<'a> {
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
}

/// Looks at what a check brings, that wants to be this account.
pub(super) fn vet<'a>(
    check: &str,
    access: &'a [Value],
    wanted: &str,
) -> Result<Access<'a>, Refusal> {
    let size: usize = access.iter().map(|manifest| manifest.to_string().len()).sum();
    if access.len() > MAX_OBJECTS || size > MAX_BYTES {
        let why = "a check may have at most 20 RBAC manifests, with 64 KiB in total";
        let (object, field) = (check.to_owned(), "access".to_owned());
        return Err(Refusal::Access { object, field, why });
    }
    let manifests: Vec<_> = access.iter().map(Manifest::new).collect();
    let account = the_account(&manifests)?;
    if wanted != account.map_or("", |account| account.name) && !["", ACCOUNT].contains(&wanted) {
        let field = "spec.template.spec.serviceAccountName".to_owned();
        let why = "a check must use its own ServiceAccount or preflight-check";
        return Err(Refusal::Job { field, why });
    }
    let roles = manifests.iter().filter_map(|manifest| manifest.role().transpose());
    let roles = roles.collect::<Result<Vec<_>, _>>()?;
    let bindings = manifests.iter().filter_map(|one| one.binding(&roles, account).transpose());
    let bindings = bindings.collect::<Result<Vec<_>, _>>()?;
    Ok(Access { account: account.map(|account| account.name), roles, bindings })
}

/// The account that a check brings, if it does. Every manifest is what a check may bring.
fn the_account<'m, 'a>(manifests: &'m [Manifest<'a>]) -> Result<Option<&'m Manifest<'a>>, Refusal> {
    let mut account = None;
    for manifest in manifests {
        manifest.belongs_to_a_check()?;
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

    fn belongs_to_a_check(&self) -> Result<(), Refusal> {
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

    fn role(&self) -> Result<Option<Grant<'a, Rules<'a>>>, Refusal> {
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
    ) -> Result<Option<Grant<'a, RoleRef<'a>>>, Refusal> {
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
        self.is_given_to(account)?;
        Ok(Some(self.grant(role)))
    }

    fn is_given_to(&self, account: Option<&Self>) -> Result<(), Refusal> {
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

    fn grant<T>(&self, gives: T) -> Grant<'a, T> {
        Grant { kind: self.kind, name: self.name, namespace: self.namespace, gives }
    }

    fn refuse<T>(&self, field: &Field<'_>, why: &'static str) -> Result<T, Refusal> {
        Err(self.refusal(field.path.clone(), why))
    }

    fn refusal(&self, field: String, why: &'static str) -> Refusal {
        let object = text::beginning(&format!("{} {}", self.kind, self.name), MAX_NAME);
        Refusal::Access { object, field, why }
    }
}

/// Whether it is a name that all kinds can have.
fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= MAX_NAME
        && text.bytes().all(|byte| is_inner(byte) || byte == b'-' || byte == b'.')
        && text.bytes().next().is_some_and(is_inner)
        && text.bytes().last().is_some_and(is_inner)
}
