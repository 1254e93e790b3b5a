//! Preconditions of an update. They are not conditions of an object: the message of
//! `ReleaseAccepted` and the history of a forced update contain their names and reasons.

reasons! {
    /// Reasons of all preconditions.
    pub REASONS;

    INVALID_CURRENT_VERSION = "InvalidCurrentVersion":
        "the version of the running release is not a semantic version"
        => "Run a release image whose version has the form 1.2.3";
    INVALID_DESIRED_VERSION = "InvalidDesiredVersion":
        "the version of the target release is not a semantic version"
        => "Choose a release that `fairway upgrade` lists: `fairway upgrade --to=VERSION`";
    UNKNOWN_ERROR = "UnknownError":
        "the precondition could not read the state of the cluster"
        => "Read the operator's log: \
            `kubectl -n openshift-cluster-version logs deployment/cluster-version-operator`";
}

condition! {
    rollback: PRECONDITION "ClusterVersionRollback",
    "the target is not older, or is the previous release of the same minor version",
    also super::REASONS;

    LOW_DESIRED_VERSION = "LowDesiredVersion":
        "the target is older and not the previous release of the same minor version"
        => "Withdraw the request with `fairway upgrade --clear`; to replace a faulty release, \
            update to a later one";
}

condition! {
    giant_hop: PRECONDITION "ClusterVersionGiantHop",
    "the target is at most two minor versions ahead and in a reachable major version",
    also super::REASONS;

    MAJOR_VERSION_UPDATE = "MajorVersionUpdate":
        "the target belongs to a later major version that is not reachable from the running version"
        => "Update first to a release from which `fairway upgrade` offers that major version";
    MULTIPLE_MINOR_VERSIONS_UPDATE = "MultipleMinorVersionsUpdate":
        "the target skips more minor versions than one update may skip"
        => "Update to an intermediate release first: `fairway upgrade` lists the next ones";
    SKIP_LEVEL_NOT_OFFERED = "SkipLevelNotOffered":
        "the target skips a minor version and the update service offers no such update"
        => "Update to an intermediate release first: `fairway upgrade` lists the next ones";
    SKIP_LEVEL_NOT_CHECKED = "SkipLevelNotChecked":
        "the target skips a minor version, and its preflight is missing, incomplete or has \
         unaccepted findings"
        => "Run `fairway upgrade --mode=preflight --to=VERSION`, resolve its findings, then repeat \
            `fairway upgrade --to=VERSION`";
}

condition! {
    upgradeable: PRECONDITION "ClusterVersionUpgradeable",
    "the target is a patch release, or no issue blocks a later minor version",
    also super::REASONS;

    CLUSTER_VERSION_OVERRIDES_SET = "ClusterVersionOverridesSet":
        "some objects are excluded from management; the patch release will not change them"
        => "Remove the unmanaged entries of `spec.overrides` with \
            `kubectl edit clusterversion version`";
    MINOR_VERSION_CLUSTER_UPDATE_IN_PROGRESS = "MinorVersionClusterUpdateInProgress":
        "a minor version update is in progress and continues to the newly requested patch release";
    MAJOR_VERSION_CLUSTER_UPDATE_IN_PROGRESS = "MajorVersionClusterUpdateInProgress":
        "a major version update is in progress and continues to the newly requested patch release";
}

condition! {
    recommended_update: PRECONDITION "ClusterVersionRecommendedUpdate",
    "the update service recommends the target for this cluster",
    also super::REASONS;

    NO_CHANNEL = "NoChannel":
        "no update channel is set, so the operator has no data about the target"
        => "Set one with `fairway upgrade channel CHANNEL`";
    UNKNOWN_UPDATE = "UnknownUpdate":
        "the update service does not list the target among the next releases"
        => "Compare with the list of `fairway upgrade`; another channel may contain it: `fairway \
            upgrade channel CHANNEL`";
    UNKNOWN_CONDITION_TYPE = "UnknownConditionType":
        "the target has risks that the operator has not evaluated yet"
        => "Wait for the evaluation, then run `fairway upgrade recommend`";
}
