//! The conditions of `ClusterVersion` about the release it runs and the one it is asked to run.

/// Condition types that former operators wrote on `ClusterVersion` and that are removed on sight.
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
    "the wanted release cannot be applied, or something it installed is unhealthy",
    also crate::reason::rollout::REASONS;

    NO_DESIRED_IMAGE = "NoDesiredImage":
        "the operator does not know which release image it should apply"
        => "Start the operator with `--release-image`; see `kubectl -n openshift-cluster-version \
            get deployment cluster-version-operator -o yaml`";
    SLOW_CLUSTER_OPERATOR = "SlowClusterOperator":
        "a cluster operator takes longer than usual for its new version; it may still get there"
        => "See which one with `fairway upgrade status`, then look at it with \
            `kubectl describe clusteroperator NAME`";
}

condition! {
    progressing: CLUSTER_VERSION "Progressing",
    "the cluster is on its way to the wanted release",
    also crate::reason::rollout::REASONS;

    INVALID_CLUSTER_VERSION = "InvalidClusterVersion":
        "the ClusterVersion spec is invalid, so the cluster stays with the release it has"
        => "Read the condition Invalid and correct the spec with \
            `kubectl edit clusterversion version`";
}

condition! {
    retrieved_updates: CLUSTER_VERSION "RetrievedUpdates",
    "the update service has answered and its answer was understood";

    NO_UPSTREAM = "NoUpstream":
        "no update service is configured"
        => "Set `spec.upstream` to its address with `kubectl edit clusterversion version`";
    INVALID_URI = "InvalidURI":
        "the address of the update service is not a valid URL"
        => "Correct `spec.upstream` with `kubectl edit clusterversion version`";
    INVALID_ID = "InvalidID":
        "the cluster ID is missing or not a UUID"
        => "Put a random (version 4) UUID into `spec.clusterID` with \
            `kubectl edit clusterversion version`";
    NO_ARCHITECTURE = "NoArchitecture":
        "the architecture of the running release is not known"
        => "Look for the cause with \
            `kubectl -n openshift-cluster-version logs deployment/cluster-version-operator`";
    NO_CURRENT_VERSION = "NoCurrentVersion":
        "the version of the running release is not known"
        => "Wait until the release image has been read; if that does not happen, run a release \
            image that states its version";
    NO_CHANNEL = "NoChannel":
        "no update channel is chosen, so updates are not looked for"
        => "Choose one with `fairway upgrade channel CHANNEL`";
    INVALID_CURRENT_VERSION = "InvalidCurrentVersion":
        "the version of the running release is not a semantic version"
        => "Run a release image whose version has the form 1.2.3";
    INVALID_REQUEST = "InvalidRequest":
        "no request can be made from the address of the update service"
        => "Check `spec.upstream` with `kubectl get clusterversion version -o yaml`";
    REMOTE_FAILED = "RemoteFailed":
        "the update service cannot be reached"
        => "Check that the control plane reaches the address in `spec.upstream`: DNS, proxy, \
            firewall and trusted CAs; the last known updates stay listed for a day";
    RESPONSE_FAILED = "ResponseFailed":
        "the update service answered with an error, or its answer broke off"
        => "Try again later; if you run the update service yourself, read its log";
    RESPONSE_INVALID = "ResponseInvalid":
        "the answer of the update service is not a valid update graph"
        => "Make sure that `spec.upstream` is the address of an update service; tell its \
            maintainer what the message says";
    VERSION_NOT_FOUND = "VersionNotFound":
        "the chosen channel does not contain the running version"
        => "Choose a channel that contains it with `fairway upgrade channel CHANNEL`";
    UNKNOWN = "Unknown":
        "retrieving updates failed in a way that has no name of its own"
        => "Read the message, and the log with \
            `kubectl -n openshift-cluster-version logs deployment/cluster-version-operator`";
}

condition! {
    release_accepted: CLUSTER_VERSION "ReleaseAccepted",
    "the wanted release has been verified, read and found fit to be applied";

    PAYLOAD_LOADED = "PayloadLoaded":
        "the release is verified and read; it is being applied or already runs";
    RETRIEVE_PAYLOAD = "RetrievePayload":
        "the release image is being fetched and verified, or that failed"
        => "If it failed, check the image's address, pull secret, mirrors and signature; cancel \
            with `fairway upgrade --clear`";
    LOAD_PAYLOAD = "LoadPayload":
        "the contents of the release image are not usable"
        => "Choose another release with `fairway upgrade --to=VERSION`, or cancel with \
            `fairway upgrade --clear`";
    VERIFY_PAYLOAD_VERSION = "VerifyPayloadVersion":
        "the image holds another version than the one asked for"
        => "Ask for the version that the message names, or for the right image";
    PRECONDITION_CHECKS = "PreconditionChecks":
        "a check before the update refuses this release"
        => "Do what the message says for each check, or cancel with `fairway upgrade --clear`";
    EVALUATING_RISKS = "EvaluatingRisks":
        "the decision waits until the risks of this release are known";
    UNACCEPTED_RISKS = "UnacceptedRisks":
        "risks that apply, or that cannot be ruled out, have not been accepted"
        => "Read about them with `fairway upgrade recommend`, accept each with \
            `fairway upgrade accept RISK`, or cancel with `fairway upgrade --clear`";
    PREFLIGHT_REQUIRED = "PreflightRequired":
        "this cluster updates only after a complete preflight of the release, and there is none"
        => "Run one with `fairway upgrade --mode=preflight --to=VERSION`, then repeat \
            `fairway upgrade --to=VERSION`";
}

