//! Conditions of ClusterVersion about preflights: checks of the target release against this cluster
//! before the update. A failed preflight does not block an update, unless the operator is
//! configured to require one.

condition! {
    preflight_running: CLUSTER_VERSION "PreflightRunning",
    "a preflight of the target release is in progress";

    NOT_REQUESTED = "NotRequested":
        "no preflight is requested";
    STARTING = "Starting":
        "the operator is retrieving, verifying and starting the target release";
    CHECKING = "Checking":
        "the first run of all checks is in progress";
    MONITORING = "Monitoring":
        "the first run is complete; checks are repeated when the cluster changes"
        => "Stop it with `fairway upgrade --clear-preflight`, or start the update with \
            `fairway upgrade --to=VERSION`";
    RESTARTING = "Restarting":
        "the operator moved to another node, and the preflight starts again there";
    STOPPED = "Stopped":
        "a preflight is requested, but the operator stopped it"
        => "Look up the reason of the condition PreflightFailed; withdraw the request with \
            `fairway upgrade --clear-preflight`";
    HELD = "Held":
        "the operator cannot execute the request, and does not treat it as an update either"
        => "Look up the reason of the condition PreflightFailed; withdraw the request with \
            `fairway upgrade --clear-preflight`";
}

condition! {
    preflight_completed: CLUSTER_VERSION "PreflightCompleted",
    "every check of the target release has a result";

    NOT_REQUESTED = "NotRequested":
        "no preflight is requested and no results are stored";
    PREFLIGHT_RUNNING = "PreflightRunning":
        "the first run of all checks is not complete yet";
    NO_RISKS_FOUND = "NoRisksFound":
        "all checks are complete and none found a risk";
    RISKS_FOUND = "RisksFound":
        "all checks are complete and some found risks"
        => "Read them with `fairway upgrade --status-preflight`; remove the causes, or accept each with \
            `fairway upgrade accept RISK`";
    NOT_MONITORED = "NotMonitored":
        "the results of a finished preflight are stored; they are no longer updated"
        => "Run it again with `fairway upgrade --mode=preflight --to=VERSION` to refresh them";
    PREFLIGHT_PARTIAL = "PreflightPartial":
        "the run is complete, but some checks have no result"
        => "List the checks and causes with `fairway upgrade --status-preflight`";
    PREFLIGHT_VERSION_SKEW = "PreflightVersionSkew":
        "the run is complete, but some checks do not support skipping so many versions"
        => "Run a preflight of an intermediate release: `fairway upgrade --mode=preflight \
            --to=VERSION`";
    PREFLIGHT_FAILED = "PreflightFailed":
        "the preflight ended before all checks were complete"
        => "Look up the reason of the condition PreflightFailed, then repeat \
            `fairway upgrade --mode=preflight --to=VERSION`";
}

