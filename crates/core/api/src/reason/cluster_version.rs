//! Conditions of ClusterVersion about the running and the requested release.

/// Condition types of earlier operators, which the operator removes from ClusterVersion.
pub const RETIRED_TYPES: &[&str] = &[
    "ImplicitlyEnabled",
    "UpgradeableAdminAckRequired",
    "UpgradeableDeletesInProgress",
    "UpgradeableClusterOperators",
    "UpgradeableClusterVersionOverrides",
    "UpgradeableUpgradeInProgress",
];

condition! {
    available: CLUSTER_VERSION "Available",
    "a release has been applied completely";
}

condition! {
    failing: CLUSTER_VERSION "Failing",
    "the operator cannot apply the requested release, or an object of the release is unhealthy",
    also crate::reason::rollout::REASONS;

    NO_DESIRED_IMAGE = "NoDesiredImage":
        "the release image of the operator is unknown, so the operator cannot roll out a release"
        => "Start the operator with `--release-image`; see `kubectl -n openshift-cluster-version \
            get deployment cluster-version-operator -o yaml`";
    SLOW_CLUSTER_OPERATOR = "SlowClusterOperator":
        "a cluster operator takes longer than usual to reach its new version; the update continues"
        => "Find the cluster operator with `fairway upgrade status`, then run `kubectl describe \
            clusteroperator NAME`";
}

condition! {
    progressing: CLUSTER_VERSION "Progressing",
    "the operator is applying the requested release",
    also crate::reason::rollout::REASONS;

    INVALID_CLUSTER_VERSION = "InvalidClusterVersion":
        "the ClusterVersion spec is invalid, so the cluster keeps the running release"
        => "Read the condition Invalid and correct the spec with \
            `kubectl edit clusterversion version`";
}

condition! {
    retrieved_updates: CLUSTER_VERSION "RetrievedUpdates",
    "the operator has retrieved updates from the update service";

    NO_UPSTREAM = "NoUpstream":
        "no update service is configured"
        => "Set `spec.upstream` to its address with `kubectl edit clusterversion version`";
    INVALID_URI = "InvalidURI":
        "the address of the update service is not a valid URL"
        => "Correct `spec.upstream` with `kubectl edit clusterversion version`";
    INVALID_ID = "InvalidID":
        "the cluster ID is missing or not a UUID"
        => "Set `spec.clusterID` to a random (version 4) UUID with `kubectl edit clusterversion \
            version`";
    NO_ARCHITECTURE = "NoArchitecture":
        "the architecture of the running release is unknown"
        => "Find the cause with `kubectl -n openshift-cluster-version logs \
            deployment/cluster-version-operator`";
    NO_CURRENT_VERSION = "NoCurrentVersion":
        "the version of the running release is unknown"
        => "Wait until the operator has read the release image; if the reason persists, run a \
            release image that states its version";
    NO_CHANNEL = "NoChannel":
        "no update channel is set, so the operator does not retrieve updates"
        => "Set one with `fairway upgrade channel CHANNEL`";
    INVALID_CURRENT_VERSION = "InvalidCurrentVersion":
        "the version of the running release is not a semantic version"
        => "Run a release image whose version has the form 1.2.3";
    INVALID_REQUEST = "InvalidRequest":
        "the address of the update service cannot be used in a request"
        => "Check `spec.upstream` with `kubectl get clusterversion version -o yaml`";
    REMOTE_FAILED = "RemoteFailed":
        "the update service cannot be reached"
        => "Check that the control plane reaches the address in `spec.upstream`: DNS, proxy, \
            firewall and trusted CAs; the last known updates stay listed for a day";
    RESPONSE_FAILED = "ResponseFailed":
        "the update service returned an error or an incomplete response"
        => "Wait, the operator retries; if you run the update service yourself, read its log";
    RESPONSE_INVALID = "ResponseInvalid":
        "the response of the update service is not a valid update graph"
        => "Make sure that `spec.upstream` is the address of an update service; report the message \
            to its maintainer";
    VERSION_NOT_FOUND = "VersionNotFound":
        "the channel does not contain the running version"
        => "Choose a channel that contains it with `fairway upgrade channel CHANNEL`";
    UNKNOWN = "Unknown":
        "retrieving updates failed for another reason"
        => "Read the message, and the log with \
            `kubectl -n openshift-cluster-version logs deployment/cluster-version-operator`";
}

