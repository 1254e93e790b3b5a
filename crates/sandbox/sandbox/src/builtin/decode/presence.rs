//! Which unset or empty fields of a built-in kind appear in its JSON.
//!
//! The published schemas do not contain this; it follows from the Go types. A pointer field appears
//! whenever it was set, even to an empty value. A field held by value is omitted when it is empty,
//! unless it is a structure, which `omitempty` never omits.

use super::types::GoType;

/// When a field appears in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// Always; with the zero value if it was not set.
    Always,
    /// Always; with `null` if it was not set.
    OrNull,
    /// If it was set.
    WhenSet,
    /// If it is not empty.
    UnlessEmpty,
}

pub(super) fn presence(structure: &str, field: &str, content: &GoType, required: bool) -> Presence {
    let listed = |table: Fields| {
        let rows = table.iter().filter_map(|row| row.split_once(": "));
        let mut rows = rows.filter(|(name, _)| *name == structure || *name == "*");
        rows.any(|(_, fields)| fields.split(' ').any(|listed| listed == field))
    };
    if listed(UNLESS_EMPTY) {
        return Presence::UnlessEmpty;
    }
    if listed(OR_NULL) {
        return Presence::OrNull;
    }
    if required || listed(ALWAYS) {
        return Presence::Always;
    }
    let empty_is_nothing = match content {
        GoType::List(_) | GoType::Map(_) | GoType::Bytes => true,
        GoType::Text => !listed(TEXTS_BY_REFERENCE),
        GoType::Int32 | GoType::Int64 | GoType::Float | GoType::Bool => listed(SCALARS_BY_VALUE),
        _ => false,
    };
    if empty_is_nothing { Presence::UnlessEmpty } else { Presence::WhenSet }
}

/// Structures and their fields, as `Structure: field field`; `*` stands for every structure.
type Fields = &'static [&'static str];

/// Structures and times held by value, and fields without `omitempty`.
const ALWAYS: Fields = &[
    "*: metadata spec status",
    "CustomResourceDefinitionStatus: acceptedNames",
    "Container: resources",
    "EphemeralContainer: resources",
    "PersistentVolumeClaimSpec: resources",
    "DeploymentSpec: strategy",
    "DaemonSetSpec: updateStrategy",
    "StatefulSetSpec: updateStrategy",
    "StatefulSetStatus: availableReplicas",
    "ServiceStatus: loadBalancer",
    "IngressStatus: loadBalancer",
    "ServicePort: targetPort",
    "ResourceFieldSelector: divisor",
    "ContainerStatus: state lastState",
    "NodeStatus: daemonEndpoints nodeInfo",
    "NodeDaemonEndpoints: kubeletEndpoint",
    "TokenReviewStatus: user",
    "Event: source regarding deprecatedSource reportingComponent reportingInstance",
    "ReplicaSetSpec: template",
    "NetworkPolicySpec: podSelector",
];

/// Fields that the schemas require although their default is the zero value.
const UNLESS_EMPTY: Fields = &[
    "LocalObjectReference: name",
    "ConfigMapKeySelector: name",
    "SecretKeySelector: name",
    "ConfigMapEnvSource: name",
    "SecretEnvSource: name",
    "ConfigMapProjection: name",
    "SecretProjection: name",
    "ConfigMapVolumeSource: name",
];

/// Fields that are `null` if not set: times held by value, and pointers without `omitempty`.
const OR_NULL: Fields = &[
    "ObjectMeta: creationTimestamp",
    "Condition: lastTransitionTime",
    "PodCondition: lastProbeTime lastTransitionTime",
    "NodeCondition: lastHeartbeatTime lastTransitionTime",
    "NamespaceCondition: lastTransitionTime",
    "PersistentVolumeClaimCondition: lastProbeTime lastTransitionTime",
    "DeploymentCondition: lastUpdateTime lastTransitionTime",
    "ReplicaSetCondition: lastTransitionTime",
    "DaemonSetCondition: lastTransitionTime",
    "StatefulSetCondition: lastTransitionTime",
    "JobCondition: lastProbeTime lastTransitionTime",
    "APIServiceCondition: lastTransitionTime",
    "CustomResourceDefinitionCondition: lastTransitionTime",
    "ContainerStateRunning: startedAt",
    "ContainerStateTerminated: startedAt finishedAt",
    "EventSeries: lastObservedTime",
    "Event: firstTimestamp lastTimestamp eventTime deprecatedFirstTimestamp",
    "Event: deprecatedLastTimestamp",
    "Role: rules",
    "ClusterRole: rules",
    "CustomResourceDefinitionStatus: conditions storedVersions",
    "DeploymentSpec: selector",
    "ReplicaSetSpec: selector",
    "DaemonSetSpec: selector",
    "StatefulSetSpec: selector",
    "HTTPIngressPath: pathType",
    "MutatingWebhook: sideEffects",
    "ValidatingWebhook: sideEffects",
    "TokenRequestSpec: expirationSeconds boundObjectRef",
];

