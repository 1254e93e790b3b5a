//! What the cluster adds to new pods: an account, patience with nodes, and a priority.

use serde_json::{Value, json};

use super::request::Request;
use super::{Refusal, meta, random};
use crate::store::{Key, ListOptions, Resource, Selection};

const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const TOKEN_VOLUME_PREFIX: &str = "kube-api-access-";
/// How long a token is valid before it is renewed: an hour, and a little for clocks that differ.
const TOKEN_SECONDS: i64 = 3607;

/// How long a pod stays on a node that is not there, unless it says otherwise.
const PATIENCE_SECONDS: i64 = 300;

/// What makes up a pod's containers.
const CONTAINERS: [&str; 2] = ["initContainers", "containers"];

/// Completes a new pod, or says why it cannot be had.
pub(super) fn admit(request: &Request<'_>, pod: &mut Value) -> Result<(), Refusal> {
    if !pod["spec"].is_object() {
        return Ok(());
    }
    account(request, pod)?;
    tolerations(&mut pod["spec"]);
    priority(request, pod)
}

fn account(request: &Request<'_>, pod: &mut Value) -> Result<(), Refusal> {
    let named = |spec: &Value| {
        let name = spec["serviceAccountName"].as_str().unwrap_or_default();
        if name.is_empty() { "default".to_owned() } else { name.to_owned() }
    };
    let name = named(&pod["spec"]);
    pod["spec"]["serviceAccountName"] = json!(name);
    pod["spec"]["serviceAccount"] = json!(name);
    let namespace = request.call.namespace.as_deref().unwrap_or_default();
    let key = Key::new(&Resource::new("", "serviceaccounts"), Some(namespace), &name)?;
    let Some(account) = request.api.store().get(&key) else {
        let why = format!(
            "error looking up service account {namespace}/{name}: serviceaccount {name:?} not found"
        );
        return Err(forbidden(request, pod, &why));
    };
    let spec = &mut pod["spec"];
    let mounts = spec["automountServiceAccountToken"].as_bool();
    let mounts = mounts.or(account["automountServiceAccountToken"].as_bool()).unwrap_or(true);
    if mounts {
        mount_token(spec)?;
    }
    let has_secrets = spec["imagePullSecrets"].as_array().is_some_and(|list| !list.is_empty());
    if !has_secrets && let Some(secrets) = account.get("imagePullSecrets") {
        spec["imagePullSecrets"] = secrets.clone();
    }
    Ok(())
}

fn mount_token(spec: &mut Value) -> Result<(), Refusal> {
    let has_own = |container: &Value| {
        let mounts = container["volumeMounts"].as_array().into_iter().flatten();
        mounts.into_iter().any(|mount| mount["mountPath"] == TOKEN_PATH)
    };
    let volumes = spec["volumes"].as_array().into_iter().flatten();
    let names: Vec<&str> = volumes.filter_map(|volume| volume["name"].as_str()).collect();
    let existing = names.iter().find(|name| name.starts_with(TOKEN_VOLUME_PREFIX));
    let (name, is_new) = match existing {
        Some(name) => ((*name).to_owned(), false),
        None => (format!("{TOKEN_VOLUME_PREFIX}{}", random::suffix()?), true),
    };
    let mount = json!({ "name": name, "readOnly": true, "mountPath": TOKEN_PATH });
    let mut mounted = false;
    for list in CONTAINERS {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            if !has_own(container) {
                push(container, "volumeMounts", mount.clone());
                mounted = true;
            }
        }
    }
    if mounted && is_new {
        push(spec, "volumes", token_volume(&name));
    }
    Ok(())
}

fn token_volume(name: &str) -> Value {
    let namespace =
        json!({ "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" } });
    json!({
        "name": name,
        "projected": {
            "defaultMode": 420,
            "sources": [
                { "serviceAccountToken": { "expirationSeconds": TOKEN_SECONDS, "path": "token" } },
                { "configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{ "key": "ca.crt", "path": "ca.crt" }],
                } },
                { "downwardAPI": { "items": [
                    { "path": "namespace", "fieldRef": namespace["fieldRef"] },
                ] } },
            ],
        },
    })
}

fn tolerations(spec: &mut Value) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let given = spec["tolerations"].as_array().into_iter().flatten();
        let covers = |it: &Value| {
            let word = |field: &str| it[field].as_str().unwrap_or_default();
            (word("key") == key || word("key").is_empty())
                && matches!(word("effect"), "NoExecute" | "")
        };
        if !given.into_iter().any(covers) {
            push(
                spec,
                "tolerations",
                json!({
                    "key": key, "operator": "Exists", "effect": "NoExecute",
                    "tolerationSeconds": PATIENCE_SECONDS,
                }),
            );
        }
    }
}

fn priority(request: &Request<'_>, pod: &mut Value) -> Result<(), Refusal> {
    let classes = Resource::new("scheduling.k8s.io", "priorityclasses");
    let store = request.api.store();
    let name = pod["spec"]["priorityClassName"].as_str().unwrap_or_default().to_owned();
    let class = if name.is_empty() {
        let all = store.list(&classes, &Selection::default(), &ListOptions::default())?;
        let defaults = all.items.into_iter().filter(|class| class["globalDefault"] == true);
        defaults.min_by_key(|class| class["value"].as_i64())
    } else {
        let found = store.get(&Key::new(&classes, None, &name)?);
        let why = format!("no PriorityClass with name {name} was found");
        Some(found.ok_or_else(|| forbidden(request, pod, &why))?)
    };
    let value = class.as_ref().and_then(|class| class["value"].as_i64()).unwrap_or_default();
    if let Some(given) = pod["spec"]["priority"].as_i64().filter(|given| *given != value) {
        let why = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; \
             priority admission controller computed {value} from the given PriorityClass name"
        );
        return Err(forbidden(request, pod, &why));
    }
    let spec = &mut pod["spec"];
    spec["priority"] = json!(value);
    if let Some(class) = &class {
        spec["priorityClassName"] = json!(meta::text(class, "name"));
    }
    let policy = class.as_ref().and_then(|class| class["preemptionPolicy"].as_str());
    if spec["preemptionPolicy"].is_null() {
        spec["preemptionPolicy"] = json!(policy.unwrap_or("PreemptLowerPriority"));
    }
    Ok(())
}

fn forbidden(request: &Request<'_>, pod: &Value, why: &str) -> Refusal {
    Refusal::forbidden(request.resource(), meta::given_name(pod), why)
}

/// Adds to a list, which begins with it where there is none.
fn push(object: &mut Value, list: &str, item: Value) {
    match object.get_mut(list).and_then(Value::as_array_mut) {
        Some(items) => items.push(item),
        None => object[list] = json!([item]),
    }
}
