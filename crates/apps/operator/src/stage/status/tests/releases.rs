//! What a status says while a cluster is installed, updated and kept, to the letter.

use std::collections::BTreeSet;

use fairway_api::reason::release_accepted;

use super::cluster::{Cluster, degraded, forbidden, target, unavailable, updating};
use super::*;
use crate::stage::rollout::Phase;
use crate::stage::target::{Capabilities, Target};

#[test]
fn an_installation() {
    let mut cluster = Cluster::new();
    insta::assert_snapshot!(cluster.tell(0), @"
    towards 5.0.1 (hash of 5.0.1)
    Partial 5.0.1 0s–
    Available=False since 0s
    Failing=False since 0s
    Progressing=True since 0s | Working towards 5.0.1
    ");
    cluster.rolls(Phase::Installing, 0, &[]);
    insta::assert_snapshot!(cluster.tell(1), @"
    towards 5.0.1 (hash of 5.0.1)
    Partial 5.0.1 0s–
    Available=False since 0s
    Failing=False since 0s
    Progressing=True since 0s | Working towards 5.0.1
    ");
    cluster.rolls(Phase::Installing, 50, &[unavailable("network")]);
    insta::assert_snapshot!(cluster.tell(2), @"
    towards 5.0.1 (hash of 5.0.1)
    Partial 5.0.1 0s–
    Available=False since 0s
    Failing=True since 2s | ClusterOperatorNotAvailable | Cluster operator network is not available: Crash: loop
    Progressing=True since 0s | ClusterOperatorNotAvailable | Unable to apply 5.0.1: cluster operator network is not available: Crash: loop; 50 of 100 done (50% complete)
    ");
    cluster.rolls(Phase::Reconciling, 100, &[]);
    insta::assert_snapshot!(cluster.tell(3), @"
    towards 5.0.1 (hash of 5.0.1)
    Completed 5.0.1 0s–3s
    Available=True since 3s | Done applying 5.0.1
    Failing=False since 3s
    Progressing=False since 3s | Cluster version is 5.0.1
    ");
}

#[test]
fn the_whole_status_of_a_cluster_that_has_its_release() {
    let mut cluster = Cluster::new();
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    cluster.target.capabilities = Capabilities {
        known: set(&["Console", "Insights", "Storage"]),
        enabled: set(&["Storage", "Console"]),
        implicit: set(&["Storage"]),
    };
    cluster.rolls(Phase::Reconciling, 100, &[]);
    cluster.look(3);
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
fn an_update() {
    let mut cluster = Cluster::installed();
    cluster.target = target("5.1.0");
    insta::assert_snapshot!(cluster.tell(60), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 60s | Working towards 5.1.0
    ");
    cluster.rolls(Phase::Updating, 0, &[]);
    insta::assert_snapshot!(cluster.tell(61), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 60s | Working towards 5.1.0
    ");
    cluster.rolls(Phase::Updating, 50, &[]);
    insta::assert_snapshot!(cluster.tell(62), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 60s | Working towards 5.1.0: 50 of 100 done (50% complete)
    ");
    cluster.rolls(Phase::Updating, 99, &[updating("network"), updating("storage")]);
    insta::assert_snapshot!(cluster.tell(180), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 60s | ClusterOperatorsUpdating | Working towards 5.1.0: 99 of 100 done (99% complete), waiting on network, storage since 2026-01-01T00:02:00Z
    ");
    cluster.rolls(Phase::Reconciling, 100, &[]);
    insta::assert_snapshot!(cluster.tell(240), @"
    towards 5.1.0 (hash of 5.1.0)
    Completed 5.1.0 60s–240s
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.1.0
    Failing=False since 0s
    Progressing=False since 240s | Cluster version is 5.1.0
    ");
}

#[test]
fn a_degraded_operator_holds_up_nothing() {
    let mut cluster = Cluster::updating();
    cluster.rolls(Phase::Updating, 50, &[degraded("storage")]);
    insta::assert_snapshot!(cluster.tell(120), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=True since 120s | ClusterOperatorDegraded | Cluster operator storage is degraded: Slow: disks
    Progressing=True since 60s | Working towards 5.1.0: 50 of 100 done (50% complete)
    ");
    cluster.rolls(Phase::Updating, 60, &[degraded("storage"), updating("network")]);
    insta::assert_snapshot!(cluster.tell(180), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=True since 120s | ClusterOperatorDegraded | Cluster operator storage is degraded: Slow: disks
    Progressing=True since 60s | ClusterOperatorUpdating | Working towards 5.1.0: 60 of 100 done (60% complete), waiting on network since 2026-01-01T00:02:00Z
    ");
    cluster.rolls(Phase::Reconciling, 100, &[degraded("storage")]);
    insta::assert_snapshot!(cluster.tell(240), @"
    towards 5.1.0 (hash of 5.1.0)
    Completed 5.1.0 60s–240s
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.1.0
    Failing=True since 120s | ClusterOperatorDegraded | Cluster operator storage is degraded: Slow: disks
    Progressing=False since 240s | ClusterOperatorDegraded | Error while reconciling 5.1.0: cluster operator storage is degraded: Slow: disks
    ");
    cluster.rolls(Phase::Reconciling, 100, &[degraded("storage"), degraded("network")]);
    insta::assert_snapshot!(cluster.tell(300), @"
    towards 5.1.0 (hash of 5.1.0)
    Completed 5.1.0 60s–240s
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.1.0
    Failing=True since 120s | ClusterOperatorsDegraded | Cluster operators network, storage are degraded: network: Slow: disks; storage: Slow: disks
    Progressing=False since 240s | ClusterOperatorsDegraded | Error while reconciling 5.1.0: cluster operators network, storage are degraded: network: Slow: disks; storage: Slow: disks
    ");
    cluster.rolls(Phase::Reconciling, 100, &[]);
    insta::assert_snapshot!(cluster.tell(360), @"
    towards 5.1.0 (hash of 5.1.0)
    Completed 5.1.0 60s–240s
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.1.0
    Failing=False since 360s
    Progressing=False since 240s | Cluster version is 5.1.0
    ");
}

#[test]
fn what_stands_in_the_way_is_named() {
    let mut cluster = Cluster::updating();
    cluster.rolls(Phase::Updating, 50, &[unavailable("network"), degraded("storage")]);
    insta::assert_snapshot!(cluster.tell(120), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=True since 120s | ClusterOperatorNotAvailable | Cluster operator network is not available: Crash: loop
    Progressing=True since 60s | ClusterOperatorNotAvailable | Unable to apply 5.1.0: cluster operator network is not available: Crash: loop; 50 of 100 done (50% complete)
    ");
    cluster.rolls(Phase::Updating, 50, &[unavailable("network"), unavailable("dns")]);
    insta::assert_snapshot!(cluster.tell(130), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=True since 120s | ClusterOperatorsNotAvailable | Cluster operators dns, network are not available: dns: Crash: loop; network: Crash: loop
    Progressing=True since 60s | ClusterOperatorsNotAvailable | Unable to apply 5.1.0: cluster operators dns, network are not available: dns: Crash: loop; network: Crash: loop; 50 of 100 done (50% complete)
    ");
    let objects = ["configmap \"a/b\" (3 of 100)", "deployment \"c/d\" (7 of 100)"];
    let failures = objects.map(forbidden);
    cluster.rolls(Phase::Updating, 2, &[&failures[..], &[updating("dns")]].concat());
    insta::assert_snapshot!(cluster.tell(140), @r#"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=True since 120s | MultipleErrors | Multiple errors are preventing progress:
    * Could not update configmap "a/b" (3 of 100): the server has forbidden updates to it
    * Could not update deployment "c/d" (7 of 100): the server has forbidden updates to it
    Progressing=True since 60s | MultipleErrors | Unable to apply 5.1.0: multiple errors are preventing progress: Could not update configmap "a/b" (3 of 100): the server has forbidden updates to it; Could not update deployment "c/d" (7 of 100): the server has forbidden updates to it; 2 of 100 done (2% complete)
    "#);
    cluster.rolls(Phase::Updating, 50, &[updating("dns")]);
    insta::assert_snapshot!(cluster.tell(150), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 150s
    Progressing=True since 60s | ClusterOperatorUpdating | Working towards 5.1.0: 50 of 100 done (50% complete), waiting on dns since 2026-01-01T00:02:00Z
    ");
}

#[test]
fn a_slow_operator_may_be_failing() {
    let mut cluster = Cluster::updating();
    cluster.rolls(Phase::Updating, 50, &[updating("network"), updating("machine-config")]);
    insta::assert_snapshot!(cluster.tell(120 + 30 * 60), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 60s | ClusterOperatorsUpdating | Working towards 5.1.0: 50 of 100 done (50% complete), waiting on machine-config, network since 2026-01-01T00:02:00Z
    ");
    insta::assert_snapshot!(cluster.tell(121 + 30 * 60), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=Unknown since 1921s | SlowClusterOperator | waiting on network over 30 minutes which is longer than expected
    Progressing=True since 60s | ClusterOperatorsUpdating | Working towards 5.1.0: 50 of 100 done (50% complete), waiting on network over 30 minutes which is longer than expected
    ");
    insta::assert_snapshot!(cluster.tell(121 + 90 * 60), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=Unknown since 1921s | SlowClusterOperator | waiting on network over 30 minutes and machine-config over 90 minutes which is longer than expected
    Progressing=True since 60s | ClusterOperatorsUpdating | Working towards 5.1.0: 50 of 100 done (50% complete), waiting on network over 30 minutes and machine-config over 90 minutes which is longer than expected
    ");
}

#[test]
fn what_breaks_later_is_told_and_the_release_stays_completed() {
    let mut cluster = Cluster::installed();
    cluster.rolls(Phase::Reconciling, 100, &[unavailable("network")]);
    insta::assert_snapshot!(cluster.tell(120), @"
    towards 5.0.1 (hash of 5.0.1)
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=True since 120s | ClusterOperatorNotAvailable | Cluster operator network is not available: Crash: loop
    Progressing=False since 0s | ClusterOperatorNotAvailable | Error while reconciling 5.0.1: cluster operator network is not available: Crash: loop
    ");
}

#[test]
fn a_refused_release_changes_nothing_else() {
    let mut cluster = Cluster::installed();
    let before = cluster.tell(60);
    cluster.target.release_accepted = OperatorCondition::new(release_accepted::TYPE, false)
        .reason(release_accepted::UNACCEPTED_RISKS)
        .message("SlowDisks is not accepted");
    assert_eq!(cluster.tell(120), before);
    let status = cluster.object.status.as_ref().unwrap();
    let accepted = status.conditions.find(release_accepted::TYPE).unwrap();
    assert_eq!(accepted.message.as_deref(), Some("SlowDisks is not accepted"));
}

#[test]
fn an_invalid_spec_is_told() {
    let mut cluster = Cluster::installed();
    cluster.object.spec.upstream = Some("not a url".to_owned());
    insta::assert_snapshot!(cluster.tell(60), @"
    towards 5.0.1 (hash of 5.0.1)
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=False since 0s | InvalidClusterVersion | Stopped at 5.0.1: the cluster version is invalid
    ");
    cluster.target = target("5.1.0");
    cluster.rolls(Phase::Updating, 50, &[]);
    insta::assert_snapshot!(cluster.tell(120), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 120s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 120s | InvalidClusterVersion | Working towards 5.1.0: 50 of 100 done (50% complete); the cluster version is invalid
    ");
}

#[test]
fn a_restart_in_the_middle_of_an_update_is_not_seen() {
    let mut cluster = Cluster::updating();
    cluster.target.accepted_risks = Some("SlowDisks was accepted".to_owned());
    cluster.rolls(Phase::Updating, 50, &[]);
    let before = cluster.tell(120);

    // The same operator again, which knows nothing yet.
    let status = composed(&cluster.object, None, None, 121);
    assert_eq!(cluster.object.status, Some(status));
    cluster.rollout = None;
    cluster.target = target("5.1.0");
    assert_eq!(cluster.tell(122), before);

    // The operator of the new release.
    let own = OwnRelease { release: objects::release("5.1.0"), ..own() };
    let mut facts = Facts {
        own: &own,
        updates: None,
        preflight: None,
        risks: None,
        target: None,
        rollout: None,
    };
    assert_eq!(cluster.object.status, Some(compose(&cluster.object, facts, at(123))));
    facts.target = Some(&cluster.target);
    assert_eq!(cluster.object.status, Some(compose(&cluster.object, facts, at(124))));
    cluster.rolls(Phase::Reconciling, 100, &[]);
    insta::assert_snapshot!(cluster.tell(130), @"
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
fn what_is_said_of_another_release_does_not_count() {
    let mut cluster = Cluster::installed();
    cluster.target = target("5.1.0");
    insta::assert_snapshot!(cluster.tell(60), @"
    towards 5.1.0 (hash of 5.1.0)
    Partial 5.1.0 60s–
    Completed 5.0.1 0s–0s
    Available=True since 0s | Done applying 5.0.1
    Failing=False since 0s
    Progressing=True since 60s | Working towards 5.1.0
    ");
}

#[test]
fn a_withdrawn_update_goes_back() {
    let mut cluster = Cluster::updating();
    cluster.rolls(Phase::Updating, 50, &[]);
    cluster.look(120);
    cluster.target = target("5.0.1");
    cluster.rolls(Phase::Updating, 10, &[]);
    insta::assert_snapshot!(cluster.tell(180), @"
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
fn updates_of_a_release_that_is_left_are_forgotten() {
    let mut cluster = Cluster::installed();
    let updates = |cluster: &Cluster| {
        let (own, risks) = (own(), recommending(&["5.1.0"]));
        let (target, rollout) = (Some(&cluster.target), None);
        let facts = Facts {
            own: &own,
            updates: None,
            preflight: None,
            risks: Some(&risks),
            target,
            rollout,
        };
        compose(&cluster.object, facts, at(60)).available_updates
    };
    assert_eq!(updates(&cluster), Some(vec![objects::release("5.1.0")]));
    cluster.target = target("5.1.0");
    assert_eq!(updates(&cluster), None, "those were of the release that the operator is of");
}

#[test]
fn without_an_image_nothing_can_be_rolled_out() {
    let mut cluster = Cluster::new();
    let payload = Arc::make_mut(&mut cluster.target.payload);
    payload.release.image.clear();
    cluster.look(0);
    let status = cluster.object.status.as_ref().unwrap();
    assert_eq!(status.history, []);
    let failing = status.conditions.find("Failing").unwrap();
    assert_eq!(failing.reason.as_deref(), Some("NoDesiredImage"));
}

#[test]
fn names_that_no_server_takes_are_left_out() {
    let mut cluster = Cluster::installed();
    let names = [String::new(), "x".repeat(65), "Console".to_owned()];
    cluster.target.capabilities.known = BTreeSet::from(names);
    cluster.look(60);
    let capabilities = cluster.object.status.unwrap().capabilities.unwrap();
    assert_eq!(capabilities.known_capabilities, ["Console"]);
}

#[test]
fn a_generation_is_observed_when_all_have_seen_it() {
    let own = own();
    for (current, of_risks, of_target, observed) in [
        (7, Some(6), Some(7), 6),
        (7, Some(7), Some(6), 6),
        (7, Some(7), Some(7), 7),
        (7, None, Some(7), 1),
        (7, Some(7), None, 1),
        // What was seen was another object of this name.
        (1, Some(5), Some(5), 1),
    ] {
        let mut object = Cluster::installed().object;
        object.metadata.generation = Some(current);
        let risks = of_risks.map(|generation| Risks { generation, ..Risks::default() });
        let target = of_target.map(|generation| Target { generation, ..target("5.0.1") });
        let facts = Facts {
            own: &own,
            updates: None,
            preflight: None,
            risks: risks.as_ref(),
            target: target.as_ref(),
            rollout: None,
        };
        let status = compose(&object, facts, at(60));
        assert_eq!(status.observed_generation, observed, "{of_risks:?} {of_target:?}");
    }
}
