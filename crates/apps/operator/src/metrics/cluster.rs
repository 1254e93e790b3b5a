//! Metrics of ClusterVersion and ClusterOperators.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairway_api::cluster_version::{UpdateHistory, UpdateState};
use fairway_api::condition::AnyCondition;
use fairway_api::reason::{applies, available, failing, recommended, retrieved_updates};
use fairway_api::{
    ClusterOperator, ClusterVersion, ClusterVersionStatus, ConditionStatus, Conditions as _,
    OperatorCondition,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use url::Url;

use super::Operators;
use super::handles::seconds;
use super::{Family, Samples};

/// The operator's own release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Its version.
    pub version: String,
    /// Its image.
    pub image: String,
    /// Its creation time.
    pub created: Option<Timestamp>,
}

/// The current objects.
pub(super) struct View {
    pub(super) cluster_version: Option<Arc<ClusterVersion>>,
    pub(super) cluster_operators: Operators,
    pub(super) install: Option<Arc<ConfigMap>>,
    pub(super) running: Running,
}

/// Name of ClusterVersion in metrics of ClusterOperators.
const VERSION: &str = "version";

/// All metrics of the objects.
pub(super) fn families(view: &View, now: Timestamp) -> Vec<Family> {
    let nothing = ClusterVersionStatus::default();
    let version = view.cluster_version.as_deref();
    let status = version.and_then(|version| version.status.as_ref()).unwrap_or(&nothing);
    vec![
        versions(version, status, &view.running),
        available_updates(version, status),
        capabilities(status),
        up(version, status, view),
        conditions(status, &view.cluster_operators),
        risk_conditions(status),
        risk_unknown(status, now),
        conditional_updates(status),
        installer(view.install.as_deref()),
    ]
}

fn versions(
    object: Option<&ClusterVersion>,
    status: &ClusterVersionStatus,
    running: &Running,
) -> Family {
    let mut samples = Samples::default();
    let mut add = |type_: &str, version: &str, image: &str, from: &str, value: f64| {
        let labels =
            [("type", type_), ("version", version), ("image", image), ("from_version", from)];
        samples.add(labels, value);
    };
    let mut completed = status.history.iter().filter(|entry| entry.state == UpdateState::Completed);
    let (last, before) = (completed.next(), completed.next());
    let from = last.map_or("", version_of);
    let created = running.created.map_or(0, Timestamp::as_second);
    add("current", &running.version, &running.image, from, seconds(created));
    if let Some(object) = object {
        let created = unix(object.metadata.creation_timestamp.as_ref());
        let initial = status.history.last();
        let initial = initial.map_or(("", ""), |entry| (version_of(entry), entry.image.as_str()));
        add("initial", initial.0, initial.1, "", created);
        add("cluster", &running.version, &running.image, initial.0, created);
        let desired = object.spec.desired_update.as_ref().filter(|update| {
            update.is_update() && update.image().is_some_and(|image| image != running.image)
        });
        let target = desired.map_or((running.version.as_str(), running.image.as_str()), |update| {
            (update.version().unwrap_or_default(), update.image().unwrap_or_default())
        });
        if desired.is_some() {
            add("desired", target.0, target.1, from, latest_time(object, status));
        }
        let failing = status.conditions.find(failing::TYPE);
        if let Some(failing) = failing.filter(|it| it.status == ConditionStatus::True) {
            let since = unix(failing.last_transition_time.as_ref());
            add("failure", target.0, target.1, from, since);
        }
    }
    if let Some(entry) = last {
        let from = before.map_or("", version_of);
        let since = unix(entry.completion_time.as_ref());
        add("completed", version_of(entry), &entry.image, from, since);
    }
    let head = status.history.first();
    if let Some(entry) = head.filter(|entry| entry.state == UpdateState::Partial) {
        let since = unix(entry.started_time.as_ref());
        add("updating", version_of(entry), &entry.image, from, since);
    }
    Family::new(
        "cluster_version",
        "Versions of the cluster by type; the value is a Unix timestamp",
        samples,
    )
}

fn version_of(entry: &UpdateHistory) -> &str {
    entry.version.as_deref().unwrap_or_default()
}

/// The latest time in the object.
fn latest_time(object: &ClusterVersion, status: &ClusterVersionStatus) -> f64 {
    let history =
        status.history.iter().flat_map(|entry| [&entry.started_time, &entry.completion_time]);
    let conditions = status.conditions.iter().map(|condition| &condition.last_transition_time);
    let times = history.chain(conditions).chain([&object.metadata.creation_timestamp]);
    unix(times.flatten().max_by_key(|time| time.0))
}

