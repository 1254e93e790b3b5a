//! The Node object and its Lease.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{
    Namespace, Node, NodeAddress, NodeCondition, NodeStatus, NodeSystemInfo,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use tokio_util::sync::CancellationToken;

use super::status::{ADDRESS, whole_seconds};
use crate::KUBERNETES;
use crate::api::{Client, StatusError};

/// Namespace of node leases.
const LEASE_NAMESPACE: &str = "kube-node-lease";
/// Lease duration and renewal interval of the kubelet.
const LEASE_SECONDS: i32 = 40;
const LEASE_RENEW_INTERVAL: Duration = Duration::from_secs(10);
/// Default of the kubelet. The sandbox has no other limit.
const MAX_PODS: &str = "110";

/// Creates or updates the Node and its Lease.
pub(super) fn register(client: &Client, name: &str) -> Result<(), StatusError> {
    let now = whole_seconds(client.api().now());
    let node = match client.get::<Node>("", name)? {
        Some(node) => node,
        None => client.create(&node(name))?,
    };
    client.update_status(&Node { status: Some(status(name, now)), ..node })?;
    renew(client, name)
}

/// Renews the Lease until the sandbox stops.
pub(super) async fn renew_lease(client: Client, name: String, cancel: CancellationToken) {
    let mut beat = tokio::time::interval(LEASE_RENEW_INTERVAL);
    loop {
        tokio::select! {
            () = cancel.cancelled() => return,
            _ = beat.tick() => {}
        }
        if let Err(refusal) = renew(&client, &name) {
            tracing::warn!(node = name, error = %refusal, "cannot renew Lease");
        }
    }
}

fn renew(client: &Client, name: &str) -> Result<(), StatusError> {
    let now = MicroTime(client.api().now());
    if let Some(lease) = client.get::<Lease>(LEASE_NAMESPACE, name)? {
        let spec = LeaseSpec { renew_time: Some(now), ..lease.spec.unwrap_or_default() };
        return client.update(&Lease { spec: Some(spec), ..lease }).map(drop);
    }
    if client.get::<Namespace>("", LEASE_NAMESPACE)?.is_none() {
        let metadata =
            ObjectMeta { name: Some(LEASE_NAMESPACE.to_owned()), ..ObjectMeta::default() };
        client.create(&Namespace { metadata, ..Namespace::default() })?;
    }
    let spec = LeaseSpec {
        holder_identity: Some(name.to_owned()),
        lease_duration_seconds: Some(LEASE_SECONDS),
        renew_time: Some(now),
        ..LeaseSpec::default()
    };
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(LEASE_NAMESPACE.to_owned()),
        ..ObjectMeta::default()
    };
    client.create(&Lease { metadata, spec: Some(spec) }).map(drop)
}

fn node(name: &str) -> Node {
    let labels = [
        ("beta.kubernetes.io/arch", architecture()),
        ("beta.kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", architecture()),
        ("kubernetes.io/hostname", name),
        ("kubernetes.io/os", "linux"),
    ];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some(labels.into()),
        ..ObjectMeta::default()
    };
    Node { metadata, ..Node::default() }
}

fn status(name: &str, now: Timestamp) -> NodeStatus {
    let resources: BTreeMap<String, Quantity> = [
        ("cpu", std::thread::available_parallelism().map_or(1, usize::from).to_string()),
        ("memory", format!("{}Ki", rustix::system::sysinfo().totalram / 1024)),
        ("pods", MAX_PODS.to_owned()),
    ]
    .map(|(key, amount)| (key.to_owned(), Quantity(amount)))
    .into();
    let address = |kind: &str, address: &str| NodeAddress {
        type_: kind.to_owned(),
        address: address.to_owned(),
    };
    let system = rustix::system::uname();
    NodeStatus {
        addresses: Some(vec![address("InternalIP", ADDRESS), address("Hostname", name)]),
        allocatable: Some(resources.clone()),
        capacity: Some(resources),
        conditions: Some(conditions(now)),
        node_info: Some(NodeSystemInfo {
            architecture: architecture().to_owned(),
            operating_system: "linux".to_owned(),
            kernel_version: system.release().to_string_lossy().into_owned(),
            os_image: "Fairway sandbox".to_owned(),
            container_runtime_version: concat!("fairway://", env!("CARGO_PKG_VERSION")).to_owned(),
            kubelet_version: format!("v{KUBERNETES}"),
            kube_proxy_version: format!("v{KUBERNETES}"),
            ..NodeSystemInfo::default()
        }),
        ..NodeStatus::default()
    }
}

/// The conditions of a healthy kubelet.
fn conditions(now: Timestamp) -> Vec<NodeCondition> {
    [
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ]
    .map(|(kind, status, reason, message)| NodeCondition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_heartbeat_time: Some(Time(now)),
        last_transition_time: Some(Time(now)),
    })
    .to_vec()
}

/// The architecture of the host in Go notation (GOARCH).
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
