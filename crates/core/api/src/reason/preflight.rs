//! The conditions of `ClusterVersion` about preflights: checks that the target release runs against
//! this cluster before it is updated. A failed preflight never stands in the way of an update,
//! unless the operator was told to require one.

condition! {
    preflight_running: CLUSTER_VERSION "PreflightRunning",
    "the target release is examining this cluster";

    NOT_REQUESTED = "NotRequested":
        "no preflight is asked for";
    STARTING = "Starting":
        "the target release is being fetched, verified and started";
    CHECKING = "Checking":
        "the first pass over all checks is under way";
    MONITORING = "Monitoring":
        "the first pass is done; checks are repeated when the cluster changes"
        => "Stop it with `fairway upgrade --clear-preflight`, or start the update with \
            `fairway upgrade --to=VERSION`";
    RESTARTING = "Restarting":
        "the operator moved to another node, and the preflight starts again there";
    STOPPED = "Stopped":
        "a preflight is asked for but was given up"
        => "Look up the reason of the condition PreflightFailed; clear the request with \
            `fairway upgrade --clear-preflight`";
    HELD = "Held":
        "the request cannot be carried out and is not taken for an update either"
        => "Look up the reason of the condition PreflightFailed; clear the request with \
            `fairway upgrade --clear-preflight`";
}

condition! {
    preflight_completed: CLUSTER_VERSION "PreflightCompleted",
    "every check of the target release has given its answer";

    NOT_REQUESTED = "NotRequested":
        "no preflight is asked for and no results are kept";
    PREFLIGHT_RUNNING = "PreflightRunning":
        "the first pass over all checks is not done yet";
    NO_RISKS_FOUND = "NoRisksFound":
        "all checks answered and none found a risk";
    RISKS_FOUND = "RisksFound":
        "all checks answered and some found risks"
        => "Read them with `fairway upgrade --status-preflight`; remove the causes, or accept each with \
            `fairway upgrade accept RISK`";
    NOT_MONITORED = "NotMonitored":
        "results of a finished preflight are kept; nothing brings them up to date any more"
        => "Run it again with `fairway upgrade --mode=preflight --to=VERSION` to refresh them";
    PREFLIGHT_PARTIAL = "PreflightPartial":
        "the pass is over, but some checks gave no answer"
        => "See which, and why, with `fairway upgrade --status-preflight`";
    PREFLIGHT_VERSION_SKEW = "PreflightVersionSkew":
        "the pass is over, but some checks do not cover so large a step between versions"
        => "Run a preflight of a release in between: \
            `fairway upgrade --mode=preflight --to=VERSION`";
    PREFLIGHT_FAILED = "PreflightFailed":
        "the preflight ended before all checks had answered"
        => "Look up the reason of the condition PreflightFailed, then repeat \
            `fairway upgrade --mode=preflight --to=VERSION`";
}