fn unix(time: Option<&Time>) -> f64 {
    seconds(time.map_or(0, |time| time.0.as_second()))
}

fn available_updates(object: Option<&ClusterVersion>, status: &ClusterVersionStatus) -> Family {
    let mut samples = Samples::default();
    if let Some(spec) = object.map(|object| &object.spec) {
        let count = status.available_updates.as_ref().map_or(0, Vec::len);
        let upstream = spec.upstream.as_deref().filter(|upstream| !upstream.is_empty());
        if upstream.is_some() || count > 0 || status.conditions.is_true(retrieved_updates::TYPE) {
            let channel = spec.channel.as_deref().unwrap_or_default();
            let upstream = upstream.map_or_else(|| "<default>".to_owned(), without_credentials);
            let labels = [("upstream", upstream.as_str()), ("channel", channel)];
            samples.add(labels, seconds(i64::try_from(count).unwrap_or(i64::MAX)));
        }
    }
    Family::new(
        "cluster_version_available_updates",
        "Number of recommended updates for this cluster",
        samples,
    )
}

/// An address without credentials: metrics are readable by many clients.
fn without_credentials(upstream: &str) -> String {
    Url::parse(upstream).map_or_else(|_| "<invalid>".to_owned(), |url| fairway_text::place(&url))
}

fn capabilities(status: &ClusterVersionStatus) -> Family {
    let mut samples = Samples::default();
    if let Some(capabilities) = &status.capabilities {
        for name in &capabilities.enabled_capabilities {
            samples.add([("name", name)], 1.0);
        }
        for name in &capabilities.known_capabilities {
            samples.add([("name", name)], 0.0);
        }
    }
    Family::new(
        "cluster_version_capability",
        "Capabilities of the platform: 1 enabled, 0 known but not enabled",
        samples,
    )
}

fn up(object: Option<&ClusterVersion>, status: &ClusterVersionStatus, view: &View) -> Family {
    let mut samples = Samples::default();
    let mut add = |name: &str, version: &str, conditions: &Vec<OperatorCondition>| {
        let condition = conditions.find(available::TYPE);
        let reason = condition.map_or("NoAvailableCondition", reason);
        let labels = [("name", name), ("version", version), ("reason", reason)];
        samples.add(labels, gauge(conditions.is_true(available::TYPE)));
    };
    for (name, operator) in view.cluster_operators.iter() {
        let status = operator.status.as_ref();
        let version = status.and_then(|status| status.version_of("operator")).unwrap_or_default();
        add(name, version, status.map_or(&Vec::new(), |status| &status.conditions));
    }
    if object.is_some() {
        // Without the condition there is no sample, so that no alert fires.
        if status.conditions.find(available::TYPE).is_some() {
            add(VERSION, &view.running.version, &status.conditions);
        }
    } else {
        let reason = ("reason", "ClusterVersionNotFound");
        samples.add([("name", VERSION), ("version", &view.running.version), reason], 0.0);
    }
    Family::new("cluster_operator_up", "Whether a ClusterOperator is available", samples)
}

fn conditions(status: &ClusterVersionStatus, operators: &Operators) -> Family {
    let mut samples = Samples::default();
    let of = |operator: &ClusterOperator| operator.status.clone().unwrap_or_default().conditions;
    let all = operators.iter().map(|(name, operator)| (name.clone(), of(operator)));
    for (name, conditions) in all.chain([(VERSION.to_owned(), status.conditions.clone())]) {
        for condition in &conditions {
            let value = match condition.status {
                ConditionStatus::True => 1.0,
                ConditionStatus::False => 0.0,
                _ => continue,
            };
            let labels =
                [("name", &*name), ("condition", &condition.type_), ("reason", reason(condition))];
            samples.add(labels, value);
        }
    }
    Family::new(
        "cluster_operator_conditions",
        "Conditions of ClusterOperators and ClusterVersion: 1 True, 0 False",
        samples,
    )
}

fn reason(condition: &OperatorCondition) -> &str {
    condition.reason.as_deref().unwrap_or_default()
}

fn risk_conditions(status: &ClusterVersionStatus) -> Family {
    let mut samples = Samples::default();
    for risk in &status.conditional_update_risks {
        if let Some(condition) = risk.conditions.find(applies::TYPE) {
            let value = match condition.status {
                ConditionStatus::True => 1.0,
                ConditionStatus::False => 0.0,
                _ => -1.0,
            };
            let labels =
                [("condition", applies::TYPE), ("risk", &risk.name), ("reason", &condition.reason)];
            samples.add(labels, value);
        }
    }
    Family::new(
        "cluster_version_risk_conditions",
        "Whether risks apply to this cluster: 1 applies, 0 does not apply, -1 unknown",
        samples,
    )
}

