use fairway_api::cluster_version::{Architecture, MatchingRuleType, Update};
use fairway_api::{ClusterVersion, Condition, Conditions as _, read};
use fairway_testkit::{environment, objects};
use serde_json::Value;

use super::Report;
use crate::commands::upgrade::fixtures::{
    accept, cluster_version, condition, hold, now, offer, recommended, risk,
};

fn text(object: &ClusterVersion) -> String {
    Report::of(object, now()).to_string()
}

fn in_full(object: &ClusterVersion) -> String {
    Report::of(object, now()).in_full(true).to_string()
}

/// Paragraph with a first line.
fn from<'a>(text: &'a str, line: &str) -> &'a str {
    text.find(line).map_or(text, |at| &text[at..])
}

#[test]
fn report_of_vsphere_proxy_risk() {
    let mut object = cluster_version();
    let risks = [
        risk("AuthOAuthProxyLeakedConnections", "True"),
        risk("VSphereHW14CrossNodeNetworkingError", "True"),
        risk("VSphereNodeNameChanges", "False"),
    ];
    let message = "Clusters on vSphere may have trouble. https://example.com/1\n\nOn clusters with a Proxy, connections leak. https://example.com/2";
    offer(&mut object, "5.2.4", &risks, recommended("False", "MultipleReasons", message));
    let unknown = risk("ExampleReason", "Unknown");
    let message = "Unable to evaluate PromQL. https://example.com/ExampleReason";
    offer(&mut object, "5.1.99", &[unknown], recommended("Unknown", "EvaluationFailed", message));
    let fine = risk("NotHere", "False");
    offer(&mut object, "5.1.10", &[fine], recommended("True", "NotExposedToRisks", "Fine."));
    insta::assert_snapshot!(from(&text(&object), "Additional"), @r#"Additional updates which are not recommended, or where the recommended status is "Unknown", for your cluster configuration are available, to view those re-run the command with --include-not-recommended."#);
    insta::assert_snapshot!(from(&in_full(&object), "Supported"), @"
    Supported but not recommended updates:

      Version: 5.2.4
      Image: registry.example/release@sha256:b5a11667241b9a7e2db785efbe64abb7c68db8a7b31d3846a29e10028bba5b6f
      Recommended: False
      Reason: MultipleReasons
      Message:
        Clusters on vSphere may have trouble. https://example.com/1

        On clusters with a Proxy, connections leak. https://example.com/2
      Risks:
        AuthOAuthProxyLeakedConnections: applies
        VSphereHW14CrossNodeNetworkingError: applies
        VSphereNodeNameChanges: does not apply

      Version: 5.1.99
      Image: registry.example/release@sha256:e8e629dba29167b1fb0342d7f69bfcf34c7afeeb8351dd7e87911a202e553efd
      Recommended: Unknown
      Reason: EvaluationFailed
      Message: Unable to evaluate PromQL. https://example.com/ExampleReason
      Risks:
        ExampleReason: may apply
    ");

    object.status.as_mut().unwrap().conditional_updates.remove(1);
    insta::assert_snapshot!(from(&text(&object), "Additional"), @"Additional updates which are not recommended based on your cluster configuration are available, to view those re-run the command with --include-not-recommended.");
}

#[test]
fn report_without_status() {
    let mut object = objects::cluster_version();
    insta::assert_snapshot!(text(&object), @"
    The version of this cluster is unknown: ClusterVersion has no status yet.

    Upstream is unset, so the cluster will use an appropriate default.
    Channel: stable-5.1

    The available updates are unknown.
    ");
    assert!(!Report::of(&object, now()).updates_retrieved);
    assert_eq!(in_full(&object), text(&object), "other updates are unknown");
    object.spec.channel = None;
    insta::assert_snapshot!(text(&object), @"
    The version of this cluster is unknown: ClusterVersion has no status yet.

    No channel is set, so the operator does not retrieve updates. Set one with
      fairway upgrade channel CHANNEL

    The available updates are unknown.
    ");
}

#[test]
fn report_without_channel() {
    let mut object = cluster_version();
    object.spec.channel = Some(String::new());
    object.status.as_mut().unwrap().available_updates = None;
    let message = "The update channel has not been configured.";
    hold(&mut object, condition("RetrievedUpdates", false, "NoChannel", message));
    insta::assert_snapshot!(text(&object), @"
    Cluster version is 5.1.0

    No channel is set, so the operator does not retrieve updates. Set one with
      fairway upgrade channel CHANNEL

    RetrievedUpdates=False:

      Reason: NoChannel
      Message: The update channel has not been configured.
      Since: 2h0m ago

    The available updates are unknown.
    ");
    assert!(!Report::of(&object, now()).updates_retrieved);
}

#[test]
fn report_with_unreachable_update_service() {
    let mut object = cluster_version();
    object.spec.upstream = Some("https://updates.example.com/graph".to_owned());
    let message = "Unable to retrieve available updates: connection refused";
    hold(&mut object, condition("RetrievedUpdates", false, "RemoteFailed", message));
    insta::assert_snapshot!(text(&object), @"
    Cluster version is 5.1.0

    Upstream: https://updates.example.com/graph
    Channel: stable-5.1 (available channels: candidate-5.1, stable-5.1)

    RetrievedUpdates=False:

      Reason: RemoteFailed
      Message: Unable to retrieve available updates: connection refused
      Since: 2h0m ago; the listed updates are older

    Recommended updates:

      VERSION     IMAGE
      5.1.10      registry.example/release@sha256:bb6f0a129e8c24e28d5d0c7bae89e174ea0fef2b8068d7119653cabe4efa4680
      5.1.9       registry.example/release@sha256:f73d25856ea13b7a2c6a955ef62007088ec360578dbe2141a5425ad9cf27d41b
    ");
    assert!(Report::of(&object, now()).updates_retrieved, "what was known stays known");

    let slow = &[risk("SlowDisks", "True")];
    offer(&mut object, "5.2.0", slow, recommended("False", "SlowDisks", "They are slow."));
    object.status.as_mut().unwrap().available_updates = Some(Vec::new());
    assert!(Report::of(&object, now()).updates_retrieved, "that none is recommended is known, too");
}

#[test]
fn report_without_updates() {
    let mut object = cluster_version();
    for none in [None, Some(Vec::new())] {
        object.status.as_mut().unwrap().available_updates = none;
        assert!(Report::of(&object, now()).updates_retrieved);
        insta::allow_duplicates! {
            insta::assert_snapshot!(from(&in_full(&object), "No updates"), @"
            No updates are recommended for this cluster.

            No updates which are not recommended based on your cluster configuration are available.
            ");
        }
    }
}

#[test]
fn report_of_multi_arch_request() {
    let mut object = cluster_version();
    let architecture = Some(Architecture::Multi);
    object.spec.desired_update = Some(Update { architecture, ..objects::update_to("5.1.0") });
    let asked = text(&object);
    assert!(asked.contains("Requested: 5.1.0 for multiple architectures, not started"));
    let mut said = object.clone();
    let loaded = r#"Payload loaded version="5.1.0" image="a" architecture="Multi""#;
    hold(&mut said, condition("ReleaseAccepted", "True", "PayloadLoaded", loaded));
    assert!(!text(&said).contains("Requested"), "OpenShift says it of what it has accepted");
    object.status.as_mut().unwrap().desired.architecture = Some(Architecture::Multi);
    assert!(!text(&object).contains("Requested"));
}

#[test]
fn report_with_all_blockers() {
    let mut object = cluster_version();
    object.metadata.generation = Some(2);
    object.spec.desired_update = Some(objects::update_to("5.2.0"));
    for it in [
        condition("Invalid", true, "InvalidClusterVersion", "spec.upstream is not a URL"),
        condition("Failing", true, "MultipleErrors", "Two errors:\n* one\n* two"),
        condition("ReleaseAccepted", false, "UnacceptedRisks", "5.2.0 has risks: SlowDisks"),
        condition("Upgradeable", false, "AdminAckRequired", "Confirm that APIs go away."),
    ] {
        hold(&mut object, it);
    }
    insta::assert_snapshot!(text(&object), @"
    Cluster version is 5.1.0

    Requested: update to 5.2.0, not started

    The operator has not processed the latest change of ClusterVersion yet; this report shows the previous state.

    Invalid=True:

      Reason: InvalidClusterVersion
      Message: spec.upstream is not a URL

    Failing=True:

      Reason: MultipleErrors
      Message:
        Two errors:
        * one
        * two

    ReleaseAccepted=False:

      Reason: UnacceptedRisks
      Message: 5.2.0 has risks: SlowDisks

    Upgradeable=False:

      Reason: AdminAckRequired
      Message: Confirm that APIs go away.

    Upstream is unset, so the cluster will use an appropriate default.
    Channel: stable-5.1 (available channels: candidate-5.1, stable-5.1)

    Recommended updates:

      VERSION     IMAGE
      5.1.10      registry.example/release@sha256:bb6f0a129e8c24e28d5d0c7bae89e174ea0fef2b8068d7119653cabe4efa4680
      5.1.9       registry.example/release@sha256:f73d25856ea13b7a2c6a955ef62007088ec360578dbe2141a5425ad9cf27d41b
    ");
}

#[test]
fn report_of_update_in_progress() {
    let mut object = cluster_version();
    object.spec.desired_update = Some(objects::update_to("5.1.9"));
    object.status.as_mut().unwrap().desired = objects::release("5.1.9");
    let message = "Working towards 5.1.9: 12 of 90 done (13% complete)";
    hold(&mut object, condition("Progressing", true, "", message));
    insta::assert_snapshot!(text(&object).lines().take(5).collect::<Vec<_>>().join("\n"), @"
    Cluster version is 5.1.0

    info: An upgrade is in progress. Working towards 5.1.9: 12 of 90 done (13% complete)

    Upstream is unset, so the cluster will use an appropriate default.
    ");
}

#[test]
fn report_of_installation() {
    let mut object = cluster_version();
    object.status.as_mut().unwrap().history.clear();
    assert!(
        text(&object).starts_with("No release is complete yet; the operator is applying 5.1.0.")
    );
}

#[test]
fn report_of_requested_preflight() {
    let mut object = cluster_version();
    let mut update = objects::update_to("5.1.0");
    update.mode = Some("Preflight".into());
    object.spec.desired_update = Some(update);
    insta::assert_snapshot!(text(&object).lines().nth(2).unwrap(), @"Requested: Preflight of 5.1.0");
}

#[test]
fn report_of_accepted_risks() {
    let mut object = cluster_version();
    let risks = ["Changed", "Elsewhere", "Expired", "Here", "Unreadable", "Unnamed"];
    let risks = risks.map(|name| risk(name, "True"));
    offer(&mut object, "5.2.4", &risks, recommended("False", "MultipleReasons", "Several."));
    let annotation = r#"{
        "Changed": {"definition": "another"},
        "Elsewhere": {"for": "5.3.x"},
        "Expired": {"until": "2025-12-31"},
        "Here": {"reason": "The disks\u001b[2J are new.", "until": "2026-12-31", "by": "alice"},
        "Unreadable": {"until": "soon"}
    }"#;
    let names = ["Changed", "Elsewhere", "Expired", "Gone", "Here", "Unreadable"];
    accept(&mut object, &names, Some(annotation));
    insta::assert_snapshot!(from(&in_full(&object), "Supported"), @r"
    Supported but not recommended updates:

      Version: 5.2.4
      Image: registry.example/release@sha256:b5a11667241b9a7e2db785efbe64abb7c68db8a7b31d3846a29e10028bba5b6f
      Recommended: False
      Reason: MultipleReasons
      Message: Several.
      Risks:
        Changed: applies, accepted before it changed
        Elsewhere: applies, accepted only for 5.3.x
        Expired: applies, accepted until 2025-12-31 (expired)
        Here: applies, accepted
        Unnamed: applies
        Unreadable: applies, accepted with invalid terms

    Accepted risks:

      Changed (the risk has changed since)
      Elsewhere, for 5.3.x
      Expired, until 2025-12-31 (expired)
      Gone (no available update has it)
      Here, until 2026-12-31, by alice: The disks\u{1b}[2J are new.
      Unreadable (no effect: invalid terms)
    ");

    accept(&mut object, &names, Some("[]"));
    insta::assert_snapshot!(from(&text(&object), "Accepted risks"), @"
    Accepted risks:

      Changed (no effect: invalid terms)
      Elsewhere (no effect: invalid terms)
      Expired (no effect: invalid terms)
      Gone (no effect: invalid terms) (no available update has it)
      Here (no effect: invalid terms)
      Unreadable (no effect: invalid terms)
    ");
}

#[test]
fn report_without_exposures() {
    let mut object = cluster_version();
    let mut old = risk("SlowDisks", "True");
    old.conditions.clear();
    old.matching_rules[0].type_ = MatchingRuleType::PromQl;
    offer(&mut object, "5.2.4", &[old], recommended("False", "SlowDisks", "Disks are slow."));
    object.status.as_mut().unwrap().conditional_updates[0].conditions.clear();
    insta::assert_snapshot!(from(&in_full(&object), "Supported"), @"
    Supported but not recommended updates:

      Version: 5.2.4
      Image: registry.example/release@sha256:b5a11667241b9a7e2db785efbe64abb7c68db8a7b31d3846a29e10028bba5b6f
      Recommended: Unknown
      Risks:
        SlowDisks: exposure not reported by the operator
    ");
    let said = Condition::new("Recommended", "False", "SlowDisks", "Disks are slow.");
    let update = &mut object.status.as_mut().unwrap().conditional_updates[0];
    update.conditions.set(said, objects::beginning().0);
    insta::assert_snapshot!(from(&in_full(&object), "  Risks"), @"
      Risks:
        SlowDisks: applies
    ");
}

#[test]
fn report_escapes_control_characters() {
    const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\rfake\u{202e}\u{2028}";
    let mut object = cluster_version();
    object.spec.channel = Some(HOSTILE.to_owned());
    object.spec.upstream = Some(HOSTILE.to_owned());
    object.spec.desired_update = Some(objects::update_to(HOSTILE));
    accept(&mut object, &[HOSTILE], None);
    offer(&mut object, HOSTILE, &[risk(HOSTILE, HOSTILE)], recommended(HOSTILE, HOSTILE, HOSTILE));
    for type_ in ["Invalid", "Failing", "ReleaseAccepted", "Upgradeable", "RetrievedUpdates"] {
        hold(&mut object, condition(type_, HOSTILE, HOSTILE, HOSTILE));
    }
    hold(&mut object, condition("Progressing", true, HOSTILE, HOSTILE));
    let status = object.status.as_mut().unwrap();
    status.desired.channels = vec![HOSTILE.to_owned()];
    status.available_updates = Some(vec![objects::release(HOSTILE)]);
    status.history[0].version = Some(HOSTILE.to_owned());
    let said = in_full(&object);
    let steering = |char: char| char != '\n' && crate::foreign_text::steers(char);
    assert!(!said.contains(steering), "{said:?}");
    assert_eq!(said.lines().filter(|line| line.starts_with("fake")).count(), 0);
}

#[test]
fn invalid_versions_are_listed_last() {
    let mut object = cluster_version();
    let versions = ["latest", "5.1.9", "5.1.10-rc.1", "nightly", "5.1.10"];
    object.status.as_mut().unwrap().available_updates = Some(versions.map(objects::release).into());
    let said = text(&object);
    let order: Vec<&str> = from(&said, "  VERSION")
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(order, ["5.1.10", "5.1.10-rc.1", "5.1.9", "nightly", "latest"]);
}

#[test]
fn exposure_is_per_update() {
    let mut object = cluster_version();
    let not = || recommended("False", "SlowDisks", "Not now.");
    offer(&mut object, "5.2.4", &[risk("SlowDisks", "True")], not());
    offer(&mut object, "5.2.5", &[risk("SlowDisks", "Unknown")], not());
    let said = in_full(&object);
    let exposures: Vec<&str> = said.lines().filter(|line| line.contains("SlowDisks: ")).collect();
    assert_eq!(exposures, ["    SlowDisks: may apply", "    SlowDisks: applies"]);
}

#[test]
fn report_of_recorded_clusters() {
    let Some(root) = environment::conformance("oc") else { return };
    let mut updates = 0;
    for file in std::fs::read_dir(root.join("recommend")).unwrap() {
        let path = file.unwrap().path().display().to_string();
        if !path.ends_with("-cv.yaml") {
            continue;
        }
        let mut document: Value = read::document(&path, &std::fs::read(&path).unwrap()).unwrap();
        let object = document.pointer_mut("/items/0").map(Value::take).unwrap_or(document);
        let object: ClusterVersion = serde_json::from_value(object).unwrap();
        let said = in_full(&object);
        let status = object.status.as_ref().unwrap();
        let available = status.available_updates.iter().flatten();
        let conditional = status.conditional_updates.iter().map(|update| &update.release);
        for release in available.chain(conditional) {
            assert!(said.contains(&release.image), "{} in {path}", release.version);
            updates += 1;
        }
    }
    assert!(updates >= 100, "{updates} updates");
}

#[test]
fn report_summarises_preflight_in_one_line() {
    let mut object = cluster_version();
    let line = |object: &ClusterVersion| {
        let text = text(object);
        text.lines().find(|line| line.starts_with("Preflight")).unwrap_or_default().to_owned()
    };
    let conditions = ["PreflightRunning", "PreflightCompleted", "PreflightFailed"];
    let says = |object: &mut ClusterVersion, said: [(bool, &str, &str); 3]| {
        for (type_, (holds, reason, message)) in conditions.into_iter().zip(said) {
            hold(object, condition(type_, holds, reason, message));
        }
    };
    says(&mut object, [(false, "NotRequested", "No."); 3]);
    assert_eq!(line(&object), "");

    let mode = Some("Preflight".into());
    object.spec.desired_update = Some(Update { mode, ..objects::update_to("5.2.0") });
    let fine = (false, "AsExpected", "");
    let wait = (false, "PreflightRunning", "Not yet.");
    says(&mut object, [(true, "Checking", "3 of 7 checks are done."), wait, fine]);
    insta::assert_snapshot!(line(&object), @"Preflight of 5.2.0: 3 of 7 checks are done. See `fairway upgrade --status-preflight`.");
    let found = (true, "RisksFound", "2 risks were found.");
    says(&mut object, [(true, "Monitoring", "Looking."), found, fine]);
    insta::assert_snapshot!(line(&object), @"Preflight of 5.2.0: 2 risks were found. See `fairway upgrade --status-preflight`.");
    let failed = (true, "ImagePullBackOff", "The image is not there.");
    says(&mut object, [(false, "Stopped", "Given up."), wait, failed]);
    insta::assert_snapshot!(line(&object), @"Preflight of 5.2.0: The image is not there. See `fairway upgrade --status-preflight`.");

    object.spec.desired_update = None;
    let kept = (true, "NotMonitored", "Results of 5.2.0 are two hours old.");
    says(&mut object, [(false, "NotRequested", "No."), kept, fine]);
    insta::assert_snapshot!(line(&object), @"Preflight: Results of 5.2.0 are two hours old. See `fairway upgrade --status-preflight`.");
}
