//! Text output of `upgrade recommend`.

use fairway_api::{ClusterVersion, Version};
use fairway_insight::{Alerts, alerts};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

fn release(version: &str) -> Value {
    json!({"version": version, "image": format!("registry.example/release@sha256:{version}"), "url": "https://example.com/notes"})
}

/// Cluster at 5.1.0 with three recommended updates and one with a risk.
fn cluster_version() -> ClusterVersion {
    let object = json!({
        "metadata": {"name": "version"},
        "spec": {"clusterID": "", "channel": "stable-5.1", "upstream": "https://updates.example"},
        "status": {
            "desired": {"version": "5.1.0", "image": "a", "channels": ["fast-5.1", "stable-5.1"]},
            "conditions": [
                {"type": "Failing", "status": "True", "reason": "Bad", "message": "It fails.\nSince long."},
                {"type": "RetrievedUpdates", "status": "True"},
            ],
            "availableUpdates": [release("5.1.1"), release("5.1.3"), release("5.1.2"), release("latest")],
            "conditionalUpdates": [{
                "release": release("5.2.0"),
                "risks": [{"name": "SlowDisks", "message": "", "url": "u", "matchingRules": []}],
                "conditions": [{"type": "Recommended", "status": "False", "reason": "SlowDisks",
                                "message": "Slow disks miss leases.\n\nhttps://example.com/disks"}],
            }],
        },
    });
    serde_json::from_value(object).unwrap()
}

fn text(alerts: &Alerts, version: Option<&str>, accept: &[&str], in_full: bool) -> String {
    let version = version.map(|version| Version::parse(version).unwrap());
    let accept = accept.iter().map(|name| (*name).to_owned()).collect();
    let query = RecommendQuery { version, accept };
    let report = Recommendation::of(&cluster_version(), alerts, &query, Timestamp::UNIX_EPOCH);
    let text = RecommendationText { report: &report, notes: Vec::new(), in_full }.to_string();
    format!("{text}\n{:?}", report.verdict())
}

fn none() -> Alerts {
    Alerts::Known(Vec::new())
}

#[test]
fn quiet_with_unknown_updates_is_an_error() {
    let mut object = cluster_version();
    let status = object.status.as_mut().unwrap();
    status.conditions[1].status = "False".into();
    status.available_updates = None;
    status.conditional_updates.clear();
    let version = Version::new(5, 1, 1);
    let query = RecommendQuery { version: Some(version.clone()), ..RecommendQuery::default() };
    let report = Recommendation::of(&object, &none(), &query, Timestamp::UNIX_EPOCH);
    let error = quiet_result(&report, &version, ExitStatus::Unknown).unwrap_err();
    let hint = crate::errors::hint(&error).unwrap_or_default();
    insta::assert_snapshot!(format!("{error}\nhint: {hint}"), @"
    the available updates are unknown
    hint: run `fairway upgrade` for the reason
    ");
}

#[test]
fn issue_names_are_quoted_for_the_shell() {
    let mut object = cluster_version();
    object.status.as_mut().unwrap().conditions[0].status = "False".into();
    let alert = json!({"status": "success", "data": {"alerts": [{
        "labels": {"alertname": "Down;id", "severity": "critical", "namespace": "openshift-x"},
        "annotations": {"summary": "It is down.", "description": "Long.", "runbook_url": "u"},
        "state": "firing", "activeAt": "2026-01-01T00:00:00Z",
    }]}});
    let alerts = Alerts::Known(alerts::read(alert.to_string().as_bytes()).unwrap());
    let query =
        RecommendQuery { version: Some(Version::new(5, 1, 1)), ..RecommendQuery::default() };
    let report = Recommendation::of(&object, &alerts, &query, Timestamp::UNIX_EPOCH);
    let text =
        RecommendationText { report: &report, notes: Vec::new(), in_full: false }.to_string();
    assert!(text.ends_with("To ignore these issues, add --accept='Down;id'."), "{text}");
}

#[test]
fn text_of_latest_updates() {
    insta::assert_snapshot!(text(&none(), None, &[], false), @"
    Issues for any update:
      Failing (Bad)
        It fails.
        Since long.

    Passed checks: CriticalAlerts, PodDisruptionBudgetAlerts, PodImagePullAlerts, NodeAlerts, UpdatePrecheckAlerts

    Upstream: https://updates.example
    Channel: stable-5.1 (available channels: fast-5.1, stable-5.1)

    Updates to 5.2:
      5.2.0  Recommended=False: SlowDisks
        Slow disks miss leases.

        https://example.com/disks

    Updates to 5.1:
      5.1.3  no known issues
      5.1.2  no known issues
      1 older: use --show-outdated-releases or --version to show them

    Skipped, not valid versions: latest
    Yes
    ");
}

#[test]
fn text_of_all_updates_and_alerts() {
    let json = br#"{"status": "success", "data": {"alerts": [
        {"labels": {"alertname": "Fire", "severity": "critical"}, "annotations": {"summary": "Hot"}, "state": "firing"}]}}"#;
    let alerts = Alerts::Known(alerts::read(json).unwrap());
    insta::assert_snapshot!(text(&alerts, None, &["Fire"], true), @"
    Issues for any update:
      Failing (Bad)
        It fails.
        Since long.
      Fire (Alert:firing), accepted
        critical alert Fire firing, suggesting significant cluster issues worth investigating. Hot. The alert has no description. <alert does not have a runbook_url annotation>

    Passed checks: PodDisruptionBudgetAlerts, PodImagePullAlerts, NodeAlerts, UpdatePrecheckAlerts

    Upstream: https://updates.example
    Channel: stable-5.1 (available channels: fast-5.1, stable-5.1)

    Updates to 5.2:
      5.2.0  Recommended=False: SlowDisks

    Updates to 5.1:
      5.1.3  no known issues
      5.1.2  no known issues
      5.1.1  no known issues

    Skipped, not valid versions: latest
    Yes
    ");
}

