//! Reasons that `Failing` and `Progressing` share: problems of a rollout.

reasons! {
    /// Reasons that `Failing` and `Progressing` share.
    pub REASONS;

    UPDATE_PAYLOAD_RETRIEVAL_FAILED = "UpdatePayloadRetrievalFailed":
        "the operator could not retrieve the release image"
        => "Check the image's address, the pull secret, mirrors and network access to the \
            registry; then run `fairway upgrade status`";
    IMAGE_VERIFICATION_FAILED = "ImageVerificationFailed":
        "no valid signature was found for the release image"
        => "Use a release signed by a trusted key and make its signature reachable: a store in \
            `spec.signatureStores`, or a ConfigMap in openshift-config-managed";
    UPGRADE_PRECONDITION_CHECK_FAILED = "UpgradePreconditionCheckFailed":
        "a precondition of the update is not met"
        => "Follow the message, or withdraw the request with `fairway upgrade --clear`";
    UPDATE_PAYLOAD_INTEGRITY = "UpdatePayloadIntegrity":
        "the manifests in the release image are invalid"
        => "Choose another release with `fairway upgrade --to=VERSION` and report the message to \
            the publisher of this one";
    UPDATE_PAYLOAD_RESOURCE_NOT_FOUND = "UpdatePayloadResourceNotFound":
        "an object or its owner was deleted while the operator applied it"
        => "Find the client that deletes it; check that its namespace exists and is not \
            terminating";
    UPDATE_PAYLOAD_RESOURCE_CONFLICT = "UpdatePayloadResourceConflict":
        "another client repeatedly changes the same object"
        => "Find the other client in `kubectl get -o yaml --show-managed-fields` and stop it";
    UPDATE_PAYLOAD_CLUSTER_DOWN = "UpdatePayloadClusterDown":
        "the API server is unreachable"
        => "Check the control plane with `kubectl get --raw='/readyz?verbose'`; the update \
            continues when the API server is reachable";
    UPDATE_PAYLOAD_CLUSTER_ERROR = "UpdatePayloadClusterError":
        "the API server reports an internal error"
        => "Read the log of the API server and of the admission webhooks it calls";
    UPDATE_PAYLOAD_RESOURCE_INVALID = "UpdatePayloadResourceInvalid":
        "the API server rejects an object of the release as invalid"
        => "Check for local changes that conflict with it, such as an immutable field of the \
            existing object: `kubectl get -o yaml`";
    UPDATE_PAYLOAD_CLUSTER_UNAUTHORIZED = "UpdatePayloadClusterUnauthorized":
        "the API server rejects the operator's credentials"
        => "Check the operator's ServiceAccount: \
            `kubectl -n openshift-cluster-version get serviceaccount cluster-version-operator`";
    UPDATE_PAYLOAD_RESOURCE_FORBIDDEN = "UpdatePayloadResourceForbidden":
        "the operator is not allowed to write an object"
        => "Restore the operator's ClusterRoleBinding, and look for an admission policy or quota \
            that refuses the object";
    UPDATE_PAYLOAD_CLUSTER_OVERLOADED = "UpdatePayloadClusterOverloaded":
        "the API server is overloaded and rejects the change"
        => "Find the cause of the load on the API server; the update continues automatically";
    UPDATE_PAYLOAD_RESOURCE_TYPE_MISSING = "UpdatePayloadResourceTypeMissing":
        "the API server does not serve the kind of an object"
        => "Check the aggregated API servers and the CRDs: `kubectl get apiservices`, `kubectl get \
            crds`";
    UPDATE_PAYLOAD_FAILED = "UpdatePayloadFailed":
        "the operator could not apply an object, for another reason"
        => "Read the message; `fairway upgrade status` names the object";
    CLUSTER_OPERATOR_NO_VERSIONS = "ClusterOperatorNoVersions":
        "the release does not state which versions a cluster operator must reach"
        => "Choose another release with `fairway upgrade --to=VERSION` and report the message to \
            the publisher of this one";
    CLUSTER_OPERATORS_NO_VERSIONS = "ClusterOperatorsNoVersions":
        "the release does not state which versions several cluster operators must reach"
        => "Choose another release with `fairway upgrade --to=VERSION` and report the message to \
            the publisher of this one";
    CLUSTER_OPERATOR_NOT_AVAILABLE = "ClusterOperatorNotAvailable":
        "a cluster operator is not available; the update waits for it"
        => "Find the cause with `kubectl describe clusteroperator NAME` and repair it";
    CLUSTER_OPERATORS_NOT_AVAILABLE = "ClusterOperatorsNotAvailable":
        "several cluster operators are not available; the update waits for them"
        => "List them with `kubectl get clusteroperators`, find each cause with `kubectl describe \
            clusteroperator NAME` and repair it";
    CLUSTER_OPERATOR_UPDATING = "ClusterOperatorUpdating":
        "a cluster operator has not reached its new version yet"
        => "Wait; if it takes long, `kubectl describe clusteroperator NAME` shows its progress";
    CLUSTER_OPERATORS_UPDATING = "ClusterOperatorsUpdating":
        "several cluster operators have not reached their new versions yet"
        => "Wait; `fairway upgrade status` lists the ones in progress";
    CLUSTER_OPERATOR_DEGRADED = "ClusterOperatorDegraded":
        "a cluster operator is degraded; this never blocks an update"
        => "Find the cause with `kubectl describe clusteroperator NAME`; the update continues \
            meanwhile";
    CLUSTER_OPERATORS_DEGRADED = "ClusterOperatorsDegraded":
        "several cluster operators are degraded; this never blocks an update"
        => "List them with `kubectl get clusteroperators` and find each cause; the update \
            continues meanwhile";
    WORKLOAD_NOT_AVAILABLE = "WorkloadNotAvailable":
        "a Deployment of the release has too few available Pods and makes no progress"
        => "Check its Pods and events: `kubectl -n NAMESPACE describe deployment NAME`";
    WORKLOAD_NOT_PROGRESSING = "WorkloadNotProgressing":
        "a Deployment of the release cannot create its Pods or exceeded its progress deadline"
        => "Check its conditions and events: `kubectl -n NAMESPACE describe deployment NAME`";
    MULTIPLE_ERRORS = "MultipleErrors":
        "several errors block the rollout; the message lists them"
        => "Resolve each of them; `fairway upgrade status` shows the objects";
}
