//! Conditions of the ClusterOperator of the OLM guard, which compares the maximum cluster version
//! that installed operators declare with possible updates.

condition! {
    available: CLUSTER_OPERATOR "Available",
    "the guard watches the installed operators";

    AS_EXPECTED = "AsExpected":
        "the guard watches the installed operators and serves its webhook";
    WAITING_FOR_FIRST_CHECK = "WaitingForFirstCheck":
        "the guard has started and has not listed the installed operators yet"
        => "Wait a minute; if the reason persists, check that the operators can be listed: \
            `kubectl get clusterserviceversions -A`";
}

condition! {
    progressing: CLUSTER_OPERATOR "Progressing",
    "the guard is being updated to another version";

    AS_EXPECTED = "AsExpected":
        "the guard runs the version of the release";
    ROLLING_OUT = "RollingOut":
        "not every replica of the guard runs the version of the release yet";
}

condition! {
    degraded: CLUSTER_OPERATOR "Degraded",
    "the guard cannot evaluate some of the installed operators";

    AS_EXPECTED = "AsExpected":
        "the guard has no errors";
    ERROR_CHECKING_OPERATOR_COMPATIBILITY = "ErrorCheckingOperatorCompatibility":
        "the guard cannot read the installed operators"
        => "Check that they can be listed (`kubectl get clusterserviceversions -A`) and that the \
            guard's ServiceAccount may list them";
    WEBHOOK_NOT_READY = "WebhookNotReady":
        "unsupported operators can be installed, because the webhook is unreachable"
        => "Check the guard's Service and port 9443; see \
            `kubectl get validatingwebhookconfigurations`";
    CERTIFICATE_ERROR = "CertificateError":
        "the guard cannot issue, store or renew the webhook's certificate"
        => "Check that the guard may write its Secret; delete a damaged Secret, and the guard \
            issues a new certificate";
}

condition! {
    upgradeable: CLUSTER_OPERATOR "Upgradeable",
    "no installed operator is known to fail on the next minor version";

    AS_EXPECTED = "AsExpected":
        "every installed operator supports the next minor version";
    OPERATOR_COMPATIBILITY_UNKNOWN = "OperatorCompatibilityUnknown":
        "operators declare no usable maximum version and may not run on the next minor version"
        => "Ask their vendors, or test the operators on the next version; this does not block the \
            update";
    INCOMPATIBLE_OPERATORS_INSTALLED = "IncompatibleOperatorsInstalled":
        "operators do not run on the next minor version, or `--invalid=block` rejects them"
        => "Update or remove the operators that the message names; \
            `kubectl get clusterserviceversions -A` lists them";
    ERROR_CHECKING_OPERATOR_COMPATIBILITY = "ErrorCheckingOperatorCompatibility":
        "the guard cannot determine whether the installed operators run on the next minor version"
        => "Read the message; check that they can be listed: \
            `kubectl get clusterserviceversions -A`";
    WAITING_FOR_FIRST_CHECK = "WaitingForFirstCheck":
        "the guard has not evaluated the installed operators yet";
}
