//! Authorization.

mod accounts;
mod aggregation;
mod granting;
mod reviews;
mod roles;

use anyhow::Result;
use fairway_testkit::wait;
use serde_json::{Value, json};

use crate::support::{ApiClient, Case};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A user of this case; `ClusterRoleBindings` are shared with other cases.
fn name(case: &Case, who: &str) -> String {
    format!("{}-{who}", case.ns())
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": groups, "resources": resources, "verbs": verbs })
}

/// Grants a user permissions in the namespace.
async fn allow(case: &Case, user: &str, rules: &Value) -> Result<()> {
    let role = json!({ "metadata": { "generateName": "role-" }, "rules": rules });
    let role = case.create("roles", &role).await?.object()?;
    let binding = json!({
        "metadata": { "generateName": "binding-" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role["metadata"]["name"] },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    });
    case.create("rolebindings", &binding).await?.object()?;
    Ok(())
}

/// Retries until the request is allowed: authorizers see a new binding after a delay.
async fn until_allowed(caller: &ApiClient, path: &str) -> Result<()> {
    wait::until(&format!("{path} to be allowed"), || async {
        Ok((caller.get(path).await?.status != 403).then_some(()))
    })
    .await
}

/// Binds a `ClusterRole`, in the namespace or cluster-wide.
async fn bind(case: &Case, path: &str, role: &str, subject: &Value) -> Result<()> {
    let binding = json!({
        "metadata": { "name": name(case, role) },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": [subject],
    });
    case.create_outside(path, &binding).await?.object()?;
    Ok(())
}

async fn cluster_role(case: &Case, who: &str, rules: &Value) -> Result<String> {
    let role = json!({ "metadata": { "name": name(case, who) }, "rules": rules });
    case.create_outside(&format!("{RBAC}/clusterroles"), &role).await?.object()?;
    Ok(name(case, who))
}