/// Strings held by pointer, which appear when they are set to the empty string.
const TEXTS_BY_REFERENCE: Fields = &[
    "HostPathVolumeSource: type",
    "PersistentVolumeClaimSpec: storageClassName volumeMode volumeAttributesClassName",
    "PersistentVolumeClaimStatus: currentVolumeAttributesClassName",
    "PersistentVolumeSpec: volumeMode volumeAttributesClassName",
    "PodSpec: runtimeClassName preemptionPolicy",
    "Container: restartPolicy",
    "EphemeralContainer: restartPolicy",
    "VolumeMount: mountPropagation recursiveReadOnly",
    "SeccompProfile: localhostProfile",
    "AppArmorProfile: localhostProfile",
    "SecurityContext: procMount",
    "PodSecurityContext: fsGroupChangePolicy supplementalGroupsPolicy seLinuxChangePolicy",
    "WindowsSecurityContextOptions: gmsaCredentialSpecName gmsaCredentialSpec runAsUserName",
    "TopologySpreadConstraint: nodeAffinityPolicy nodeTaintsPolicy",
    "PodDNSConfigOption: value",
    "GRPCAction: service",
    "Lifecycle: stopSignal",
    "PodResourceClaim: resourceClaimName resourceClaimTemplateName",
    "ClusterTrustBundleProjection: name signerName",
    "CSIVolumeSource: fsType",
    "AzureDiskVolumeSource: cachingMode fsType kind",
    "TypedLocalObjectReference: apiGroup",
    "TypedObjectReference: apiGroup namespace",
    "PriorityClass: preemptionPolicy",
    "StorageClass: reclaimPolicy volumeBindingMode",
    "LeaseSpec: holderIdentity strategy preferredHolder",
    "ServiceSpec: ipFamilyPolicy internalTrafficPolicy loadBalancerClass trafficDistribution",
    "ServicePort: appProtocol",
    "EndpointPort: appProtocol",
    "EndpointAddress: nodeName",
    "LoadBalancerIngress: ipMode",
    "PortStatus: error",
    "IngressPortStatus: error",
    "IngressSpec: ingressClassName",
    "IngressClassParametersReference: apiGroup scope namespace",
    "NetworkPolicyPort: protocol",
    "MutatingWebhook: failurePolicy matchPolicy reinvocationPolicy",
    "ValidatingWebhook: failurePolicy matchPolicy",
    "RuleWithOperations: scope",
    "WebhookClientConfig: url",
    "ServiceReference: path",
    "CustomResourceDefinitionVersion: deprecationWarning",
    "CustomResourceSubresourceScale: labelSelectorPath",
    "JSONSchemaProps:",
    "ValidationRule: reason",
    "JobSpec: completionMode podReplacementPolicy managedBy",
    "PodFailurePolicyOnExitCodesRequirement: containerName",
    "SuccessPolicyRule: succeededIndexes",
    "JobStatus: failedIndexes",
    "CronJobSpec: timeZone",
    "PodDisruptionBudgetSpec: unhealthyPodEvictionPolicy",
];

/// Numbers and booleans held by value, which are omitted when zero or false.
const SCALARS_BY_VALUE: Fields = &[
    // All structures with conditions or observed generations.
    "*: observedGeneration minReadySeconds",
    "ObjectMeta: generation",
    "PodSpec: hostNetwork hostPID hostIPC",
    "Container: stdin stdinOnce tty",
    "EphemeralContainer: stdin stdinOnce tty",
    "ContainerPort: hostPort",
    "Probe: initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold",
    "VolumeMount: readOnly",
    "PersistentVolumeClaimVolumeSource: readOnly",
    "NFSVolumeSource: readOnly",
    "GCEPersistentDiskVolumeSource: readOnly partition",
    "AWSElasticBlockStoreVolumeSource: readOnly partition",
    "ISCSIVolumeSource: readOnly chapAuthDiscovery chapAuthSession",
    "ISCSIPersistentVolumeSource: readOnly chapAuthDiscovery chapAuthSession",
    "GlusterfsVolumeSource: readOnly",
    "GlusterfsPersistentVolumeSource: readOnly",
    "RBDVolumeSource: readOnly",
    "RBDPersistentVolumeSource: readOnly",
    "QuobyteVolumeSource: readOnly",
    "CephFSVolumeSource: readOnly",
    "CephFSPersistentVolumeSource: readOnly",
    "CinderVolumeSource: readOnly",
    "CinderPersistentVolumeSource: readOnly",
    "FCVolumeSource: readOnly",
    "FlexVolumeSource: readOnly",
    "FlexPersistentVolumeSource: readOnly",
    "AzureFileVolumeSource: readOnly",
    "AzureFilePersistentVolumeSource: readOnly",
    "PortworxVolumeSource: readOnly",
    "ScaleIOVolumeSource: readOnly sslEnabled",
    "ScaleIOPersistentVolumeSource: readOnly sslEnabled",
    "StorageOSVolumeSource: readOnly",
    "StorageOSPersistentVolumeSource: readOnly",
    "CSIPersistentVolumeSource: readOnly",
    "ContainerStateTerminated: signal",
    "NodeSpec: unschedulable",
    "Event: count deprecatedCount",
    "EventSeries: count",
    "ServiceSpec: publishNotReadyAddresses healthCheckNodePort",
    "ServicePort: nodePort",
    "ServiceBackendPort: number",
    "DeploymentSpec: paused",
    "DeploymentStatus: replicas updatedReplicas readyReplicas availableReplicas",
    "DeploymentStatus: unavailableReplicas",
    "ReplicaSetStatus: fullyLabeledReplicas readyReplicas availableReplicas",
    "StatefulSetStatus: readyReplicas currentReplicas updatedReplicas",
    "DaemonSetStatus: numberAvailable numberUnavailable updatedNumberScheduled",
    "JobStatus: active succeeded failed",
    "ScaleSpec: replicas",
    "PriorityClass: globalDefault",
    "SubjectAccessReviewStatus: denied",
    "TokenReviewStatus: authenticated",
    "CustomResourceDefinitionSpec: preserveUnknownFields",
    "CustomResourceDefinitionVersion: deprecated",
    "CustomResourceColumnDefinition: priority",
    "JSONSchemaProps: uniqueItems nullable exclusiveMaximum exclusiveMinimum",
    "APIServiceSpec: insecureSkipTLSVerify",
];
