//! Table of removed APIs, generated from `removed-apis.csv` by `cargo xtask gen`.

use super::{RemovedApi, api};
use crate::KubernetesMinor;

/// The last Kubernetes version whose removed APIs the table contains.
pub const KNOWN_UP_TO: KubernetesMinor = KubernetesMinor::one(34);

/// All removed APIs, sorted by Kubernetes version, group, version and resource.
#[rustfmt::skip]
pub(super) const TABLE: &[RemovedApi] = &[
    api(16, "apps", "v1beta1", "controllerrevisions", "ControllerRevision", "apps/v1"),
    api(16, "apps", "v1beta1", "deployments", "Deployment", "apps/v1"),
    api(16, "apps", "v1beta1", "statefulsets", "StatefulSet", "apps/v1"),
    api(16, "apps", "v1beta2", "controllerrevisions", "ControllerRevision", "apps/v1"),
    api(16, "apps", "v1beta2", "daemonsets", "DaemonSet", "apps/v1"),
    api(16, "apps", "v1beta2", "deployments", "Deployment", "apps/v1"),
    api(16, "apps", "v1beta2", "replicasets", "ReplicaSet", "apps/v1"),
    api(16, "apps", "v1beta2", "statefulsets", "StatefulSet", "apps/v1"),
    api(16, "extensions", "v1beta1", "daemonsets", "DaemonSet", "apps/v1"),
    api(16, "extensions", "v1beta1", "deployments", "Deployment", "apps/v1"),
    api(16, "extensions", "v1beta1", "networkpolicies", "NetworkPolicy", "networking.k8s.io/v1"),
    api(16, "extensions", "v1beta1", "podsecuritypolicies", "PodSecurityPolicy", "policy/v1beta1"),
    api(16, "extensions", "v1beta1", "replicasets", "ReplicaSet", "apps/v1"),
    api(22, "admissionregistration.k8s.io", "v1beta1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1"),
    api(22, "admissionregistration.k8s.io", "v1beta1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1"),
    api(22, "apiextensions.k8s.io", "v1beta1", "customresourcedefinitions", "CustomResourceDefinition", "apiextensions.k8s.io/v1"),
    api(22, "apiregistration.k8s.io", "v1beta1", "apiservices", "APIService", "apiregistration.k8s.io/v1"),
    api(22, "authentication.k8s.io", "v1beta1", "tokenreviews", "TokenReview", "authentication.k8s.io/v1"),
    api(22, "authorization.k8s.io", "v1beta1", "localsubjectaccessreviews", "LocalSubjectAccessReview", "authorization.k8s.io/v1"),
    api(22, "authorization.k8s.io", "v1beta1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", "authorization.k8s.io/v1"),
    api(22, "authorization.k8s.io", "v1beta1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", "authorization.k8s.io/v1"),
    api(22, "authorization.k8s.io", "v1beta1", "subjectaccessreviews", "SubjectAccessReview", "authorization.k8s.io/v1"),
    api(22, "certificates.k8s.io", "v1beta1", "certificatesigningrequests", "CertificateSigningRequest", "certificates.k8s.io/v1"),
    api(22, "coordination.k8s.io", "v1beta1", "leases", "Lease", "coordination.k8s.io/v1"),
    api(22, "extensions", "v1beta1", "ingresses", "Ingress", "networking.k8s.io/v1"),
    api(22, "networking.k8s.io", "v1beta1", "ingressclasses", "IngressClass", "networking.k8s.io/v1"),
    api(22, "networking.k8s.io", "v1beta1", "ingresses", "Ingress", "networking.k8s.io/v1"),
    api(22, "rbac.authorization.k8s.io", "v1beta1", "clusterrolebindings", "ClusterRoleBinding", "rbac.authorization.k8s.io/v1"),
    api(22, "rbac.authorization.k8s.io", "v1beta1", "clusterroles", "ClusterRole", "rbac.authorization.k8s.io/v1"),
    api(22, "rbac.authorization.k8s.io", "v1beta1", "rolebindings", "RoleBinding", "rbac.authorization.k8s.io/v1"),
    api(22, "rbac.authorization.k8s.io", "v1beta1", "roles", "Role", "rbac.authorization.k8s.io/v1"),
    api(22, "scheduling.k8s.io", "v1beta1", "priorityclasses", "PriorityClass", "scheduling.k8s.io/v1"),
    api(22, "storage.k8s.io", "v1beta1", "csidrivers", "CSIDriver", "storage.k8s.io/v1"),
    api(22, "storage.k8s.io", "v1beta1", "csinodes", "CSINode", "storage.k8s.io/v1"),
    api(22, "storage.k8s.io", "v1beta1", "storageclasses", "StorageClass", "storage.k8s.io/v1"),
    api(22, "storage.k8s.io", "v1beta1", "volumeattachments", "VolumeAttachment", "storage.k8s.io/v1"),
    api(25, "autoscaling", "v2beta1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "autoscaling/v2"),
    api(25, "batch", "v1beta1", "cronjobs", "CronJob", "batch/v1"),
    api(25, "discovery.k8s.io", "v1beta1", "endpointslices", "EndpointSlice", "discovery.k8s.io/v1"),
    api(25, "events.k8s.io", "v1beta1", "events", "Event", "events.k8s.io/v1"),
    api(25, "node.k8s.io", "v1beta1", "runtimeclasses", "RuntimeClass", "node.k8s.io/v1"),
    api(25, "policy", "v1beta1", "poddisruptionbudgets", "PodDisruptionBudget", "policy/v1"),
    api(25, "policy", "v1beta1", "podsecuritypolicies", "PodSecurityPolicy", ""),
    api(26, "autoscaling", "v2beta2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "autoscaling/v2"),
    api(26, "flowcontrol.apiserver.k8s.io", "v1beta1", "flowschemas", "FlowSchema", "flowcontrol.apiserver.k8s.io/v1beta3"),
    api(26, "flowcontrol.apiserver.k8s.io", "v1beta1", "prioritylevelconfigurations", "PriorityLevelConfiguration", "flowcontrol.apiserver.k8s.io/v1beta3"),
    api(27, "storage.k8s.io", "v1beta1", "csistoragecapacities", "CSIStorageCapacity", "storage.k8s.io/v1"),
    api(29, "flowcontrol.apiserver.k8s.io", "v1beta2", "flowschemas", "FlowSchema", "flowcontrol.apiserver.k8s.io/v1"),
    api(29, "flowcontrol.apiserver.k8s.io", "v1beta2", "prioritylevelconfigurations", "PriorityLevelConfiguration", "flowcontrol.apiserver.k8s.io/v1"),
    api(32, "flowcontrol.apiserver.k8s.io", "v1beta3", "flowschemas", "FlowSchema", "flowcontrol.apiserver.k8s.io/v1"),
    api(32, "flowcontrol.apiserver.k8s.io", "v1beta3", "prioritylevelconfigurations", "PriorityLevelConfiguration", "flowcontrol.apiserver.k8s.io/v1"),
];