condition! {
    preflight_failed: CLUSTER_VERSION "PreflightFailed",
    "a preflight, or one of its checks, could not be carried out";

    NOT_REQUESTED = "NotRequested":
        "no preflight is asked for";
    AS_EXPECTED = "AsExpected":
        "nothing has gone wrong so far";

    // The request
    UNKNOWN_MODE = "UnknownMode":
        "the update request has a mode that this operator does not know; nothing is updated"
        => "Withdraw the request with `fairway upgrade --clear-preflight`";
    PREFLIGHT_DISABLED = "PreflightDisabled":
        "preflights are turned off in this operator; nothing is updated"
        => "Withdraw the request with `fairway upgrade --clear-preflight`, or turn preflights on";
    UPDATES_NOT_RETRIEVED = "UpdatesNotRetrieved":
        "the version cannot be looked up, because the update service has not answered"
        => "Look up the reason of the condition RetrievedUpdates, or ask for the release by its \
            image";
    VERSION_NOT_FOUND = "VersionNotFound":
        "the chosen channel does not contain the version"
        => "Choose a channel that contains it with `fairway upgrade channel CHANNEL`, or ask for \
            the release by its image";

    // The release image
    RETRIEVE_PAYLOAD = "RetrievePayload":
        "the operator cannot read the release image from the registry"
        => "Check the image's address, the pull secret, mirrors and the way to the registry";
    IMAGE_VERIFICATION_FAILED = "ImageVerificationFailed":
        "no valid signature was found for the release image"
        => "Use a release signed by a trusted key and make its signature reachable: a store in \
            `spec.signatureStores`, or a ConfigMap in openshift-config-managed";
    LOAD_PAYLOAD = "LoadPayload":
        "the contents of the release image are not usable"
        => "Choose another release: `fairway upgrade --mode=preflight --to=VERSION`";
    VERIFY_PAYLOAD_VERSION = "VerifyPayloadVersion":
        "the image holds another version than the one asked for"
        => "Ask for the version that the message names, or for the right image";
    PREFLIGHT_NOT_SUPPORTED = "PreflightNotSupported":
        "the target release is too old to know preflights"
        => "Choose a later release, or rely on `fairway upgrade --include-not-recommended`; end the \
            request with `fairway upgrade --clear-preflight`";

    // What it may read
    READER_ROLE_REFUSED = "ReaderRoleRefused":
        "a ClusterRole that is added to what preflights may read gives them more than reading"
        => "Take the label fairway.dev/aggregate-to-preflight-reader from the ClusterRole that the \
            message names, or let it give get, list and watch of named resources alone; then repeat \
            the preflight";

    // The Pod
    DEPLOYMENT_FAILED = "DeploymentFailed":
        "the Deployment of the preflight could not be created"
        => "Read the message; see `kubectl -n openshift-cluster-version get events`";
    ADMISSION_DENIED = "AdmissionDenied":
        "a policy or webhook of this cluster refuses the preflight's Pods"
        => "Allow them in the policy that the message names, for the namespaces \
            openshift-cluster-version and openshift-cluster-version-preflight";
    UNSCHEDULABLE = "Unschedulable":
        "the operator's node has no room for the preflight"
        => "Free CPU or memory on that node: `kubectl -n openshift-cluster-version describe pods \
            -l app=cluster-version-operator-preflight`";
    IMAGE_PULL_BACK_OFF = "ImagePullBackOff":
        "the node cannot pull the release image"
        => "Check mirrors, proxy and the node's way to the registry: `kubectl -n \
            openshift-cluster-version describe pods -l app=cluster-version-operator-preflight`";
    IMAGE_PULL_UNAUTHORIZED = "ImagePullUnauthorized":
        "the registry wants other credentials for the release image"
        => "Renew the pull secret (`kubectl -n openshift-config edit secret pull-secret`), then \
            repeat the preflight";
    VOLUME_MOUNT_FAILED = "VolumeMountFailed":
        "the directory for the results cannot be mounted into the preflight's Pod"
        => "Check /var/lib/fairway/preflight on the operator's node: free space, permissions, \
            SELinux";
    START_FAILED = "StartFailed":
        "the release image does not start, for example because it is for another architecture"
        => "Choose the release built for this cluster's architecture; see \
            `kubectl -n openshift-cluster-version get events`";
    OOM_KILLED = "OOMKilled":
        "the preflight needed more memory than it may use"
        => "Repeat it with `fairway upgrade --mode=preflight --to=VERSION`; if it happens again, \
            tell whoever built the release";
    KILLED = "Killed":
        "the preflight was ended from outside before it was done"
        => "See who or what ended it: `kubectl -n openshift-cluster-version get events`";
    EVICTED = "Evicted":
        "the node removed the preflight's Pod to save its own resources"
        => "Free memory or disk space on the operator's node: `kubectl describe node NAME`";
    CRASH_LOOP_BACK_OFF = "CrashLoopBackOff":
        "the preflight crashed three times and was given up"
        => "Read what the message quotes of its log and tell whoever built the release; try \
            another release";

    // The results
    NO_RESULTS_IN_TIME = "NoResultsInTime":
        "the preflight produced nothing for an hour and was given up"
        => "Repeat it: `fairway upgrade --clear-preflight`, then \
            `fairway upgrade --mode=preflight --to=VERSION`";
    RUNNER_FAILED = "RunnerFailed":
        "the target release reports that its preflight failed"
        => "Read the message, which quotes the target release";
    UNKNOWN_FORMAT = "UnknownFormat":
        "the results are in a version of the format that this operator does not know"
        => "Update to the latest patch release, or run a preflight of a release in between: \
            `fairway upgrade --mode=preflight --to=VERSION`";
    INVALID_RESULTS = "InvalidResults":
        "the results cannot be understood"
        => "Tell whoever built the release what the message says";
    RESULTS_TOO_LARGE = "ResultsTooLarge":
        "the results are larger than the limit of 1 MiB, or all that is beside them larger than 8 MiB"
        => "Tell whoever built the release; it should report fewer or shorter findings";
    RESULTS_MISMATCH = "ResultsMismatch":
        "the results belong to another run or another release"
        => "Repeat the preflight: `fairway upgrade --clear-preflight`, then \
            `fairway upgrade --mode=preflight --to=VERSION`";
    RESULTS_REFUSED = "ResultsRefused":
        "the results are not a plain file, such as a link, and were not opened, or their directory is \
         hidden"
        => "Do not use this release until its publisher has explained it";
    RESULTS_UNREADABLE = "ResultsUnreadable":
        "the operator cannot make or read the directory for the results"
        => "Check /var/lib/fairway/preflight on the operator's node: free space, permissions, \
            SELinux";
    RESULTS_NOT_STORED = "ResultsNotStored":
        "the results could not be saved in the cluster and are lost when the operator restarts"
        => "Check that ConfigMaps can be written in the namespace openshift-cluster-version: \
            quota, policies, permissions";

    // The checks
    CHECK_TIMED_OUT = "CheckTimedOut":
        "a check took longer than it may"
        => "Look for what slows it down; see \
            `kubectl -n openshift-cluster-version-preflight get events`";
    CHECK_FAILED = "CheckFailed":
        "a check crashed or gave an answer that cannot be understood"
        => "Tell the maintainer of the component that the message names";
    CHECK_REFUSED = "CheckRefused":
        "a check asks for more of the node than checks may have, or is not the one that the release \
         has, and was not started"
        => "Tell the maintainer of the component that the message names";
    CHECK_ACCESS_REFUSED = "CheckAccessRefused":
        "a check asks for permissions beyond reading, or for others than the release has, and was not \
         started"
        => "Tell the maintainer of the component that the message names";
    CHECK_NOT_STARTED = "CheckNotStarted":
        "a check's Job could not be created or its Pod did not start"
        => "See quota and events: `kubectl -n openshift-cluster-version-preflight get events`";
    PREFLIGHT_PARTIAL = "PreflightPartial":
        "several checks gave no answer, for different reasons; the message lists them"
        => "Deal with each of them, then repeat `fairway upgrade --mode=preflight --to=VERSION`";
    PREFLIGHT_VERSION_SKEW = "PreflightVersionSkew":
        "the target release is too far from the running one to be checked from here"
        => "Run a preflight of a release in between: \
            `fairway upgrade --mode=preflight --to=VERSION`";
    MULTIPLE_ERRORS = "MultipleErrors":
        "several things went wrong; the message lists them"
        => "Deal with each of them, then repeat `fairway upgrade --mode=preflight --to=VERSION`";
}
