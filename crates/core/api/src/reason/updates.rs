//! The conditions of updates that carry risks, and of the risks themselves.

condition! {
    recommended: UPDATE "Recommended",
    "no risk of the update applies unless it was accepted; a single risk gives its name as reason";

    NOT_EXPOSED_TO_RISKS = "NotExposedToRisks":
        "none of the update's risks applies to this cluster";
    AS_EXPECTED = "AsExpected":
        "none of the update's risks applies; older releases say it in this word";
    ALL_EXPOSED_RISKS_ACCEPTED = "AllExposedRisksAccepted":
        "every risk that applies to this cluster has been accepted";
    EXPOSED_TO_RISKS = "ExposedToRisks":
        "a risk applies; its name cannot be written as a reason"
        => "Read the message; remove the cause, or accept with `fairway upgrade accept RISK`";
    MULTIPLE_REASONS = "MultipleReasons":
        "several risks apply or cannot be ruled out; the message describes each"
        => "Read about them with `fairway upgrade recommend`; remove the causes, or accept each \
            with `fairway upgrade accept RISK`";
    EVALUATION_FAILED = "EvaluationFailed":
        "it is not known, or not known yet, whether the update's risks apply"
        => "Check that the operator can query the cluster's metrics; or accept the risk unseen \
            with `fairway upgrade accept RISK`";
    NOT_OFFERED_BY_UPDATE_SERVICE = "NotOfferedByUpdateService":
        "the update service has no direct update from the running version to this release"
        => "Go by way of a release that `fairway upgrade` lists, or choose another channel with \
            `fairway upgrade channel CHANNEL`";
}

condition! {
    evaluating: UPDATE "Evaluating",
    "the update's risks are compared with this cluster from time to time";

    PERIODIC_EVALUATION = "PeriodicEvaluation":
        "every risk has a rule that can be evaluated, and is looked at again regularly";
    NO_MATCHING_RULES = "NoMatchingRules":
        "a risk has no rules, so there is nothing to evaluate"
        => "Tell the maintainer of the update graph; the update can be chosen after \
            `fairway upgrade accept RISK`";
    UNRECOGNIZED_MATCHING_RULES = "UnrecognizedMatchingRules":
        "a risk has only rules of types that this version of the operator does not know"
        => "Update to a patch release that knows them, or accept the risk with \
            `fairway upgrade accept RISK`";
}

condition! {
    applies: RISK "Applies",
    "this cluster is exposed to the risk";

    MATCH = "Match":
        "a rule of the risk matches this cluster"
        => "Read the risk's page; remove the cause, or accept it with \
            `fairway upgrade accept RISK`";
    NOT_MATCH = "NotMatch":
        "the risk's rules say that this cluster is not exposed";
    EVALUATION_FAILED = "EvaluationFailed":
        "no rule of the risk could be evaluated, or none has been yet"
        => "Check that the operator can query the cluster's metrics; or accept the risk unseen \
            with `fairway upgrade accept RISK`";
    INVALID_RISK = "InvalidRisk":
        "the risk was published in a form that cannot be stored; this entry stands in for it"
        => "Tell its publisher what the message says; accept the stand-in with \
            `fairway upgrade accept RISK` if you know the risk";
    ALERT_FIRING = "Alert:firing":
        "an alert is firing that should be looked into before an update"
        => "Follow the alert's runbook, or accept it with `fairway upgrade accept RISK`";
    PREFLIGHT_VALIDATION = "PreflightValidation":
        "a complete preflight of the target release found this"
        => "Remove the cause that the risk describes, or accept it with \
            `fairway upgrade accept RISK`";
    PREFLIGHT_RUNNING = "PreflightRunning":
        "a preflight is under way, and this is what it has found so far";
    PREFLIGHT_PARTIAL = "PreflightPartial":
        "some checks of the preflight gave an answer and others did not"
        => "See which with `fairway upgrade recommend`, and why in the condition PreflightFailed";
    PREFLIGHT_FAILED = "PreflightFailed":
        "the preflight could not be carried out, so its results are incomplete"
        => "Look up the reason of the condition PreflightFailed, then repeat \
            `fairway upgrade --mode=preflight --to=VERSION`";
    PREFLIGHT_VERSION_SKEW = "PreflightVersionSkew":
        "the target release is too far from the running one for this check"
        => "Run a preflight of a release in between: \
            `fairway upgrade --mode=preflight --to=VERSION`";
}
