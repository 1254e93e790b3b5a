//! What merges otherwise than field by field in the built-in kinds.
//!
//! Facts of the Kubernetes API, as its `OpenAPI` document publishes them; a test compares them with
//! a running server. Whatever is not named here merges field by field, lists being taken whole.
//! So nothing inside such a list is named either.

/// How the values merge that lie at a path.
#[derive(Clone, Copy)]
pub(super) enum Fact {
    /// As this type of [`TYPES`] says.
    Is(&'static str),
    /// An object that server-side apply takes whole.
    Whole,
    /// An object that server-side apply takes whole, and a patch too.
    WholeInPatches,
    /// A list.
    List {
        apply: Keys,
        patch: Option<&'static str>,
        /// The type of its items in [`TYPES`], or [`ANY`], or [`WHOLE_ITEMS`].
        items: &'static str,
    },
}

/// What identifies an item for server-side apply.
#[derive(Clone, Copy)]
pub(super) enum Keys {
    Atomic,
    Set,
    /// One field without a default.
    Field(&'static str),
    /// Fields, each with its default.
    Fields(&'static [(&'static str, Option<&'static str>)]),
}

/// Paths from the object or type, the parts joined by dots, and what is there.
pub(super) type Facts = &'static [(&'static str, Fact)];

/// Items that merge field by field.
pub(super) const ANY: &str = "";
/// Items that server-side apply takes whole.
pub(super) const WHOLE_ITEMS: &str = "whole";

use Fact::{Is, Whole, WholeInPatches};

/// Items with an identity, the same one for apply and patch.
const fn by(key: &'static str, items: &'static str) -> Fact {
    Fact::List { apply: Keys::Field(key), patch: Some(key), items }
}

/// As [`by`], with more to the identity for apply.
const fn by_all(
    keys: &'static [(&'static str, Option<&'static str>)],
    patch: &'static str,
    items: &'static str,
) -> Fact {
    Fact::List { apply: Keys::Fields(keys), patch: Some(patch), items }
}

/// Items with an identity that patches do not know.
const fn applied_by(key: &'static str) -> Fact {
    Fact::List { apply: Keys::Field(key), patch: None, items: ANY }
}

/// Items with an identity that apply does not know.
const fn patched_by(key: &'static str) -> Fact {
    Fact::List { apply: Keys::Atomic, patch: Some(key), items: ANY }
}

/// A set for both.
const VALUES: Fact = Fact::List { apply: Keys::Set, patch: Some(""), items: ANY };
/// A set that patches replace.
const APPLIED_VALUES: Fact = Fact::List { apply: Keys::Set, patch: None, items: ANY };

const CONTAINER_PORTS: Fact =
    by_all(&[("containerPort", None), ("protocol", Some("TCP"))], "containerPort", ANY);
const SERVICE_PORTS: Fact = by_all(&[("port", None), ("protocol", Some("TCP"))], "port", ANY);
const SPREAD: Fact = by_all(
    &[("topologyKey", None), ("whenUnsatisfiable", None)],
    "topologyKey",
    "TopologySpreadConstraint",
);
const CONDITIONS: Fact = by("type", ANY);

/// Group, kind and facts; `metadata` is understood.
pub(super) const KINDS: &[(&str, &str, Facts)] = &[
    ("", "ConfigMap", &[]),
    ("", "Endpoints", &[]),
    ("", "Event", &[("involvedObject", Whole), ("related", Whole)]),
    ("", "LimitRange", &[]),
    ("", "Namespace", &[("status.conditions", CONDITIONS)]),
    (
        "",
        "Node",
        &[
            ("spec.podCIDRs", VALUES),
            ("status.addresses", CONDITIONS),
            ("status.conditions", CONDITIONS),
        ],
    ),
    (
        "",
        "PersistentVolumeClaim",
        &[("spec", Is("PersistentVolumeClaimSpec")), ("status.conditions", CONDITIONS)],
    ),
    (
        "",
        "Pod",
        &[
            ("spec", Is("PodSpec")),
            ("status.conditions", CONDITIONS),
            ("status.hostIPs", patched_by("ip")),
            ("status.podIPs", by("ip", ANY)),
            ("status.resourceClaimStatuses", by("name", ANY)),
        ],
    ),
    ("", "ResourceQuota", &[("spec.scopeSelector", Whole)]),
    ("", "Secret", &[]),
    (
        "",
        "Service",
        &[
            ("spec.ports", SERVICE_PORTS),
            ("spec.selector", Whole),
            ("status.conditions", CONDITIONS),
        ],
    ),
    ("", "ServiceAccount", &[("secrets", by("name", WHOLE_ITEMS))]),
    (
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        &[("webhooks", by("name", "Webhook"))],
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        &[("webhooks", by("name", "Webhook"))],
    ),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        &[("status.conditions", applied_by("type"))],
    ),
    ("apiregistration.k8s.io", "APIService", &[("status.conditions", CONDITIONS)]),
    ("apps", "DaemonSet", WORKLOAD),
    ("apps", "Deployment", WORKLOAD),
    ("apps", "ReplicaSet", WORKLOAD),
    ("apps", "StatefulSet", WORKLOAD),
    (
        "batch",
        "CronJob",
        &[
            ("spec.jobTemplate.metadata", Is("ObjectMeta")),
            ("spec.jobTemplate.spec", Is("JobSpec")),
        ],
    ),
    (
        "batch",
        "Job",
        &[
            ("spec", Is("JobSpec")),
            ("status.conditions", patched_by("type")),
            ("status.uncountedTerminatedPods.failed", APPLIED_VALUES),
            ("status.uncountedTerminatedPods.succeeded", APPLIED_VALUES),
        ],
    ),
    ("coordination.k8s.io", "Lease", &[]),
    ("events.k8s.io", "Event", &[("regarding", Whole), ("related", Whole)]),
    (
        "networking.k8s.io",
        "Ingress",
        &[("spec.defaultBackend.resource", Whole), ("spec.defaultBackend.service.port", Whole)],
    ),
    ("networking.k8s.io", "NetworkPolicy", &[("spec.podSelector", Whole)]),
    (
        "policy",
        "PodDisruptionBudget",
        &[("spec.selector", WholeInPatches), ("status.conditions", CONDITIONS)],
    ),
    ("rbac.authorization.k8s.io", "ClusterRole", &[]),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", &[("roleRef", Whole)]),
    ("rbac.authorization.k8s.io", "Role", &[]),
    ("rbac.authorization.k8s.io", "RoleBinding", &[("roleRef", Whole)]),
    ("scheduling.k8s.io", "PriorityClass", &[]),
    ("storage.k8s.io", "StorageClass", &[]),
];

