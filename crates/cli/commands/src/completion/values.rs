//! Candidates from ClusterVersion, without characters that a shell interprets.

use std::collections::BTreeSet;

use clap_complete::CompletionCandidate;
use fairway_api::cluster_version::{ConditionalUpdate, Release};
use fairway_api::reason::recommended;
use fairway_api::{ClusterVersion, ClusterVersionStatus, Conditions as _, Version};
use kube::config::Kubeconfig;

use crate::foreign_text::OneLine;

/// Names that accept all risks of an update, and names of issues that do not depend on the target.
const ISSUES: [&str; 5] = [
    "CannotRetrieveUpdates",
    "ConditionalUpdateRisk",
    "Failing",
    "FailedToCompletePrecheck",
    "Progressing",
];

/// Versions of updates, latest first.
pub(super) fn versions(cluster: &ClusterVersion) -> Vec<CompletionCandidate> {
    releases(cluster)
        .into_iter()
        .filter_map(|(release, about)| candidate(&release.version, Some(&about)))
        .collect()
}

/// The images of those versions.
pub(super) fn images(cluster: &ClusterVersion) -> Vec<CompletionCandidate> {
    releases(cluster)
        .into_iter()
        .filter_map(|(release, about)| {
            candidate(&release.image, Some(&format!("{}, {about}", release.version)))
        })
        .collect()
}

/// Channels of the running release.
pub(super) fn channels(cluster: &ClusterVersion) -> Vec<CompletionCandidate> {
    let Some(status) = &cluster.status else { return Vec::new() };
    let chosen = cluster.spec.channel.as_deref();
    let about = |channel: &str| (chosen == Some(channel)).then_some("current");
    status.desired.channels.iter().filter_map(|it| candidate(it, about(it))).collect()
}

/// Risks of updates, and accepted ones with a trailing hyphen.
pub(super) fn risks(cluster: &ClusterVersion) -> Vec<CompletionCandidate> {
    let update = cluster.spec.desired_update.as_ref();
    let accepted: Vec<&str> = update
        .map(|update| update.accept_risks.iter().map(|risk| risk.name.as_str()).collect())
        .unwrap_or_default();
    let open = named_risks(cluster).into_iter().filter(|(name, _)| !accepted.contains(name));
    let open = open.filter_map(|(name, message)| candidate(name, Some(message)));
    let taken_back = accepted
        .iter()
        .filter_map(|name| candidate(&format!("{name}-"), Some("remove the acceptance")));
    open.chain(taken_back).collect()
}

/// Issues of updates.
pub(super) fn issues(cluster: &ClusterVersion) -> Vec<CompletionCandidate> {
    let risks = named_risks(cluster).into_iter();
    let risks = risks.filter_map(|(name, message)| candidate(name, Some(message)));
    risks.chain(ISSUES.iter().filter_map(|name| candidate(name, None))).collect()
}

/// Versions and risks.
pub(super) fn subjects(cluster: &ClusterVersion) -> Vec<CompletionCandidate> {
    let risks = named_risks(cluster).into_iter();
    let risks = risks.filter_map(|(name, message)| candidate(name, Some(message)));
    versions(cluster).into_iter().chain(risks).collect()
}

/// The contexts of a kubeconfig.
pub(super) fn contexts(config: &Kubeconfig) -> Vec<CompletionCandidate> {
    let about = |context: &kube::config::NamedContext| {
        Some(context.context.as_ref()?.cluster.clone()).filter(|name| *name != context.name)
    };
    let contexts = config.contexts.iter();
    contexts.filter_map(|context| candidate(&context.name, about(context).as_deref())).collect()
}

/// A candidate. `None` if a shell would interpret its characters.
fn candidate(value: &str, about: Option<&str>) -> Option<CompletionCandidate> {
    let is_harmless = |char: char| {
        char.is_alphanumeric() || matches!(char, '-' | '.' | '_' | ':' | '/' | '@' | '+')
    };
    let begins_well = value.starts_with(char::is_alphanumeric);
    (begins_well && value.chars().all(is_harmless)).then(|| {
        let about = about.map(|about| OneLine(about).to_string().into());
        CompletionCandidate::new(value).help(about)
    })
}

