//! The desired status of the ClusterOperator.

use fairway_api::OperatorCondition;
use fairway_api::cluster_operator::{ClusterOperatorStatus, ObjectReference, OperandVersion};
use fairway_api::condition::Conditions as _;
use fairway_api::reason::cluster_operator::{available, degraded, progressing, upgradeable};
use fairway_compat::olm::{
    CheckFailure, CheckResult, MinorVersion, OlmCheck, OperatorVerdict, UpgradeableCondition,
};
use jiff::Timestamp;

use crate::settings::Settings;
use crate::webhook::CONFIGURATION;

/// Maximum number of operators in `relatedObjects`.
const MAX_RELATED: usize = 100;

/// Inputs of the status.
pub(super) struct ReportInputs<'a> {
    /// The operators and the running version, or why they are unknown.
    pub(super) seen: Result<&'a (OlmCheck, MinorVersion), &'a CheckFailure>,
    /// Problem of the webhook certificate.
    pub(super) problem: Option<&'a str>,
    /// Unknown data about catalogs or operators.
    pub(super) unknown: Option<String>,
}

/// The desired status. Fields of other clients are kept.
pub(super) fn compose(
    before: Option<&ClusterOperatorStatus>,
    inputs: &ReportInputs<'_>,
    settings: &Settings,
    now: Timestamp,
) -> ClusterOperatorStatus {
    let published = match inputs.seen {
        Ok((guard, _)) => guard.published(),
        Err(hindrance) => CheckResult::from(hindrance),
    };
    let CheckResult { upgradeable: verdict, extension } = published;
    let mut status = before.cloned().unwrap_or_default();
    let available = OperatorCondition::new(available::TYPE, true).reason(available::AS_EXPECTED);
    status.conditions.set(available, now);
    let progressing_false =
        OperatorCondition::new(progressing::TYPE, false).reason(progressing::AS_EXPECTED);
    status.conditions.set(progressing_false, now);
    status.conditions.set(degradation(inputs, &verdict), now);
    let condition = OperatorCondition::new(upgradeable::TYPE, verdict.status)
        .reason(verdict.reason)
        .message(verdict.message);
    status.conditions.set(condition, now);
    status.versions = versions(settings);
    status.related_objects = related(inputs, settings);
    status.extension = extension;
    status
}

fn degradation(inputs: &ReportInputs<'_>, verdict: &UpgradeableCondition) -> OperatorCondition {
    let degraded = |reason, message: String| {
        OperatorCondition::new(degraded::TYPE, true).reason(reason).message(message)
    };
    match (inputs.seen, inputs.problem, &inputs.unknown) {
        (Err(_), _, _) => {
            degraded(degraded::ERROR_CHECKING_OPERATOR_COMPATIBILITY, verdict.message.clone())
        }
        (Ok(_), Some(problem), _) => degraded(
            degraded::CERTIFICATE_ERROR,
            format!("The OLM guard cannot maintain the webhook certificate: {problem}."),
        ),
        (Ok(_), None, Some(unknown)) => {
            degraded(degraded::ERROR_CHECKING_OPERATOR_COMPATIBILITY, unknown.clone())
        }
        (Ok(_), None, None) => {
            OperatorCondition::new(degraded::TYPE, false).reason(degraded::AS_EXPECTED)
        }
    }
}

fn versions(settings: &Settings) -> Vec<OperandVersion> {
    let version = |name: &str, version: &str| OperandVersion {
        name: name.to_owned(),
        version: version.to_owned(),
        ..OperandVersion::default()
    };
    let release = settings.release_version.as_deref().map(|it| version("operator", it));
    let own = version(&settings.cluster_operator, env!("CARGO_PKG_VERSION"));
    release.into_iter().chain([own]).collect()
}

/// Objects of the guard, and operators with a finding.
fn related(inputs: &ReportInputs<'_>, settings: &Settings) -> Vec<ObjectReference> {
    let reference =
        |group: &str, resource: &str, namespace: Option<&str>, name: &str| ObjectReference {
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
            ..ObjectReference::default()
        };
    let admission = "admissionregistration.k8s.io";
    let own = [
        reference("", "namespaces", None, &settings.namespace),
        reference(admission, "validatingwebhookconfigurations", None, CONFIGURATION),
    ];
    let operators = inputs.seen.into_iter().flat_map(|(guard, running)| {
        let is_notable =
            move |it: &&_| guard.verdict(it, running.next()) != OperatorVerdict::Upgradeable;
        guard.operators().iter().filter(is_notable)
    });
    let operators = operators.take(MAX_RELATED).map(|it| {
        let (group, resource) = ("operators.coreos.com", "clusterserviceversions");
        reference(group, resource, Some(&it.namespace), &it.name)
    });
    own.into_iter().chain(operators).collect()
}