condition! {
    preflight_failed: CLUSTER_VERSION "PreflightFailed",
    "a preflight or one of its checks failed";

    NOT_REQUESTED = "NotRequested":
        "no preflight is requested";
    AS_EXPECTED = "AsExpected":
        "no failure has occurred";

    // Request
    UNKNOWN_MODE = "UnknownMode":
        "the update request has a mode that this operator does not support; no update starts"
        => "Withdraw the request with `fairway upgrade --clear-preflight`";
    PREFLIGHT_DISABLED = "PreflightDisabled":
        "preflights are disabled in this operator; no update starts"
        => "Withdraw the request with `fairway upgrade --clear-preflight`, or enable preflights";
    UPDATES_NOT_RETRIEVED = "UpdatesNotRetrieved":
        "the operator cannot resolve the version, because it has retrieved no updates"
        => "Look up the reason of the condition RetrievedUpdates, or request the release by its \
            image";
    VERSION_NOT_FOUND = "VersionNotFound":
        "the channel does not contain the version"
        => "Choose a channel that contains it with `fairway upgrade channel CHANNEL`, or request \
            the release by its image";

    // Release image
    RETRIEVE_PAYLOAD = "RetrievePayload":
        "the operator cannot read the release image from the registry"
        => "Check the image's address, the pull secret, mirrors and network access to the registry";
    IMAGE_VERIFICATION_FAILED = "ImageVerificationFailed":
        "no valid signature was found for the release image"
        => "Use a release signed by a trusted key and make its signature reachable: a store in \
            `spec.signatureStores`, or a ConfigMap in openshift-config-managed";
    LOAD_PAYLOAD = "LoadPayload":
        "the content of the release image is invalid"
        => "Choose another release: `fairway upgrade --mode=preflight --to=VERSION`";
    VERIFY_PAYLOAD_VERSION = "VerifyPayloadVersion":
        "the image contains a version other than the requested one"
        => "Request the version that the message names, or another image";
    PREFLIGHT_NOT_SUPPORTED = "PreflightNotSupported":
        "the target release is too old to support preflights"
        => "Choose a later release, or list the known risks with \
            `fairway upgrade --include-not-recommended`; withdraw the request with `fairway upgrade --clear-preflight`";

    // Permissions
    READER_ROLE_REFUSED = "ReaderRoleRefused":
        "a ClusterRole that is aggregated to the preflight reader grants more than read access"
        => "Remove the label fairway.dev/aggregate-to-preflight-reader from the ClusterRole that \
            the message names, or restrict it to get, list and watch of named resources; then \
            repeat the preflight";

    // Pod
    DEPLOYMENT_FAILED = "DeploymentFailed":
        "the Deployment of the preflight could not be created"
        => "Read the message; see `kubectl -n openshift-cluster-version get events`";
    ADMISSION_DENIED = "AdmissionDenied":
        "a policy or webhook of this cluster refuses the preflight's Pods"
        => "Allow them in the policy that the message names, for the namespaces \
            openshift-cluster-version and openshift-cluster-version-preflight";
    UNSCHEDULABLE = "Unschedulable":
        "the operator's node has insufficient CPU or memory for the preflight"
        => "Free CPU or memory on that node: `kubectl -n openshift-cluster-version describe pods \
            -l app=cluster-version-operator-preflight`";
    IMAGE_PULL_BACK_OFF = "ImagePullBackOff":
        "the node cannot pull the release image"
        => "Check mirrors, proxy and the node's access to the registry: `kubectl -n \
            openshift-cluster-version describe pods -l app=cluster-version-operator-preflight`";
    IMAGE_PULL_UNAUTHORIZED = "ImagePullUnauthorized":
        "the registry rejects the credentials for the release image"
        => "Renew the pull secret (`kubectl -n openshift-config edit secret pull-secret`), then \
            repeat the preflight";
    VOLUME_MOUNT_FAILED = "VolumeMountFailed":
        "the kubelet cannot mount the results directory into the preflight's Pod"
        => "Check /var/lib/fairway/preflight on the operator's node: free space, permissions, \
            SELinux";
    START_FAILED = "StartFailed":
        "the release image does not start, for example because it is for another architecture"
        => "Choose the release built for this cluster's architecture; see \
            `kubectl -n openshift-cluster-version get events`";
    OOM_KILLED = "OOMKilled":
        "the preflight exceeded its memory limit"
        => "Repeat it with `fairway upgrade --mode=preflight --to=VERSION`; if it fails again, \
            report it to the publisher of the release";
    KILLED = "Killed":
        "the preflight was killed before it completed"
        => "Find the cause in the events: `kubectl -n openshift-cluster-version get events`";
    EVICTED = "Evicted":
        "the node evicted the preflight's Pod because of resource pressure"
        => "Free memory or disk space on the operator's node: `kubectl describe node NAME`";
    CRASH_LOOP_BACK_OFF = "CrashLoopBackOff":
        "the preflight crashed three times and was stopped"
        => "Report the log in the message to the publisher of the release; try another release";

    // Results
    NO_RESULTS_IN_TIME = "NoResultsInTime":
        "the preflight had no results for an hour and was stopped"
        => "Repeat it: `fairway upgrade --clear-preflight`, then \
            `fairway upgrade --mode=preflight --to=VERSION`";
    RUNNER_FAILED = "RunnerFailed":
        "the target release reports that its preflight failed"
        => "Read the message, which quotes the target release";
    UNKNOWN_FORMAT = "UnknownFormat":
        "the results have a format version that this operator does not support"
        => "Update to the latest patch release, or run a preflight of an intermediate release: \
            `fairway upgrade --mode=preflight --to=VERSION`";
    INVALID_RESULTS = "InvalidResults":
        "the operator cannot parse the results"
        => "Report the message to the publisher of the release";
    RESULTS_TOO_LARGE = "ResultsTooLarge":
        "the results exceed 1 MiB, or the results directory exceeds 8 MiB"
        => "Report this to the publisher of the release, who has to reduce the number or size of \
            findings";
    RESULTS_MISMATCH = "ResultsMismatch":
        "the results belong to another run or another release"
        => "Repeat the preflight: `fairway upgrade --clear-preflight`, then \
            `fairway upgrade --mode=preflight --to=VERSION`";
    RESULTS_REFUSED = "ResultsRefused":
        "the results are a link or another special file, which the operator does not open, or \
         their directory is hidden"
        => "Do not use this release until its publisher has explained the finding";
    RESULTS_UNREADABLE = "ResultsUnreadable":
        "the operator cannot create or read the results directory"
        => "Check /var/lib/fairway/preflight on the operator's node: free space, permissions, \
            SELinux";
    RESULTS_NOT_STORED = "ResultsNotStored":
        "the operator could not store the results in the cluster and loses them when it restarts"
        => "Check that ConfigMaps can be written in the namespace openshift-cluster-version: \
            quota, policies, permissions";

    // Checks
    CHECK_TIMED_OUT = "CheckTimedOut":
        "a check timed out"
        => "Find the cause in the events: `kubectl -n openshift-cluster-version-preflight get \
            events`";
    CHECK_FAILED = "CheckFailed":
        "a check crashed or returned an invalid result"
        => "Report it to the maintainer of the component that the message names";
    CHECK_REFUSED = "CheckRefused":
        "a check requests more node access than checks may have, or differs from the release, and \
        was not started"
        => "Report it to the maintainer of the component that the message names";
    CHECK_ACCESS_REFUSED = "CheckAccessRefused":
        "a check requests more than read permissions, or permissions other than those in the \
        release, and was not started"
        => "Report it to the maintainer of the component that the message names";
    CHECK_NOT_STARTED = "CheckNotStarted":
        "a check's Job could not be created or its Pod did not start"
        => "See quota and events: `kubectl -n openshift-cluster-version-preflight get events`";
    PREFLIGHT_PARTIAL = "PreflightPartial":
        "several checks have no result, for different reasons; the message lists them"
        => "Resolve each of them, then repeat `fairway upgrade --mode=preflight --to=VERSION`";
    PREFLIGHT_VERSION_SKEW = "PreflightVersionSkew":
        "the target release is too far ahead of the running release for a preflight"
        => "Run a preflight of an intermediate release: `fairway upgrade --mode=preflight \
            --to=VERSION`";
    MULTIPLE_ERRORS = "MultipleErrors":
        "several failures occurred; the message lists them"
        => "Resolve each of them, then repeat `fairway upgrade --mode=preflight --to=VERSION`";
}