const WORKLOAD: Facts = &[
    ("spec.selector", Whole),
    ("spec.template", Is("PodTemplateSpec")),
    ("status.conditions", CONDITIONS),
];

/// The types that several kinds share.
pub(super) const TYPES: &[(&str, Facts)] = &[
    ("ObjectMeta", &[("finalizers", VALUES), ("ownerReferences", by("uid", WHOLE_ITEMS))]),
    ("PodTemplateSpec", &[("metadata", Is("ObjectMeta")), ("spec", Is("PodSpec"))]),
    (
        "PodSpec",
        &[
            ("affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution", Whole),
            ("containers", by("name", "Container")),
            ("ephemeralContainers", by("name", "Container")),
            ("hostAliases", by("ip", ANY)),
            ("imagePullSecrets", by("name", WHOLE_ITEMS)),
            ("initContainers", by("name", "Container")),
            ("nodeSelector", Whole),
            ("resourceClaims", by("name", ANY)),
            ("resources.claims", applied_by("name")),
            ("schedulingGates", by("name", ANY)),
            ("topologySpreadConstraints", SPREAD),
            ("volumes", by("name", "Volume")),
        ],
    ),
    ("TopologySpreadConstraint", &[("labelSelector", Whole)]),
    (
        "Container",
        &[
            ("env", by("name", "EnvVar")),
            ("ports", CONTAINER_PORTS),
            ("resources.claims", applied_by("name")),
            ("volumeDevices", by("devicePath", ANY)),
            ("volumeMounts", by("mountPath", ANY)),
        ],
    ),
    (
        "EnvVar",
        &[
            ("valueFrom.configMapKeyRef", Whole),
            ("valueFrom.fieldRef", Whole),
            ("valueFrom.resourceFieldRef", Whole),
            ("valueFrom.secretKeyRef", Whole),
        ],
    ),
    (
        "Volume",
        &[
            ("cephfs.secretRef", Whole),
            ("cinder.secretRef", Whole),
            ("csi.nodePublishSecretRef", Whole),
            ("ephemeral.volumeClaimTemplate.metadata", Is("ObjectMeta")),
            ("ephemeral.volumeClaimTemplate.spec", Is("PersistentVolumeClaimSpec")),
            ("flexVolume.secretRef", Whole),
            ("iscsi.secretRef", Whole),
            ("rbd.secretRef", Whole),
            ("scaleIO.secretRef", Whole),
            ("storageos.secretRef", Whole),
        ],
    ),
    ("PersistentVolumeClaimSpec", &[("dataSource", Whole), ("selector", Whole)]),
    ("JobSpec", &[("selector", Whole), ("template", Is("PodTemplateSpec"))]),
    (
        "Webhook",
        &[
            ("matchConditions", by("name", ANY)),
            ("namespaceSelector", Whole),
            ("objectSelector", Whole),
        ],
    ),
];
