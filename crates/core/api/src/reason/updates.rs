//! Conditions of conditional updates and risks.

condition! {
    recommended: UPDATE "Recommended",
    "all risks of the update that apply are accepted; if a single risk applies, its name is the \
    reason";

    NOT_EXPOSED_TO_RISKS = "NotExposedToRisks":
        "none of the update's risks applies to this cluster";
    AS_EXPECTED = "AsExpected":
        "none of the update's risks applies; older releases use this reason";
    ALL_EXPOSED_RISKS_ACCEPTED = "AllExposedRisksAccepted":
        "every risk that applies to this cluster has been accepted";
    EXPOSED_TO_RISKS = "ExposedToRisks":
        "a risk applies; the risk name cannot be used as a condition reason"
        => "Read the message; remove the cause, or accept with `fairway upgrade accept RISK`";
    MULTIPLE_REASONS = "MultipleReasons":
        "several risks apply or may apply; the message describes each"
        => "Read about them with `fairway upgrade recommend`; remove the causes, or accept each \
            with `fairway upgrade accept RISK`";
    EVALUATION_FAILED = "EvaluationFailed":
        "it is unknown whether the update's risks apply"
        => "Check that the operator can query the cluster's metrics, or accept the risk with \
            `fairway upgrade accept RISK`";
    NOT_OFFERED_BY_UPDATE_SERVICE = "NotOfferedByUpdateService":
        "the update service has no direct update from the running version to this release"
        => "Update to a release that `fairway upgrade` lists first, or choose another channel with \
            `fairway upgrade channel CHANNEL`";
}

condition! {
    evaluating: UPDATE "Evaluating",
    "the operator periodically evaluates the update's risks";

    PERIODIC_EVALUATION = "PeriodicEvaluation":
        "every risk has a rule that the operator can evaluate periodically";
    NO_MATCHING_RULES = "NoMatchingRules":
        "a risk has no rules to evaluate"
        => "Report it to the maintainer of the update graph; to update nevertheless, run `fairway \
            upgrade accept RISK`";
    UNRECOGNIZED_MATCHING_RULES = "UnrecognizedMatchingRules":
        "a risk has only rules of types that this version of the operator does not support"
        => "Update to a patch release that supports these rules, or accept the risk with `fairway upgrade \
            accept RISK`";
}

condition! {
    applies: RISK "Applies",
    "the risk applies to this cluster";

    MATCH = "Match":
        "a rule of the risk matches this cluster"
        => "Open the URL of the risk; remove the cause, or accept the risk with \
            `fairway upgrade accept RISK`";
    NOT_MATCH = "NotMatch":
        "no rule of the risk matches this cluster";
    EVALUATION_FAILED = "EvaluationFailed":
        "the operator could not evaluate the rules of the risk, or has not evaluated them yet"
        => "Check that the operator can query the cluster's metrics, or accept the risk with \
            `fairway upgrade accept RISK`";
    INVALID_RISK = "InvalidRisk":
        "the status cannot store the published risk; this entry replaces it"
        => "Report the message to the publisher of the risk; if you know the risk, accept this \
            entry with `fairway upgrade accept RISK`";
    ALERT_FIRING = "Alert:firing":
        "an alert is firing that needs investigation before an update"
        => "Follow the alert's runbook, or accept the risk with `fairway upgrade accept RISK`";
    PREFLIGHT_VALIDATION = "PreflightValidation":
        "a complete preflight of the target release found this risk"
        => "Remove the cause that the risk describes, or accept the risk with \
            `fairway upgrade accept RISK`";
    PREFLIGHT_RUNNING = "PreflightRunning":
        "a preflight is in progress and has found this risk";
    PREFLIGHT_PARTIAL = "PreflightPartial":
        "some checks of the preflight have a result and others do not"
        => "List them with `fairway upgrade recommend`; the condition PreflightFailed reports the \
            causes";
    PREFLIGHT_FAILED = "PreflightFailed":
        "the preflight failed, so its results are incomplete"
        => "Look up the reason of the condition PreflightFailed, then repeat \
            `fairway upgrade --mode=preflight --to=VERSION`";
    PREFLIGHT_VERSION_SKEW = "PreflightVersionSkew":
        "the target release is too far ahead of the running release for this check"
        => "Run a preflight of an intermediate release: `fairway upgrade --mode=preflight \
            --to=VERSION`";
}
