//! What a check may read beyond what all checks may, in words for people.

use serde_json::Value;

use super::access::{self, Access, Grant, RoleRef};
use super::fields::Field;
use super::job;

/// What the check with that Job and that access may read beyond what all checks may. That is nothing
/// where it is refused, and where it does not use the account that it brings.
pub fn granted(check: &str, job: &Value, access: &[Value]) -> Vec<String> {
    let pod = Field::root(job).at(&["spec", "template", "spec"]);
    let Ok(wanted) = job::account(&pod) else { return Vec::new() };
    let Ok(access) = access::vet(check, access, wanted) else { return Vec::new() };
    let Some(account) = access.account.filter(|account| *account == wanted) else {
        return Vec::new();
    };
    let rules = access.bindings.iter().flat_map(|binding| of_binding(binding, &access));
    std::iter::once(format!("own ServiceAccount {account}")).chain(rules).collect()
}

/// What a binding gives: where, and what.
fn of_binding(binding: &Grant<'_, RoleRef<'_>>, access: &Access<'_>) -> Vec<String> {
    let place = match binding.namespace {
        "" => "cluster-wide".to_owned(),
        namespace => format!("in {namespace}"),
    };
    let is_bound = |kind: &str, name: &str, namespace: &str| {
        (kind, name) == (binding.gives.kind, binding.gives.name)
            && (namespace.is_empty() || namespace == binding.namespace)
    };
    let roles = access.roles.iter().filter(|role| is_bound(role.kind, role.name, role.namespace));
    let given = roles.flat_map(|role| role.gives.as_array().into_iter().flatten());
    given.map(|rule| format!("{} {place}", of_rule(rule))).collect()
}

fn of_rule(rule: &Value) -> String {
    let words = |field: &str| -> Vec<&str> {
        rule[field].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let (groups, resources, names) =
        (words("apiGroups"), words("resources"), words("resourceNames"));
    let full = |group: &str, resource: &str| match group {
        "" => resource.to_owned(),
        group => format!("{resource}.{group}"),
    };
    let of_groups =
        groups.iter().flat_map(|group| resources.iter().map(move |resource| full(group, resource)));
    let what =
        format!("{} {}", words("verbs").join(", "), of_groups.collect::<Vec<_>>().join(", "));
    if names.is_empty() { what } else { format!("{what} ({})", names.join(", ")) }
}