#[test]
fn text_of_one_update() {
    let unreadable = Alerts::Unreadable("the current credentials contain no token".to_owned());
    insta::assert_snapshot!(text(&unreadable, Some("5.2.0"), &[], false), @"
    Issues for any update:
      Failing (Bad)
        It fails.
        Since long.
      FailedToCompletePrecheck
        cannot read the alerts: the current credentials contain no token

    Upstream: https://updates.example
    Channel: stable-5.1 (available channels: fast-5.1, stable-5.1)

    Recommended=False for 5.2.0:
      Reason: SlowDisks
      Risks: SlowDisks
      Slow disks miss leases.

      https://example.com/disks
      Image: registry.example/release@sha256:5.2.0
      Release URL: https://example.com/notes

    Not accepted: ConditionalUpdateRisk,FailedToCompletePrecheck,Failing
    To ignore these issues, add --accept=ConditionalUpdateRisk,FailedToCompletePrecheck,Failing.
    No
    ");
    insta::assert_snapshot!(text(&none(), Some("5.2.0"), &["SlowDisks", "Failing"], false), @"
    Issues for any update:
      Failing (Bad), accepted
        It fails.
        Since long.

    Passed checks: CriticalAlerts, PodDisruptionBudgetAlerts, PodImagePullAlerts, NodeAlerts, UpdatePrecheckAlerts

    Upstream: https://updates.example
    Channel: stable-5.1 (available channels: fast-5.1, stable-5.1)

    Recommended=False for 5.2.0 (accepted):
      Reason: SlowDisks
      Risks: SlowDisks
      Slow disks miss leases.

      https://example.com/disks
      Image: registry.example/release@sha256:5.2.0
      Release URL: https://example.com/notes

    Accepted: Failing,ConditionalUpdateRisk. No other known issues.
    Yes
    ");
    insta::assert_snapshot!(text(&none(), Some("5.1.3"), &["Failing"], false), @"
    Issues for any update:
      Failing (Bad), accepted
        It fails.
        Since long.

    Passed checks: CriticalAlerts, PodDisruptionBudgetAlerts, PodImagePullAlerts, NodeAlerts, UpdatePrecheckAlerts

    Upstream: https://updates.example
    Channel: stable-5.1 (available channels: fast-5.1, stable-5.1)

    No known issues with 5.1.3.
      Image: registry.example/release@sha256:5.1.3
      Release URL: https://example.com/notes

    Accepted: Failing. No other known issues.
    Yes
    ");
    insta::assert_snapshot!(text(&none(), Some("6.0.0"), &[], false), @"
    Issues for any update:
      Failing (Bad)
        It fails.
        Since long.

    Passed checks: CriticalAlerts, PodDisruptionBudgetAlerts, PodImagePullAlerts, NodeAlerts, UpdatePrecheckAlerts

    Upstream: https://updates.example
    Channel: stable-5.1 (available channels: fast-5.1, stable-5.1)

    No recommendation for this version: no updates to 6 are available.
    Unknown
    ");
}

#[test]
fn text_without_updates() {
    let report = Recommendation::of(
        &ClusterVersion::default(),
        &none(),
        &RecommendQuery::default(),
        Timestamp::UNIX_EPOCH,
    );
    insta::assert_snapshot!(RecommendationText { report: &report, notes: Vec::new(), in_full: false }.to_string(), @"
    Issues for any update:
      Failing
        ClusterVersion has no condition Failing, so its state is unknown

    Passed checks: CriticalAlerts, PodDisruptionBudgetAlerts, PodImagePullAlerts, NodeAlerts, UpdatePrecheckAlerts

    No updates are available. To use a release that is not listed, run `fairway upgrade --to-image`.
    ");
}

#[test]
fn issues_after_acceptance_are_new_risks() {
    let asked = |accept: &[&str]| RecommendQuery {
        version: Some("5.2.0".parse().unwrap()),
        accept: accept.iter().map(|&name| name.to_owned()).collect(),
    };
    let mut object = cluster_version();
    let now = Timestamp::UNIX_EPOCH;
    assert!(!has_accepted_issues(&object, &asked(&[]), now));
    assert!(has_accepted_issues(&object, &asked(&["SlowDisks"]), now));
    super::super::fixtures::accept(&mut object, &["A"], Some(r#"{"A":{"for":"5.1.x"}}"#));
    assert!(!has_accepted_issues(&object, &asked(&[]), now), "that was for other versions");
    super::super::fixtures::accept(&mut object, &["A"], Some(r#"{"A":{"for":"5.2.x"}}"#));
    assert!(has_accepted_issues(&object, &asked(&[]), now));
}
