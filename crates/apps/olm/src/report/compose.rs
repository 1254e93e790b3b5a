//! What the ClusterOperator is to say.

use fairway_api::OperatorCondition;
use fairway_api::cluster_operator::{ClusterOperatorStatus, ObjectReference, OperandVersion};
use fairway_api::condition::Conditions as _;
use fairway_api::reason::cluster_operator::{available, degraded, progressing, upgradeable};
use fairway_compat::olm::{Guard, Hindrance, Published, Stream, Upgradeable, Verdict};
use jiff::Timestamp;

use crate::settings::Settings;
use crate::webhook::CONFIGURATION;

/// Operators to look at that are named; the message counts the rest.
const MAX_RELATED: usize = 100;

/// What is known.
pub(super) struct Facts<'a> {
    /// The operators and the version of the platform, or why they are not known.
    pub(super) seen: Result<&'a (Guard, Stream), &'a Hindrance>,
    /// What keeps the webhook from its work.
    pub(super) trouble: Option<&'a str>,
    /// What of catalogs and operators is not known.
    pub(super) unseen: Option<String>,
}

/// What the ClusterOperator is to say. Whatever others wrote there stays.
pub(super) fn compose(
    before: Option<&ClusterOperatorStatus>,
    facts: &Facts<'_>,
    settings: &Settings,
    now: Timestamp,
) -> ClusterOperatorStatus {
    let published = match facts.seen {
        Ok((guard, _)) => guard.published(),
        Err(hindrance) => Published::from(hindrance),
    };
    let Published { upgradeable: verdict, extension } = published;
    let mut status = before.cloned().unwrap_or_default();
    let at_work = OperatorCondition::new(available::TYPE, true).reason(available::AS_EXPECTED);
    status.conditions.set(at_work, now);
    let settled = OperatorCondition::new(progressing::TYPE, false).reason(progressing::AS_EXPECTED);
    status.conditions.set(settled, now);
    status.conditions.set(degradation(facts, &verdict), now);
    let condition = OperatorCondition::new(upgradeable::TYPE, verdict.status)
        .reason(verdict.reason)
        .message(verdict.message);
    status.conditions.set(condition, now);
    status.versions = versions(settings);
    status.related_objects = related(facts, settings);
    status.extension = extension;
    status
}

fn degradation(facts: &Facts<'_>, verdict: &Upgradeable) -> OperatorCondition {
    let degraded = |reason, message: String| {
        OperatorCondition::new(degraded::TYPE, true).reason(reason).message(message)
    };
    match (facts.seen, facts.trouble, &facts.unseen) {
        (Err(_), _, _) => {
            degraded(degraded::ERROR_CHECKING_OPERATOR_COMPATIBILITY, verdict.message.clone())
        }
        (Ok(_), Some(trouble), _) => degraded(
            degraded::CERTIFICATE_ERROR,
            format!("The OLM guard cannot maintain the webhook certificate: {trouble}."),
        ),
        (Ok(_), None, Some(unseen)) => {
            degraded(degraded::ERROR_CHECKING_OPERATOR_COMPATIBILITY, unseen.clone())
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

/// What to look at: the guard's own objects, and the operators that something is said about.
fn related(facts: &Facts<'_>, settings: &Settings) -> Vec<ObjectReference> {
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
    let operators = facts.seen.into_iter().flat_map(|(guard, running)| {
        let is_notable = move |it: &&_| guard.verdict(it, running.next()) != Verdict::Upgradeable;
        guard.operators().iter().filter(is_notable)
    });
    let operators = operators.take(MAX_RELATED).map(|it| {
        let (group, resource) = ("operators.coreos.com", "clusterserviceversions");
        reference(group, resource, Some(&it.namespace), &it.name)
    });
    own.into_iter().chain(operators).collect()
}
