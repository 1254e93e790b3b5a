//! Admission: defaults and checks that need other objects of the cluster.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::context::RequestContext;
use super::{ApiResult, StatusError, meta};
use crate::catalog::Resource;
use crate::store::{Key, ResourceKey, Store};

/// Namespaces that cannot be deleted.
const PROTECTED_NAMESPACES: [&str; 3] = ["default", "kube-public", "kube-system"];

const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const TOKEN_VOLUME_PREFIX: &str = "kube-api-access-";

/// Token lifetime: one hour, and a few seconds for clock skew.
const TOKEN_EXPIRATION_SECONDS: i64 = 3607;

/// Default `tolerationSeconds` for nodes that are not ready or unreachable.
const DEFAULT_TOLERATION_SECONDS: i64 = 300;

const PRIORITY_CLASSES: (&str, &str) = ("scheduling.k8s.io", "priorityclasses");

/// The container lists of a pod.
const CONTAINER_LISTS: [&str; 2] = ["initContainers", "containers"];

/// Valid cluster IPs: loopback, so that no packet leaves the host. The Service `kubernetes` has the
/// address of the API server.
const CLUSTER_IP_RANGE: &str = "127.0.0.0/8";

/// Range of allocated cluster IPs. There is no service proxy, so the addresses only complete the
/// objects. The range avoids 127.0.0.1, where other processes listen.
const FIRST_CLUSTER_IP: Ipv4Addr = Ipv4Addr::new(127, 77, 0, 1);
const LAST_CLUSTER_IP: Ipv4Addr = Ipv4Addr::new(127, 77, 255, 254);

/// Default range of the API server.
const NODE_PORT_RANGE: std::ops::RangeInclusive<i64> = 30000..=32767;

/// Runs admission for a new object: checks its namespace, completes pods, allocates cluster IPs.
pub(super) fn create(context: &RequestContext<'_>, object: &mut Value) -> ApiResult<()> {
    check_namespace(context, meta::given_name(object))?;
    match core_kind(context.resource()) {
        "Pod" => admit_pod(context, object),
        "Service" => allocate_service(object, None, context.api.store()),
        _ => Ok(()),
    }
}

/// Runs admission for an update: keeps or allocates the addresses of Services.
pub(super) fn update(
    context: &RequestContext<'_>,
    object: &mut Value,
    old: &Value,
) -> ApiResult<()> {
    match core_kind(context.resource()) {
        "Service" if context.request.subresource.is_none() => {
            allocate_service(object, Some(old), context.api.store())
        }
        _ => Ok(()),
    }
}

/// Refuses to delete protected namespaces.
pub(super) fn delete(resource: &Resource, name: &str) -> ApiResult<()> {
    if core_kind(resource) == "Namespace" && PROTECTED_NAMESPACES.contains(&name) {
        return Err(StatusError::forbidden(resource, name, "this namespace may not be deleted"));
    }
    Ok(())
}

/// The kind if it is in the core group, otherwise empty.
pub(super) fn core_kind(resource: &Resource) -> &str {
    if resource.group.is_empty() { &resource.kind } else { "" }
}

/// Refuses objects in namespaces that are missing or terminating (`NamespaceLifecycle`).
fn check_namespace(context: &RequestContext<'_>, name: &str) -> ApiResult<()> {
    let resource = context.resource();
    let Some(namespace) = context.request.namespace.as_deref().filter(|_| resource.namespaced)
    else {
        return Ok(());
    };
    let key = Key::new(&ResourceKey::new("", "namespaces"), None, namespace)?;
    let Some(found) = context.api.store().get(&key) else {
        let catalog = context.api.catalog();
        let namespaces = catalog.resource("", "v1", "namespaces");
        return Err(match namespaces {
            Some(namespaces) => StatusError::not_found(namespaces, namespace),
            None => StatusError::unknown_resource(),
        });
    };
    if meta::is_terminating(&found) {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let cause = format!("namespace {namespace} is being terminated");
        return Err(StatusError::forbidden(resource, name, why).with_cause(
            "NamespaceTerminating",
            &cause,
            "metadata.namespace",
        ));
    }
    Ok(())
}

/// Completes a new pod: ServiceAccount, tolerations and priority.
pub(super) fn admit_pod(context: &RequestContext<'_>, pod: &mut Value) -> ApiResult<()> {
    if !pod["spec"].is_object() {
        return Ok(());
    }
    set_service_account(context, pod)?;
    add_tolerations(&mut pod["spec"]);
    set_priority(context, pod)
}