condition! {
    upgradeable: CLUSTER_VERSION "Upgradeable",
    "nothing is known that stands against an update to a later minor or major version";

    CLUSTER_VERSION_UPDATING = "ClusterVersionUpdating":
        "an update is under way; until it ends only patch releases can be chosen"
        => "Wait for it to end; `fairway upgrade status` shows how far it is";
    CLUSTER_VERSION_OVERRIDES = "ClusterVersionOverrides":
        "some objects are excluded from management by overrides"
        => "Remove the unmanaged entries of `spec.overrides` with \
            `kubectl edit clusterversion version`";
    RESOURCE_DELETION_IN_PROGRESS = "ResourceDeletionInProgress":
        "objects that the release removes are not gone yet"
        => "Wait; if one named in the message stays, look at its finalizers with \
            `kubectl get -o yaml`";
    RESOURCE_DELETION_IN_PROGRESS_UNKNOWN = "ResourceDeletionInProgressUnknown":
        "it cannot be told whether objects that the release removes are gone"
        => "Make sure that the running release has a semantic version: \
            `kubectl get clusterversion version`";
    ADMIN_ACK_REQUIRED = "AdminAckRequired":
        "the release asks an administrator to confirm something before a minor or major update"
        => "Do what the message asks, then set the gate to \"true\" with \
            `kubectl -n openshift-config edit configmap admin-acks`";
    ADMIN_ACK_UNKNOWN = "AdminAckUnknown":
        "a required acknowledgement may be missing: admin-gates cannot be read, or admin-acks is \
         missing or cannot be read"
        => "Run `kubectl -n openshift-config-managed get configmap admin-gates` and \
            `kubectl -n openshift-config get configmap admin-acks`, and correct what they report";
    CLUSTER_OPERATOR_NOT_UPGRADEABLE = "ClusterOperatorNotUpgradeable":
        "a cluster operator says that the cluster must not go to a later minor version now"
        => "Do what the message says; `kubectl describe clusteroperator NAME` tells more";
    CLUSTER_OPERATOR_UPGRADEABLE_UNKNOWN = "ClusterOperatorUpgradeableUnknown":
        "it cannot be told whether the cluster operators allow a later minor version"
        => "Check that they can be listed: `kubectl get clusteroperators`";
    RISK_NAME_NOT_COMPATIBLE_WITH_REASON_PROPERTY = "RiskNameNotCompatibleWithReasonProperty":
        "one risk stands against the update; its name cannot be written as a reason"
        => "Read the message, or see the risk with `fairway upgrade recommend`";
    MULTIPLE_REASONS = "MultipleReasons":
        "several things stand against the update; the message lists them"
        => "Deal with each of them; `fairway upgrade recommend` shows them one by one";
    EVALUATION_FAILED = "EvaluationFailed":
        "it cannot be told whether something stands against the update"
        => "Read the message for what could not be looked at, and repair that";
}

condition! {
    implicitly_enabled_capabilities: CLUSTER_VERSION "ImplicitlyEnabledCapabilities",
    "capabilities are on that the spec does not ask for, because one in use cannot be turned off";

    CAPABILITIES_IMPLICITLY_ENABLED = "CapabilitiesImplicitlyEnabled":
        "capabilities were in use already and stay on although the spec leaves them out"
        => "Add them to `spec.capabilities.additionalEnabledCapabilities` with \
            `kubectl edit clusterversion version` to make that explicit";
    AS_EXPECTED = "AsExpected":
        "exactly the capabilities in the spec are on";
}

condition! {
    invalid: CLUSTER_VERSION "Invalid",
    "the spec contains a value that cannot be used and was left aside";

    INVALID_CLUSTER_VERSION = "InvalidClusterVersion":
        "a field of the spec has an unusable value; the message names it"
        => "Correct the field with `kubectl edit clusterversion version`; withdraw an unusable \
            update request with `fairway upgrade --clear`";
}
