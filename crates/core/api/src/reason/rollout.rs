//! Why a release is not being applied smoothly: the reasons that `Failing` and `Progressing` share.

reasons! {
    /// The reasons that `Failing` and `Progressing` share.
    pub REASONS;

    UPDATE_PAYLOAD_RETRIEVAL_FAILED = "UpdatePayloadRetrievalFailed":
        "the release image could not be fetched"
        => "Check the image's address, the pull secret, mirrors and the way to the registry; then \
            `fairway upgrade status`";
    IMAGE_VERIFICATION_FAILED = "ImageVerificationFailed":
        "no valid signature was found for the release image"
        => "Use a release signed by a trusted key and make its signature reachable: a store in \
            `spec.signatureStores`, or a ConfigMap in openshift-config-managed";
    UPGRADE_PRECONDITION_CHECK_FAILED = "UpgradePreconditionCheckFailed":
        "a check before the update found it unsafe"
        => "Do what the message says, or cancel with `fairway upgrade --clear`";
    UPDATE_PAYLOAD_INTEGRITY = "UpdatePayloadIntegrity":
        "the manifests in the release image are broken"
        => "Choose another release with `fairway upgrade --to=VERSION` and tell whoever built this \
            one";
    UPDATE_PAYLOAD_RESOURCE_NOT_FOUND = "UpdatePayloadResourceNotFound":
        "an object, or what it belongs to, vanished while it was being applied"
        => "Find out who deletes it; check that its namespace exists and is not being removed";
    UPDATE_PAYLOAD_RESOURCE_CONFLICT = "UpdatePayloadResourceConflict":
        "somebody else keeps writing the same object"
        => "Find the other writer in `kubectl get -o yaml --show-managed-fields` and stop it";
    UPDATE_PAYLOAD_CLUSTER_DOWN = "UpdatePayloadClusterDown":
        "the API server does not answer"
        => "Check the control plane with `kubectl get --raw='/readyz?verbose'`; the update goes on \
            when it is back";
    UPDATE_PAYLOAD_CLUSTER_ERROR = "UpdatePayloadClusterError":
        "the API server reports an internal error"
        => "Read the log of the API server and of the admission webhooks it calls";
    UPDATE_PAYLOAD_RESOURCE_INVALID = "UpdatePayloadResourceInvalid":
        "the API server finds an object of the release invalid"
        => "Look for local changes that clash with it, such as an immutable field of the existing \
            object: `kubectl get -o yaml`";
    UPDATE_PAYLOAD_CLUSTER_UNAUTHORIZED = "UpdatePayloadClusterUnauthorized":
        "the API server does not recognise the operator's credentials"
        => "Check the operator's ServiceAccount: \
            `kubectl -n openshift-cluster-version get serviceaccount cluster-version-operator`";
    UPDATE_PAYLOAD_RESOURCE_FORBIDDEN = "UpdatePayloadResourceForbidden":
        "the operator is not allowed to write an object"
        => "Restore the operator's ClusterRoleBinding, and look for an admission policy or quota \
            that refuses the object";
    UPDATE_PAYLOAD_CLUSTER_OVERLOADED = "UpdatePayloadClusterOverloaded":
        "the API server is too busy to take the change"
        => "Find out what loads the API server; the update goes on by itself";
    UPDATE_PAYLOAD_RESOURCE_TYPE_MISSING = "UpdatePayloadResourceTypeMissing":
        "the API server does not know the kind of an object"
        => "Check the extension API servers and the definitions: `kubectl get apiservices`, \
            `kubectl get crds`";
    UPDATE_PAYLOAD_FAILED = "UpdatePayloadFailed":
        "an object could not be applied for a reason that has no name of its own"
        => "Read the message; `fairway upgrade status` names the object";
    CLUSTER_OPERATOR_NO_VERSIONS = "ClusterOperatorNoVersions":
        "the release does not say which versions a cluster operator must reach"
        => "Choose another release with `fairway upgrade --to=VERSION` and tell whoever built this \
            one";
    CLUSTER_OPERATORS_NO_VERSIONS = "ClusterOperatorsNoVersions":
        "the release does not say which versions several cluster operators must reach"
        => "Choose another release with `fairway upgrade --to=VERSION` and tell whoever built this \
            one";
    CLUSTER_OPERATOR_NOT_AVAILABLE = "ClusterOperatorNotAvailable":
        "a cluster operator is not available; the update waits for it"
        => "Find the cause with `kubectl describe clusteroperator NAME` and repair it";
    CLUSTER_OPERATORS_NOT_AVAILABLE = "ClusterOperatorsNotAvailable":
        "several cluster operators are not available; the update waits for them"
        => "List them with `kubectl get clusteroperators`, look at each with \
            `kubectl describe clusteroperator NAME` and repair it";
    CLUSTER_OPERATOR_UPDATING = "ClusterOperatorUpdating":
        "a cluster operator has not reached its new version yet"
        => "Wait; if it takes long, `kubectl describe clusteroperator NAME` tells what it is doing";
    CLUSTER_OPERATORS_UPDATING = "ClusterOperatorsUpdating":
        "several cluster operators have not reached their new versions yet"
        => "Wait; `fairway upgrade status` shows which ones are still on their way";
    CLUSTER_OPERATOR_DEGRADED = "ClusterOperatorDegraded":
        "a cluster operator works with reduced quality; this never holds up an update"
        => "Find the cause with `kubectl describe clusteroperator NAME`; the update may go on \
            meanwhile";
    CLUSTER_OPERATORS_DEGRADED = "ClusterOperatorsDegraded":
        "several cluster operators work with reduced quality; this never holds up an update"
        => "List them with `kubectl get clusteroperators` and look at each; the update may go on \
            meanwhile";
    WORKLOAD_NOT_AVAILABLE = "WorkloadNotAvailable":
        "a Deployment of the release has too few running Pods and makes no progress"
        => "Look at its Pods and events: `kubectl -n NAMESPACE describe deployment NAME`";
    WORKLOAD_NOT_PROGRESSING = "WorkloadNotProgressing":
        "a Deployment of the release cannot create its Pods or ran out of time"
        => "Look at its conditions and events: `kubectl -n NAMESPACE describe deployment NAME`";
    MULTIPLE_ERRORS = "MultipleErrors":
        "several errors are in the way; the message lists them"
        => "Deal with each of them; `fairway upgrade status` shows the objects concerned";
}