fn set_service_account(context: &RequestContext<'_>, pod: &mut Value) -> ApiResult<()> {
    let named = |spec: &Value| {
        let name = spec["serviceAccountName"].as_str().unwrap_or_default();
        if name.is_empty() { "default".to_owned() } else { name.to_owned() }
    };
    let name = named(&pod["spec"]);
    pod["spec"]["serviceAccountName"] = json!(name);
    pod["spec"]["serviceAccount"] = json!(name);
    let namespace = context.request.namespace.as_deref().unwrap_or_default();
    let key = Key::new(&ResourceKey::new("", "serviceaccounts"), Some(namespace), &name)?;
    let Some(service_account) = context.api.store().get(&key) else {
        let why = format!(
            "error looking up service account {namespace}/{name}: serviceaccount {name:?} not found"
        );
        return Err(pod_forbidden(context, pod, &why));
    };
    let spec = &mut pod["spec"];
    let mounts = spec["automountServiceAccountToken"].as_bool();
    let mounts =
        mounts.or(service_account["automountServiceAccountToken"].as_bool()).unwrap_or(true);
    if mounts {
        mount_token(spec)?;
    }
    let has_secrets = spec["imagePullSecrets"].as_array().is_some_and(|list| !list.is_empty());
    if !has_secrets && let Some(secrets) = service_account.get("imagePullSecrets") {
        spec["imagePullSecrets"] = secrets.clone();
    }
    Ok(())
}

fn mount_token(spec: &mut Value) -> ApiResult<()> {
    let has_own = |container: &Value| {
        let mounts = container["volumeMounts"].as_array().into_iter().flatten();
        mounts.into_iter().any(|mount| mount["mountPath"] == TOKEN_PATH)
    };
    let volumes = spec["volumes"].as_array().into_iter().flatten();
    let names: Vec<&str> = volumes.filter_map(|volume| volume["name"].as_str()).collect();
    let existing = names.iter().find(|name| name.starts_with(TOKEN_VOLUME_PREFIX));
    let (name, is_new) = match existing {
        Some(name) => ((*name).to_owned(), false),
        None => (format!("{TOKEN_VOLUME_PREFIX}{}", meta::random_suffix()?), true),
    };
    let mount = json!({ "name": name, "readOnly": true, "mountPath": TOKEN_PATH });
    let mut mounted = false;
    for list in CONTAINER_LISTS {
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
                { "serviceAccountToken": { "expirationSeconds": TOKEN_EXPIRATION_SECONDS, "path": "token" } },
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

fn add_tolerations(spec: &mut Value) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let given = spec["tolerations"].as_array().into_iter().flatten();
        let covers = |it: &Value| {
            let field = |field: &str| it[field].as_str().unwrap_or_default();
            (field("key") == key || field("key").is_empty())
                && matches!(field("effect"), "NoExecute" | "")
        };
        if !given.into_iter().any(covers) {
            push(
                spec,
                "tolerations",
                json!({
                    "key": key, "operator": "Exists", "effect": "NoExecute",
                    "tolerationSeconds": DEFAULT_TOLERATION_SECONDS,
                }),
            );
        }
    }
}

