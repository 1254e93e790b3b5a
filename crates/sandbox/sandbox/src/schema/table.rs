//! Merge rules of built-in kinds that differ from the default.
//!
//! The table follows the `OpenAPI` document of Kubernetes; a test compares it with an API server.
//! Everything else merges field by field with atomic lists, so nothing inside of atomic lists is
//! listed.

/// Merge rule of the value at a path.
#[derive(Clone, Copy)]
pub(super) enum MergeRule {
    /// A type of [`TYPES`].
    Is(&'static str),
    /// An object that is atomic for server-side apply.
    Whole,
    /// An object that is atomic for server-side apply and for patches.
    WholeInPatches,
    /// A list.
    List {
        apply: Keys,
        patch: Option<&'static str>,
        /// The item type: a name in [`TYPES`], [`ANY`] or [`WHOLE_ITEMS`].
        items: &'static str,
    },
}

/// Item identity for server-side apply.
#[derive(Clone, Copy)]
pub(super) enum Keys {
    Atomic,
    Set,
    /// One field without a default.
    Field(&'static str),
    /// Fields with their defaults.
    Fields(&'static [(&'static str, Option<&'static str>)]),
}

/// Paths of fields, joined by dots, with their rules.
pub(super) type MergeRules = &'static [(&'static str, MergeRule)];

/// Item type without merge rules: objects merge field by field, lists are atomic.
pub(super) const ANY: &str = "";
/// Items that are atomic for server-side apply.
pub(super) const WHOLE_ITEMS: &str = "whole";

use MergeRule::{Is, Whole, WholeInPatches};

/// Items with the same key for apply and patches.
const fn by(key: &'static str, items: &'static str) -> MergeRule {
    MergeRule::List { apply: Keys::Field(key), patch: Some(key), items }
}

/// Like [`by`], with several keys for apply.
const fn by_all(
    keys: &'static [(&'static str, Option<&'static str>)],
    patch: &'static str,
    items: &'static str,
) -> MergeRule {
    MergeRule::List { apply: Keys::Fields(keys), patch: Some(patch), items }
}

/// Items with a key for apply only.
const fn applied_by(key: &'static str) -> MergeRule {
    MergeRule::List { apply: Keys::Field(key), patch: None, items: ANY }
}

/// Items with a key for patches only.
const fn patched_by(key: &'static str) -> MergeRule {
    MergeRule::List { apply: Keys::Atomic, patch: Some(key), items: ANY }
}

/// A set for apply and patches.
const VALUES: MergeRule = MergeRule::List { apply: Keys::Set, patch: Some(""), items: ANY };
/// A set for apply that patches replace.
const APPLIED_VALUES: MergeRule = MergeRule::List { apply: Keys::Set, patch: None, items: ANY };

const CONTAINER_PORTS: MergeRule =
    by_all(&[("containerPort", None), ("protocol", Some("TCP"))], "containerPort", ANY);
const SERVICE_PORTS: MergeRule = by_all(&[("port", None), ("protocol", Some("TCP"))], "port", ANY);
const SPREAD: MergeRule = by_all(
    &[("topologyKey", None), ("whenUnsatisfiable", None)],
    "topologyKey",
    "TopologySpreadConstraint",
);
const CONDITIONS: MergeRule = by("type", ANY);

/// Group, kind and rules. `metadata` is added to all.
pub(super) const KINDS: &[(&str, &str, MergeRules)] = &[
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

const WORKLOAD: MergeRules = &[
    ("spec.selector", Whole),
    ("spec.template", Is("PodTemplateSpec")),
    ("status.conditions", CONDITIONS),
];

/// Types that several kinds share.
pub(super) const TYPES: &[(&str, MergeRules)] = &[
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