fn risk_unknown(status: &ClusterVersionStatus, now: Timestamp) -> Family {
    let mut samples = Samples::default();
    for risk in &status.conditional_update_risks {
        let condition = risk.conditions.find(applies::TYPE);
        let unknown = condition.filter(|condition| {
            !matches!(condition.status, ConditionStatus::True | ConditionStatus::False)
        });
        if let Some(since) = unknown.and_then(|condition| condition.last_transition_time()) {
            let age = now.as_second() - since.0.as_second();
            samples.add([("risk", &risk.name)], seconds(age.max(0)));
        }
    }
    Family::new(
        "fairway_operator_risk_unknown_seconds",
        "Time since the exposure to a risk became unknown",
        samples,
    )
}

fn conditional_updates(status: &ClusterVersionStatus) -> Family {
    let mut samples = Samples::default();
    for update in &status.conditional_updates {
        if let Some(condition) = update.conditions.find(recommended::TYPE) {
            let labels = [
                ("version", update.release.version.as_str()),
                ("condition", recommended::TYPE),
                ("status", condition.status.as_str()),
                ("reason", &condition.reason),
            ];
            samples.add(labels, unix(condition.last_transition_time.as_ref()));
        }
    }
    Family::new(
        "cluster_version_conditional_update_condition_seconds",
        "Time of the last transition of the Recommended condition of a conditional update",
        samples,
    )
}

fn installer(install: Option<&ConfigMap>) -> Family {
    let data = |key: &str| install.and_then(|map| map.data.as_ref()?.get(key)).map(String::as_str);
    let labels = [
        ("type", if install.is_some() { "openshift-install" } else { "" }),
        ("version", data("version").unwrap_or_default()),
        ("invoker", data("invoker").unwrap_or_default()),
    ];
    Family::new(
        "cluster_installer",
        "Installer of the cluster",
        Samples::default().with(labels, 1.0),
    )
}

fn gauge(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// Transitions of conditions since this operator became leader.
#[derive(Default)]
pub(super) struct Transitions {
    /// By ClusterOperator and condition type: status, and number of transitions.
    known: BTreeMap<(String, String), (ConditionStatus, u32)>,
}

impl Transitions {
    /// Counts transitions. Deleted ClusterOperators are dropped.
    pub(super) fn observe(&mut self, operators: &Operators) {
        let mut before = std::mem::take(&mut self.known);
        for (name, operator) in operators.iter() {
            for condition in operator.status.iter().flat_map(|status| &status.conditions) {
                let key = (name.clone(), condition.type_.clone());
                let count = match before.remove(&key) {
                    None => 0,
                    Some((status, count)) if status == condition.status => count,
                    Some((_, count)) => count.saturating_add(1),
                };
                self.known.entry(key).or_insert((condition.status.clone(), count));
            }
        }
    }

    pub(super) fn family(&self) -> Family {
        let mut samples = Samples::default();
        for ((name, condition), (_, count)) in &self.known {
            samples.add([("name", name), ("condition", condition)], f64::from(*count));
        }
        Family::new(
            "cluster_operator_condition_transitions",
            "Transitions of ClusterOperator conditions since this operator became leader",
            samples,
        )
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod transitions_tests {
    use std::sync::Arc;

    use fairway_api::{ClusterOperator, Conditions as _, OperatorCondition};
    use fairway_testkit::objects;

    use super::*;

    fn dns(degraded: bool) -> Operators {
        let mut status = objects::working_at("5.1.0");
        let condition = OperatorCondition::new("Degraded", degraded);
        status.conditions.set(condition, objects::beginning().0);
        let dns = ClusterOperator { status: Some(status), ..objects::cluster_operator("dns") };
        Arc::new([("dns".to_owned(), Arc::new(dns))].into())
    }

    #[test]
    fn observe_counts_transitions_and_drops_deleted() {
        let mut transitions = Transitions::default();
        for degraded in [false, true, true, false] {
            transitions.observe(&dns(degraded));
        }
        insta::assert_snapshot!(transitions.family(), @r#"
        cluster_operator_condition_transitions{name="dns",condition="Available"} 0
        cluster_operator_condition_transitions{name="dns",condition="Degraded"} 2
        cluster_operator_condition_transitions{name="dns",condition="Progressing"} 0
        "#);
        transitions.observe(&Operators::default());
        assert_eq!(transitions.family().to_string(), "");
    }
}
