//! Clusters with updates and risks, for tests.

use fairway_api::cluster_version::{
    AcceptRisk, ConditionalUpdate, ConditionalUpdateRisk, MatchingRule, MatchingRuleType, Update,
};
use fairway_api::{ClusterVersion, Condition, Conditions as _, OperatorCondition};
use fairway_risk::ANNOTATION;
use fairway_testkit::objects;
use jiff::Timestamp;

/// Two hours after the start of the fixtures.
pub(in crate::commands) fn now() -> Timestamp {
    "2026-01-01T02:00:00Z".parse().unwrap()
}

/// Cluster at 5.1.0 with two recommended updates.
pub(in crate::commands) fn cluster_version() -> ClusterVersion {
    let mut object = objects::cluster_version();
    object.metadata.resource_version = Some("7".to_owned());
    object.metadata.generation = Some(1);
    let mut status = objects::status_at("5.1.0");
    status.desired.channels = ["candidate-5.1", "stable-5.1"].map(str::to_owned).into();
    status.available_updates = Some(vec![objects::release("5.1.9"), objects::release("5.1.10")]);
    object.status = Some(status);
    hold(&mut object, OperatorCondition::new("RetrievedUpdates", true));
    object
}

/// Sets a condition, with the transition time of the fixtures.
pub(in crate::commands) fn hold(object: &mut ClusterVersion, condition: OperatorCondition) {
    let status = object.status.as_mut().unwrap();
    status.conditions.set(condition, objects::beginning().0);
}

/// Condition with reason and message.
pub(in crate::commands) fn condition(
    type_: &str,
    status: impl Into<fairway_api::ConditionStatus>,
    reason: &str,
    message: &str,
) -> OperatorCondition {
    OperatorCondition::new(type_, status).reason(reason).message(message)
}

/// Risk with the condition `Applies`.
pub(in crate::commands) fn risk(name: &str, applies: &str) -> ConditionalUpdateRisk {
    let mut conditions = Vec::new();
    let condition = Condition::new("Applies", applies, "Match", "");
    conditions.set(condition, objects::beginning().0);
    ConditionalUpdateRisk {
        name: name.to_owned(),
        message: format!("{name} may happen."),
        url: format!("https://example.com/{name}"),
        matching_rules: vec![MatchingRule {
            type_: MatchingRuleType::Always,
            ..MatchingRule::default()
        }],
        conditions,
        ..ConditionalUpdateRisk::default()
    }
}

/// Adds a conditional update.
pub(in crate::commands) fn offer(
    object: &mut ClusterVersion,
    version: &str,
    risks: &[ConditionalUpdateRisk],
    recommended: Condition,
) {
    let status = object.status.as_mut().unwrap();
    for risk in risks {
        if status.conditional_update_risks.iter().all(|known| known.name != risk.name) {
            status.conditional_update_risks.push(risk.clone());
        }
    }
    let mut conditions = Vec::new();
    conditions.set(recommended, objects::beginning().0);
    status.conditional_updates.push(ConditionalUpdate {
        release: objects::release(version),
        risk_names: risks.iter().map(|risk| risk.name.clone()).collect(),
        risks: risks.to_vec(),
        conditions,
        ..ConditionalUpdate::default()
    });
}

/// Condition `Recommended`.
pub(in crate::commands) fn recommended(status: &str, reason: &str, message: &str) -> Condition {
    Condition::new("Recommended", status, reason, message)
}

/// Accepts risks, with the terms of an annotation.
pub(in crate::commands) fn accept(
    object: &mut ClusterVersion,
    names: &[&str],
    annotation: Option<&str>,
) {
    let accepted = |name: &&str| AcceptRisk { name: (*name).to_owned(), ..AcceptRisk::default() };
    let update = object.spec.desired_update.get_or_insert_with(Update::default);
    update.accept_risks = names.iter().map(accepted).collect();
    if let Some(annotation) = annotation {
        let annotations = object.metadata.annotations.get_or_insert_default();
        annotations.insert(ANNOTATION.to_owned(), annotation.to_owned());
    }
}