fn set_priority(context: &RequestContext<'_>, pod: &mut Value) -> ApiResult<()> {
    let store = context.api.store();
    let name = pod["spec"]["priorityClassName"].as_str().unwrap_or_default().to_owned();
    let class = if name.is_empty() {
        let classes = store.all(PRIORITY_CLASSES.0, PRIORITY_CLASSES.1).into_iter();
        let defaults = classes.filter(|class| class["globalDefault"] == true);
        defaults.min_by_key(|class| class["value"].as_i64())
    } else {
        let found = store.get(&Key::new(
            &ResourceKey::new(PRIORITY_CLASSES.0, PRIORITY_CLASSES.1),
            None,
            &name,
        )?);
        let why = format!("no PriorityClass with name {name} was found");
        Some(found.ok_or_else(|| pod_forbidden(context, pod, &why))?)
    };
    let value = class.as_ref().and_then(|class| class["value"].as_i64()).unwrap_or_default();
    if let Some(given) = pod["spec"]["priority"].as_i64().filter(|given| *given != value) {
        let why = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; \
             priority admission controller computed {value} from the given PriorityClass name"
        );
        return Err(pod_forbidden(context, pod, &why));
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

fn pod_forbidden(context: &RequestContext<'_>, pod: &Value, why: &str) -> StatusError {
    StatusError::forbidden(context.resource(), meta::given_name(pod), why)
}

/// Appends to a list, which is created if needed.
fn push(object: &mut Value, list: &str, item: Value) {
    match object.get_mut(list).and_then(Value::as_array_mut) {
        Some(items) => items.push(item),
        None => object[list] = json!([item]),
    }
}

/// Allocates cluster IP and node ports. Those of `old`, the replaced Service, are kept.
pub(super) fn allocate_service(
    service: &mut Value,
    old: Option<&Value>,
    store: &Store,
) -> ApiResult<()> {
    let kind = service.pointer("/spec/type").and_then(Value::as_str).unwrap_or("ClusterIP");
    if kind == "ExternalName" {
        return Ok(());
    }
    let has_node_ports = matches!(kind, "NodePort" | "LoadBalancer");
    let uid = old.and_then(|old| old.pointer("/metadata/uid"));
    let allocated = AllocatedAddresses::collect(store, uid);
    allocate_cluster_ip(service, old, &allocated)?;
    if has_node_ports { allocate_node_ports(service, old, &allocated) } else { Ok(()) }
}

/// Addresses and ports of all other Services.
struct AllocatedAddresses {
    addresses: BTreeSet<String>,
    node_ports: BTreeSet<i64>,
}

impl AllocatedAddresses {
    fn collect(store: &Store, uid: Option<&Value>) -> Self {
        let services = store.all("", "services");
        let mut allocated = Self { addresses: BTreeSet::new(), node_ports: BTreeSet::new() };
        for service in services.iter().filter(|it| it.pointer("/metadata/uid") != uid) {
            allocated.addresses.extend(cluster_ip(service).map(str::to_owned));
            allocated
                .node_ports
                .extend(service_ports(service).filter_map(|port| port["nodePort"].as_i64()));
        }
        allocated
    }
}

fn allocate_cluster_ip(
    service: &mut Value,
    old: Option<&Value>,
    allocated: &AllocatedAddresses,
) -> ApiResult<()> {
    let wanted = cluster_ip(service).or_else(|| old.and_then(cluster_ip)).map(str::to_owned);
    let address = match wanted {
        Some(headless) if headless == "None" => headless,
        Some(wanted) => {
            check_cluster_ip(service, &wanted, allocated)?;
            wanted
        }
        None => free_cluster_ip(allocated).ok_or_else(|| StatusError::internal("range is full"))?,
    };
    service["spec"]["clusterIPs"] = json!([address]);
    service["spec"]["clusterIP"] = json!(address);
    Ok(())
}

fn check_cluster_ip(
    service: &Value,
    address: &str,
    allocated: &AllocatedAddresses,
) -> ApiResult<()> {
    let in_range = address.parse().is_ok_and(|it: Ipv4Addr| it.is_loopback());
    let reason = if !in_range {
        format!(
            "provided IP is not in the valid range. The range of valid IPs is {CLUSTER_IP_RANGE}"
        )
    } else if allocated.addresses.contains(address) {
        "provided IP is already allocated".to_owned()
    } else {
        return Ok(());
    };
    let service = ("Service", "", meta::text(service, "name"));
    let value = format!("[]string{{{address:?}}}");
    let detail = format!("failed to allocated ip:{address} with error:{reason}");
    Err(StatusError::invalid_value(service, "spec.clusterIPs", &value, &detail))
}

fn free_cluster_ip(allocated: &AllocatedAddresses) -> Option<String> {
    let addresses = u32::from(FIRST_CLUSTER_IP)..=u32::from(LAST_CLUSTER_IP);
    let mut addresses = addresses.map(|address| Ipv4Addr::from(address).to_string());
    addresses.find(|address| !allocated.addresses.contains(address))
}

fn allocate_node_ports(
    service: &mut Value,
    old: Option<&Value>,
    allocated: &AllocatedAddresses,
) -> ApiResult<()> {
    let before = |port: &Value| {
        let same = |it: &&Value| it["port"] == port["port"] && it["protocol"] == port["protocol"];
        old.and_then(|old| service_ports(old).find(same)).and_then(|it| it["nodePort"].as_i64())
    };
    let mut taken = allocated.node_ports.clone();
    taken.extend(service_ports(service).filter_map(|port| port["nodePort"].as_i64()));
    let list = service.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
    for port in list.into_iter().flatten() {
        if port["nodePort"].as_i64().is_some_and(|given| given != 0) {
            continue;
        }
        let free = || NODE_PORT_RANGE.clone().find(|candidate| !taken.contains(candidate));
        let chosen = before(port).or_else(free);
        let chosen = chosen.ok_or_else(|| StatusError::internal("range is full"))?;
        taken.insert(chosen);
        if let Some(port) = port.as_object_mut() {
            port.insert("nodePort".to_owned(), chosen.into());
        }
    }
    Ok(())
}

fn cluster_ip(service: &Value) -> Option<&str> {
    let address = service.pointer("/spec/clusterIP").and_then(Value::as_str);
    address.filter(|address| !address.is_empty())
}

fn service_ports(service: &Value) -> impl Iterator<Item = &Value> {
    service.pointer("/spec/ports").and_then(Value::as_array).into_iter().flatten()
}
