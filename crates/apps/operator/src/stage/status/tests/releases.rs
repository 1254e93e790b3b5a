//! Exact statuses during installation, update and reconciliation.

use std::collections::BTreeSet;

use fairway_api::reason::release_accepted;

use super::cluster::{Cluster, degraded, forbidden, target, unavailable, updating};
use super::*;
use crate::stage::rollout::Phase;
use crate::stage::target::{Capabilities, Target};

#[test]
fn compose_during_installation() {
    let mut cluster = Cluster::new();
    insta::assert_snapshot!(cluster.compose_text(0), @"
    towards 5.0.1 (hash of 5.0.1)
    Partial 5.0.1 0s–
    Available=False since 0s
    Failing=False since 0s
    Progressing=True since 0s | Working towards 5.0.1
    ");
    cluster.set_progress(Phase::Installing, 0, &[]);
    insta::assert_snapshot!(cluster.compose_text(1), @"
    towards 5.0.1 (hash of 5.0.1)
    Partial 5.0.1 0s–
    Available=False since 0s
    Failing=False since 0s
    Progressing=True since 0s | Working towards 5.0.1
    ");
    cluster.set_progress(Phase::Installing, 50, &[unavailable("network")]);
    insta::assert_snapshot!(cluster.compose_text(2), @"
    towards 5.0.1 (hash of 5.0.1)
    Partial 5.0.1 0s–
    Available=False since 0s
    Failing=True since 2s | ClusterOperatorNotAvailable | Cluster operator network is not available: Crash: loop
    Progressing=True since 0s | ClusterOperatorNotAvailable | Unable to apply 5.0.1: cluster operator network is not available: Crash: loop; 50 of 100 done (50% complete)
    ");
    cluster.set_progress(Phase::Reconciling, 100, &[]);
    insta::assert_snapshot!(cluster.compose_text(3), @"
    towards 5.0.1 (hash of 5.0.1)
    Completed 5.0.1 0s–3s
    Available=True since 3s | Done applying 5.0.1
    Failing=False since 3s
    Progressing=False since 3s | Cluster version is 5.0.1
    ");
}

#[test]
fn compose_of_installed_cluster_is_complete() {
    let mut cluster = Cluster::new();
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    cluster.target.capabilities = Capabilities {
        known: set(&["Console", "Insights", "Storage"]),
        enabled: set(&["Storage", "Console"]),
        implicit: set(&["Storage"]),
    };
    cluster.set_progress(Phase::Reconciling, 100, &[]);
    cluster.compose(3);
    insta::assert_snapshot!(yaml(cluster.object.status.as_ref().unwrap()), @r#"
    {
      "desired": {
        "version": "5.0.1",
        "image": "registry.example/release@sha256:e48643ad58cc89d0b4e29e15c80fcdb4c348bb6f771c7cddaa244773ce2f5f6b"
      },
      "history": [
        {
          "state": "Completed",
          "startedTime": "2026-01-01T00:00:03Z",
          "completionTime": "2026-01-01T00:00:03Z",
          "version": "5.0.1",
          "image": "registry.example/release@sha256:e48643ad58cc89d0b4e29e15c80fcdb4c348bb6f771c7cddaa244773ce2f5f6b",
          "verified": false
        }
      ],
      "observedGeneration": 1,
      "versionHash": "hash of 5.0.1",
      "capabilities": {
        "enabledCapabilities": [
          "Console",
          "Storage"
        ],
        "knownCapabilities": [
          "Console",
          "Insights",
          "Storage"
        ]
      },
      "conditions": [
        {
          "type": "ImplicitlyEnabledCapabilities",
          "status": "True",
          "lastTransitionTime": "2026-01-01T00:00:03Z",
          "reason": "CapabilitiesImplicitlyEnabled",
          "message": "The following capabilities could not be disabled: Storage"
        },
        {
          "type": "ReleaseAccepted",
          "status": "True",
          "lastTransitionTime": "2026-01-01T00:00:03Z",
          "reason": "PayloadLoaded",
          "message": "Payload loaded version=\"5.0.1\""
        },
        {
          "type": "Available",
          "status": "True",
          "lastTransitionTime": "2026-01-01T00:00:03Z",
          "message": "Done applying 5.0.1"
        },
        {
          "type": "Failing",
          "status": "False",
          "lastTransitionTime": "2026-01-01T00:00:03Z"
        },
        {
          "type": "Progressing",
          "status": "False",
          "lastTransitionTime": "2026-01-01T00:00:03Z",
          "message": "Cluster version is 5.0.1"
        },
        {
          "type": "RetrievedUpdates",
          "status": "False",
          "lastTransitionTime": "2026-01-01T00:00:03Z"
        }
      ],
      "availableUpdates": []
    }
    "#);
}

#[test]
fn compose_during_update() {
    let mut cluster = Cluster::installed();
    cluster.target = target("5.1.0");
    insta::assert_snapshot!(cluster.compose_text(60), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 60s | Working towards 5.1.0
    ");
    cluster.set_progress(Phase::Updating, 0, &[]);
    insta::assert_snapshot!(cluster.compose_text(61), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 60s | Working towards 5.1.0
    ");
    cluster.set_progress(Phase::Updating, 50, &[]);
    insta::assert_snapshot!(cluster.compose_text(62), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 60s | Working towards 5.1.0: 50 of 100 done (50% complete)
    ");
    cluster.set_progress(Phase::Updating, 99, &[updating("network"), updating("storage")]);
    insta::assert_snapshot!(cluster.compose_text(180), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 60s | ClusterOperatorsUpdating | Working towards 5.1.0: 99 of 100 done (99% complete), waiting on network, storage since 2026-01-01T00:02:00Z
    ");
    cluster.set_progress(Phase::Reconciling, 100, &[]);
    insta::assert_snapshot!(cluster.compose_text(240), @"
    towards 5.1.0 (hash of 5.1.0)
    Completed 5.1.0 60s–240s
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.1.0
    Failing=False since 0s
    Progressing=False since 240s | Cluster version is 5.1.0
    ");
}

#[test]
fn compose_with_degraded_operator_reports_failing() {
    let mut cluster = Cluster::updating();
    cluster.set_progress(Phase::Updating, 50, &[degraded("storage")]);
    insta::assert_snapshot!(cluster.compose_failing(120), @"
    Failing=True since 120s | ClusterOperatorDegraded | Cluster operator storage is degraded: Slow: disks
    Progressing=True since 60s | Working towards 5.1.0: 50 of 100 done (50% complete)
    ");
    cluster.set_progress(Phase::Updating, 60, &[degraded("storage"), updating("network")]);
    insta::assert_snapshot!(cluster.compose_failing(180), @"
    Failing=True since 120s | ClusterOperatorDegraded | Cluster operator storage is degraded: Slow: disks
    Progressing=True since 60s | ClusterOperatorUpdating | Working towards 5.1.0: 60 of 100 done (60% complete), waiting on network since 2026-01-01T00:02:00Z
    ");
    cluster.set_progress(Phase::Reconciling, 100, &[degraded("storage")]);
    insta::assert_snapshot!(cluster.compose_failing(240), @"
    Failing=True since 120s | ClusterOperatorDegraded | Cluster operator storage is degraded: Slow: disks
    Progressing=False since 240s | ClusterOperatorDegraded | Error while reconciling 5.1.0: cluster operator storage is degraded: Slow: disks
    ");
    cluster.set_progress(Phase::Reconciling, 100, &[degraded("storage"), degraded("network")]);
    insta::assert_snapshot!(cluster.compose_failing(300), @"
    Failing=True since 120s | ClusterOperatorsDegraded | Cluster operators network, storage are degraded: network: Slow: disks; storage: Slow: disks
    Progressing=False since 240s | ClusterOperatorsDegraded | Error while reconciling 5.1.0: cluster operators network, storage are degraded: network: Slow: disks; storage: Slow: disks
    ");
    cluster.set_progress(Phase::Reconciling, 100, &[]);
    insta::assert_snapshot!(cluster.compose_failing(360), @"
    Failing=False since 360s
    Progressing=False since 240s | Cluster version is 5.1.0
    ");
}

#[test]
fn compose_with_blocking_failures_names_them() {
    let mut cluster = Cluster::updating();
    cluster.set_progress(Phase::Updating, 50, &[unavailable("network"), degraded("storage")]);
    insta::assert_snapshot!(cluster.compose_failing(120), @"
    Failing=True since 120s | ClusterOperatorNotAvailable | Cluster operator network is not available: Crash: loop
    Progressing=True since 60s | ClusterOperatorNotAvailable | Unable to apply 5.1.0: cluster operator network is not available: Crash: loop; 50 of 100 done (50% complete)
    ");
    cluster.set_progress(Phase::Updating, 50, &[unavailable("network"), unavailable("dns")]);
    insta::assert_snapshot!(cluster.compose_failing(130), @"
    Failing=True since 120s | ClusterOperatorsNotAvailable | Cluster operators dns, network are not available: dns: Crash: loop; network: Crash: loop
    Progressing=True since 60s | ClusterOperatorsNotAvailable | Unable to apply 5.1.0: cluster operators dns, network are not available: dns: Crash: loop; network: Crash: loop; 50 of 100 done (50% complete)
    ");
    let objects = ["configmap \"a/b\" (3 of 100)", "deployment \"c/d\" (7 of 100)"];
    let failures = objects.map(forbidden);
    cluster.set_progress(Phase::Updating, 2, &[&failures[..], &[updating("dns")]].concat());
    insta::assert_snapshot!(cluster.compose_failing(140), @r#"
    Failing=True since 120s | MultipleErrors | Several errors block the rollout:
    * Could not update configmap "a/b" (3 of 100): the server has forbidden updates to it
    * Could not update deployment "c/d" (7 of 100): the server has forbidden updates to it
    Progressing=True since 60s | MultipleErrors | Unable to apply 5.1.0: several errors block the rollout: Could not update configmap "a/b" (3 of 100): the server has forbidden updates to it; Could not update deployment "c/d" (7 of 100): the server has forbidden updates to it; 2 of 100 done (2% complete)
    "#);
    cluster.set_progress(Phase::Updating, 50, &[updating("dns")]);
    insta::assert_snapshot!(cluster.compose_failing(150), @"
    Failing=False since 150s
    Progressing=True since 60s | ClusterOperatorUpdating | Working towards 5.1.0: 50 of 100 done (50% complete), waiting on dns since 2026-01-01T00:02:00Z
    ");
}

#[test]
fn compose_with_slow_operator_is_failing_unknown() {
    let mut cluster = Cluster::updating();
    cluster.set_progress(Phase::Updating, 50, &[updating("network"), updating("machine-config")]);
    insta::assert_snapshot!(cluster.compose_failing(120 + 30 * 60), @"
    Failing=False since 0s
    Progressing=True since 60s | ClusterOperatorsUpdating | Working towards 5.1.0: 50 of 100 done (50% complete), waiting on machine-config, network since 2026-01-01T00:02:00Z
    ");
    insta::assert_snapshot!(cluster.compose_failing(121 + 30 * 60), @"
    Failing=Unknown since 1921s | SlowClusterOperator | waiting on network over 30 minutes which is longer than expected
    Progressing=True since 60s | ClusterOperatorsUpdating | Working towards 5.1.0: 50 of 100 done (50% complete), waiting on network over 30 minutes which is longer than expected
    ");
    insta::assert_snapshot!(cluster.compose_failing(121 + 90 * 60), @"
    Failing=Unknown since 1921s | SlowClusterOperator | waiting on network over 30 minutes and machine-config over 90 minutes which is longer than expected
    Progressing=True since 60s | ClusterOperatorsUpdating | Working towards 5.1.0: 50 of 100 done (50% complete), waiting on network over 30 minutes and machine-config over 90 minutes which is longer than expected
    ");
}

#[test]
fn compose_with_failure_after_completion_keeps_completed() {
    let mut cluster = Cluster::installed();
    cluster.set_progress(Phase::Reconciling, 100, &[unavailable("network")]);
    insta::assert_snapshot!(cluster.compose_text(120), @"
    towards 5.0.1 (hash of 5.0.1)
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=True since 120s | ClusterOperatorNotAvailable | Cluster operator network is not available: Crash: loop
    Progressing=False since 0s | ClusterOperatorNotAvailable | Error while reconciling 5.0.1: cluster operator network is not available: Crash: loop
    ");
}

#[test]
fn compose_with_refused_release_changes_only_release_accepted() {
    let mut cluster = Cluster::installed();
    let before = cluster.compose_text(60);
    cluster.target.release_accepted = OperatorCondition::new(release_accepted::TYPE, false)
        .reason(release_accepted::UNACCEPTED_RISKS)
        .message("SlowDisks is not accepted");
    assert_eq!(cluster.compose_text(120), before);
    let status = cluster.object.status.as_ref().unwrap();
    let accepted = status.conditions.find(release_accepted::TYPE).unwrap();
    assert_eq!(accepted.message.as_deref(), Some("SlowDisks is not accepted"));
}

#[test]
fn compose_with_invalid_spec_reports_it() {
    let mut cluster = Cluster::installed();
    cluster.object.spec.upstream = Some("not a url".to_owned());
    insta::assert_snapshot!(cluster.compose_text(60), @"
    towards 5.0.1 (hash of 5.0.1)
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=False since 0s | InvalidClusterVersion | Stopped at 5.0.1: the cluster version is invalid
    ");
    cluster.target = target("5.1.0");
    cluster.set_progress(Phase::Updating, 50, &[]);
    insta::assert_snapshot!(cluster.compose_text(120), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 120s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 120s | InvalidClusterVersion | Working towards 5.1.0: 50 of 100 done (50% complete); the cluster version is invalid
    ");
}

#[test]
fn compose_after_restart_during_update_keeps_status() {
    let mut cluster = Cluster::updating();
    cluster.target.accepted_risks = Some("SlowDisks was accepted".to_owned());
    cluster.set_progress(Phase::Updating, 50, &[]);
    let before = cluster.compose_text(120);

    // The same operator after a restart, without outputs.
    let status = composed(&cluster.object, None, None, 121);
    assert_eq!(cluster.object.status, Some(status));
    cluster.rollout = None;
    cluster.target = target("5.1.0");
    assert_eq!(cluster.compose_text(122), before);

    // The operator of the new release.
    let own = OwnRelease { release: objects::release("5.1.0"), ..own() };
    let mut outputs = outputs(&own);
    assert_eq!(cluster.object.status, Some(compose(&cluster.object, outputs, at(123))));
    outputs.target = Some(&cluster.target);
    assert_eq!(cluster.object.status, Some(compose(&cluster.object, outputs, at(124))));
    cluster.set_progress(Phase::Reconciling, 100, &[]);
    insta::assert_snapshot!(cluster.compose_text(130), @"
    towards 5.1.0 (hash of 5.1.0)
    Completed 5.1.0 60s–130s
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.1.0
    Failing=False since 0s
    Progressing=False since 130s | Cluster version is 5.1.0
    ");
    let newest = &cluster.object.status.as_ref().unwrap().history[0];
    assert_eq!(newest.accepted_risks.as_deref(), Some("SlowDisks was accepted"));
    assert!(newest.verified);
}

#[test]
fn compose_ignores_rollout_of_another_release() {
    let mut cluster = Cluster::installed();
    cluster.target = target("5.1.0");
    insta::assert_snapshot!(cluster.compose_text(60), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 60s | Working towards 5.1.0
    ");
}

#[test]
fn compose_of_withdrawn_update_adds_entry() {
    let mut cluster = Cluster::updating();
    cluster.set_progress(Phase::Updating, 50, &[]);
    cluster.compose(120);
    cluster.target = target("5.0.1");
    cluster.set_progress(Phase::Updating, 10, &[]);
    insta::assert_snapshot!(cluster.compose_text(180), @"
    towards 5.0.1 (hash of 5.0.1)
    Partial 5.0.1 180s–
    Partial 5.1.0 60s–180s
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 60s | Working towards 5.0.1: 10 of 100 done (10% complete)
    ");
}

#[test]
fn compose_after_update_drops_updates() {
    let mut cluster = Cluster::installed();
    let updates = |cluster: &Cluster| {
        let (own, risks) = (own(), recommending(&["5.1.0"]));
        let (target, rollout) = (Some(&cluster.target), None);
        let outputs = StageOutputs { risks: Some(&risks), target, rollout, ..outputs(&own) };
        compose(&cluster.object, outputs, at(60)).available_updates
    };
    assert_eq!(updates(&cluster), Some(vec![objects::release("5.1.0")]));
    cluster.target = target("5.1.0");
    assert_eq!(updates(&cluster), None, "the updates are from the operator's own release");
}

#[test]
fn compose_without_image_is_failing() {
    let mut cluster = Cluster::new();
    let payload = Arc::make_mut(&mut cluster.target.payload);
    payload.release.image.clear();
    cluster.compose(0);
    let status = cluster.object.status.as_ref().unwrap();
    assert_eq!(status.history, []);
    let failing = status.conditions.find("Failing").unwrap();
    assert_eq!(failing.reason.as_deref(), Some("NoDesiredImage"));
}

#[test]
fn compose_omits_illegal_capability_names() {
    let mut cluster = Cluster::installed();
    let names = [String::new(), "x".repeat(65), "Console".to_owned()];
    cluster.target.capabilities.known = BTreeSet::from(names);
    cluster.compose(60);
    let capabilities = cluster.object.status.unwrap().capabilities.unwrap();
    assert_eq!(capabilities.known_capabilities, ["Console"]);
}

#[test]
fn compose_observes_generation_of_all_stages() {
    let own = own();
    for (current, of_risks, of_target, observed) in [
        (7, Some(6), Some(7), 6),
        (7, Some(7), Some(6), 6),
        (7, Some(7), Some(7), 7),
        (7, None, Some(7), 1),
        (7, Some(7), None, 1),
        // A deleted object of the same name.
        (1, Some(5), Some(5), 1),
    ] {
        let mut object = Cluster::installed().object;
        object.metadata.generation = Some(current);
        let risks = of_risks.map(|generation| Risks { generation, ..Risks::default() });
        let target = of_target.map(|generation| Target { generation, ..target("5.0.1") });
        let outputs =
            StageOutputs { risks: risks.as_ref(), target: target.as_ref(), ..outputs(&own) };
        let status = compose(&object, outputs, at(60));
        assert_eq!(status.observed_generation, observed, "{of_risks:?} {of_target:?}");
    }
}