condition! {
    release_accepted: CLUSTER_VERSION "ReleaseAccepted",
    "the operator has verified, read and accepted the requested release";

    PAYLOAD_LOADED = "PayloadLoaded":
        "the release is accepted; the operator is applying it or has applied it";
    RETRIEVE_PAYLOAD = "RetrievePayload":
        "the operator is retrieving and verifying the release image, or has failed to do so"
        => "If it failed, check the image's address, pull secret, mirrors and signature; withdraw \
            the request with `fairway upgrade --clear`";
    LOAD_PAYLOAD = "LoadPayload":
        "the content of the release image is invalid"
        => "Choose another release with `fairway upgrade --to=VERSION`, or withdraw the request \
            with `fairway upgrade --clear`";
    VERIFY_PAYLOAD_VERSION = "VerifyPayloadVersion":
        "the image contains a version other than the requested one"
        => "Request the version that the message names, or another image";
    PRECONDITION_CHECKS = "PreconditionChecks":
        "a precondition of the update to this release is not met"
        => "Follow the message for each precondition, or withdraw the request with `fairway \
            upgrade --clear`";
    EVALUATING_RISKS = "EvaluatingRisks":
        "the operator is evaluating the risks of this release";
    UNACCEPTED_RISKS = "UnacceptedRisks":
        "risks that apply or may apply to this cluster are not accepted"
        => "Read about them with `fairway upgrade recommend`, accept each with \
            `fairway upgrade accept RISK`, or withdraw the request with \
            `fairway upgrade --clear`";
    PREFLIGHT_REQUIRED = "PreflightRequired":
        "this cluster requires a complete preflight of the release before an update"
        => "Run one with `fairway upgrade --mode=preflight --to=VERSION`, then repeat \
            `fairway upgrade --to=VERSION`";
}

condition! {
    upgradeable: CLUSTER_VERSION "Upgradeable",
    "no known issue blocks an update to a later minor or major version";

    CLUSTER_VERSION_UPDATING = "ClusterVersionUpdating":
        "an update is in progress; until it completes, only updates to patch releases are allowed"
        => "Wait until it completes; `fairway upgrade status` shows the progress";
    CLUSTER_VERSION_OVERRIDES = "ClusterVersionOverrides":
        "some objects are excluded from management by overrides"
        => "Remove the unmanaged entries of `spec.overrides` with \
            `kubectl edit clusterversion version`";
    RESOURCE_DELETION_IN_PROGRESS = "ResourceDeletionInProgress":
        "objects that the release removes are still being deleted"
        => "Wait; if an object in the message remains, check its finalizers with `kubectl get -o \
            yaml`";
    RESOURCE_DELETION_IN_PROGRESS_UNKNOWN = "ResourceDeletionInProgressUnknown":
        "the operator cannot determine whether objects that the release removes are deleted"
        => "Make sure that the running release has a semantic version: \
            `kubectl get clusterversion version`";
    ADMIN_ACK_REQUIRED = "AdminAckRequired":
        "the release requires an admin ack before a minor or major update"
        => "Follow the message, then set the admin gate to \"true\" with `kubectl -n \
            openshift-config edit configmap admin-acks`";
    ADMIN_ACK_UNKNOWN = "AdminAckUnknown":
        "a required admin ack may be missing: admin-gates cannot be read, or admin-acks is \
         missing or cannot be read"
        => "Run `kubectl -n openshift-config-managed get configmap admin-gates` and \
            `kubectl -n openshift-config get configmap admin-acks`, and correct the errors that \
            they report";
    CLUSTER_OPERATOR_NOT_UPGRADEABLE = "ClusterOperatorNotUpgradeable":
        "a cluster operator reports that updates to a later minor version are not allowed"
        => "Follow the message; `kubectl describe clusteroperator NAME` shows details";
    CLUSTER_OPERATOR_UPGRADEABLE_UNKNOWN = "ClusterOperatorUpgradeableUnknown":
        "the operator cannot determine whether the cluster operators allow a later minor version"
        => "Check that they can be listed: `kubectl get clusteroperators`";
    RISK_NAME_NOT_COMPATIBLE_WITH_REASON_PROPERTY = "RiskNameNotCompatibleWithReasonProperty":
        "one risk blocks the update; the risk name cannot be used as a condition reason"
        => "Read the message, or see the risk with `fairway upgrade recommend`";
    MULTIPLE_REASONS = "MultipleReasons":
        "several issues block the update; the message lists them"
        => "Resolve each of them; `fairway upgrade recommend` lists them";
    EVALUATION_FAILED = "EvaluationFailed":
        "the operator cannot determine whether an issue blocks the update"
        => "Read the message for the data that is unavailable, and restore access to it";
}

condition! {
    implicitly_enabled_capabilities: CLUSTER_VERSION "ImplicitlyEnabledCapabilities",
    "capabilities are enabled that the spec does not request, because capabilities in use cannot \
    be disabled";

    CAPABILITIES_IMPLICITLY_ENABLED = "CapabilitiesImplicitlyEnabled":
        "capabilities in use stay enabled although the spec does not request them"
        => "Add them to `spec.capabilities.additionalEnabledCapabilities` with \
            `kubectl edit clusterversion version` to make that explicit";
    AS_EXPECTED = "AsExpected":
        "exactly the capabilities in the spec are enabled";
}

condition! {
    invalid: CLUSTER_VERSION "Invalid",
    "the spec contains an invalid value, which the operator ignores";

    INVALID_CLUSTER_VERSION = "InvalidClusterVersion":
        "a field of the spec has an invalid value; the message names it"
        => "Correct the field with `kubectl edit clusterversion version`; withdraw an invalid \
            update request with `fairway upgrade --clear`";
}