/// Releases of updates with their state, latest first.
fn releases(cluster: &ClusterVersion) -> Vec<(&Release, String)> {
    let Some(status) = &cluster.status else { return Vec::new() };
    let recommended = status.available_updates.iter().flatten();
    let recommended = recommended.map(|release| (release, "recommended".to_owned()));
    let conditional = status.conditional_updates.iter();
    let conditional = conditional.map(|update| (&update.release, verdict(update)));
    let mut seen = BTreeSet::new();
    let mut all: Vec<_> = recommended
        .chain(conditional)
        .filter(|(release, _)| seen.insert(release.version.clone()))
        .collect();
    all.sort_by_cached_key(|(release, _)| std::cmp::Reverse(Version::parse(&release.version).ok()));
    all
}

fn verdict(update: &ConditionalUpdate) -> String {
    match update.conditions.find("Recommended") {
        Some(_) if update.conditions.is_true("Recommended") => "recommended".to_owned(),
        Some(condition) if condition.reason == recommended::MULTIPLE_REASONS.code => {
            let risks: Vec<&str> = update.risks.iter().map(|risk| risk.name.as_str()).collect();
            format!("not recommended: {}", risks.join(", "))
        }
        Some(condition) => format!("not recommended: {}", condition.reason),
        None => "recommendation unknown".to_owned(),
    }
}

/// Names and messages of all risks.
fn named_risks(cluster: &ClusterVersion) -> Vec<(&str, &str)> {
    let Some(ClusterVersionStatus { conditional_updates, conditional_update_risks, .. }) =
        &cluster.status
    else {
        return Vec::new();
    };
    let of_updates = conditional_updates.iter().flat_map(|update| &update.risks);
    let mut seen = BTreeSet::new();
    let all = conditional_update_risks.iter().chain(of_updates);
    all.filter(|risk| seen.insert(&risk.name))
        .map(|risk| (risk.name.as_str(), risk.message.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cluster() -> ClusterVersion {
        serde_json::from_value(json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
            "metadata": {"name": "version"},
            "spec": {
                "clusterID": "", "channel": "stable-5.1",
                "desiredUpdate": {"acceptRisks": [{"name": "NoisyLogs"}]},
            },
            "status": {
                "desired": {"version": "5.1.0", "channels": ["candidate-5.1", "stable-5.1"]},
                "availableUpdates": [
                    {"version": "5.1.9", "image": "registry.example/release@sha256:9"},
                    {"version": "5.1.10", "image": "$(reboot)"},
                    {"version": "5.1.9 ; reboot"},
                    {"version": "--force"},
                ],
                "conditionalUpdates": [{
                    "release": {"version": "5.2.0", "image": "registry.example/release@sha256:2"},
                    "risks": [{"name": "SlowDisks", "message": "Leases\nmay be missed."}],
                    "conditions": [{"type": "Recommended", "status": "False", "reason": "SlowDisks"}],
                }, {
                    "release": {"version": "5.2.1"},
                    "risks": [{"name": "SlowDisks"}, {"name": "NoisyLogs"}],
                    "conditions": [{"type": "Recommended", "status": "False", "reason": "MultipleReasons"}],
                }],
                "conditionalUpdateRisks": [{"name": "NoisyLogs"}, {"name": "`reboot`"}],
            },
        }))
        .unwrap()
    }

    fn printed(candidates: &[CompletionCandidate]) -> String {
        let told = candidates.iter().map(|it| {
            let help = it.get_help().map(ToString::to_string).unwrap_or_default();
            format!("{}  {help}", it.get_value().display()).trim_end().to_owned()
        });
        told.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn candidates_have_no_characters_that_a_shell_interprets() {
        let cluster = cluster();
        let all = [versions, images, channels, risks, issues].map(|of| printed(&of(&cluster)));
        insta::assert_snapshot!(all.join("\n\n"), @"
        5.2.1  not recommended: SlowDisks, NoisyLogs
        5.2.0  not recommended: SlowDisks
        5.1.10  recommended
        5.1.9  recommended

        registry.example/release@sha256:2  5.2.0, not recommended: SlowDisks
        registry.example/release@sha256:9  5.1.9, recommended

        candidate-5.1
        stable-5.1  current

        SlowDisks  Leases may be missed.
        NoisyLogs-  remove the acceptance

        NoisyLogs
        SlowDisks  Leases may be missed.
        CannotRetrieveUpdates
        ConditionalUpdateRisk
        Failing
        FailedToCompletePrecheck
        Progressing
        ");
    }

    #[test]
    fn cluster_without_status_has_no_candidates() {
        let cluster = ClusterVersion { status: None, ..cluster() };
        for candidates in [versions(&cluster), images(&cluster), channels(&cluster)] {
            assert!(candidates.is_empty());
        }
    }
}
