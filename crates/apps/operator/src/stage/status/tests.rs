mod cluster;
mod releases;

use std::collections::BTreeMap;
use std::sync::Arc;

use fairway_api::cluster_version::{
    AcceptRisk, Architecture, ClusterVersionStatus, ConditionalUpdate, ConditionalUpdateRisk,
    Release, Update, UpdateHistory, UpdateMode, UpdateState,
};
use fairway_api::reason::retrieved_updates;
use fairway_api::{ClusterVersion, Conditions as _, OperatorCondition};
use fairway_risk::{CandidateUpdate, LedgerEvaluation};
use fairway_testkit::objects;
use jiff::Timestamp;
use tokio::sync::watch;

use super::compose::{StageOutputs, compose};
use super::{Inputs, LastWrite};
use crate::own_release::OwnRelease;
use crate::stage::preflight::Preflight;
use crate::stage::risks::Risks;
use crate::stage::updates::Updates;
use cluster::Cluster;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + second).unwrap()
}

fn cluster_version() -> ClusterVersion {
    let mut object = objects::cluster_version();
    object.metadata.generation = Some(1);
    object
}

fn own() -> OwnRelease {
    OwnRelease {
        release: objects::release("5.0.1"),
        architecture: "amd64".to_owned(),
        created: None,
    }
}

fn offering(versions: &[&str]) -> Updates {
    let candidate = |version: &&str| CandidateUpdate {
        release: objects::release(version),
        ..CandidateUpdate::default()
    };
    Updates {
        generation: 1,
        candidates: versions.iter().map(candidate).collect(),
        retrieved: OperatorCondition::new(retrieved_updates::TYPE, true),
        fresh: Some(at(0)),
        ..Updates::default()
    }
}

fn recommending(versions: &[&str]) -> Risks {
    let available_updates = versions.iter().map(|version| objects::release(version)).collect();
    let evaluated = LedgerEvaluation { available_updates, ..LedgerEvaluation::default() };
    Risks { generation: 1, evaluated, ..Risks::default() }
}

/// No output of any stage.
fn outputs(own: &OwnRelease) -> StageOutputs<'_> {
    StageOutputs { own, updates: None, preflight: None, risks: None, target: None, rollout: None }
}

fn composed(
    object: &ClusterVersion,
    updates: Option<&Updates>,
    risks: Option<&Risks>,
    second: i64,
) -> ClusterVersionStatus {
    let own = own();
    compose(object, StageOutputs { updates, risks, ..outputs(&own) }, at(second))
}

fn yaml(status: &ClusterVersionStatus) -> String {
    serde_json::to_string_pretty(status).unwrap()
}

#[test]
fn compose_without_target_shows_release_of_history() {
    let mirrored = own().release.image.replace("registry.example", "mirror.example");
    let other = objects::release("5.1.0");
    for state in [UpdateState::Partial, UpdateState::Completed] {
        for (image, expected) in [(&mirrored, own().release), (&other.image, other.clone())] {
            let newest = UpdateHistory {
                image: image.clone(),
                state: state.clone(),
                ..UpdateHistory::default()
            };
            let mut object = cluster_version();
            object.status = Some(ClusterVersionStatus {
                desired: other.clone(),
                history: vec![newest],
                ..ClusterVersionStatus::default()
            });
            let shown = composed(&object, None, None, 0).desired;
            assert_eq!(shown.image, expected.image, "{image} {state:?}");
        }
    }
}

#[test]
fn compose_first_status_is_complete() {
    let (updates, risks) = (offering(&["5.0.2"]), recommending(&["5.0.2"]));
    let status = composed(&cluster_version(), Some(&updates), Some(&risks), 0);
    insta::assert_snapshot!(yaml(&status), @r#"
    {
      "desired": {
        "version": "5.0.1",
        "image": "registry.example/release@sha256:e48643ad58cc89d0b4e29e15c80fcdb4c348bb6f771c7cddaa244773ce2f5f6b"
      },
      "observedGeneration": 0,
      "versionHash": "",
      "conditions": [
        {
          "type": "RetrievedUpdates",
          "status": "True",
          "lastTransitionTime": "2026-01-01T00:00:00Z"
        }
      ],
      "availableUpdates": [
        {
          "version": "5.0.2",
          "image": "registry.example/release@sha256:dee6486505f9c0ef5cd191be52cc8a4580d4ae2f8a1c0fb33e1e60a38caba783"
        }
      ]
    }
    "#);
}

#[test]
fn compose_without_outputs_keeps_status() {
    let mut object = cluster_version();
    let before = ClusterVersionStatus {
        available_updates: Some(vec![objects::release("5.0.2")]),
        ..objects::status_at("5.0.1")
    };
    object.status = Some(before.clone());
    let status = composed(&object, None, None, 60);
    assert_eq!(status, before);

    object.status = None;
    let status = composed(&object, None, None, 60);
    assert_eq!(status.available_updates, None, "null: updates are not known yet");
    assert_eq!(status.desired, own().release);
}

#[test]
fn compose_again_changes_nothing() {
    let (updates, risks) = (offering(&["5.0.2"]), recommending(&["5.0.2"]));
    let mut object = cluster_version();
    object.spec.upstream = Some("not a url".to_owned());
    object.status = Some(composed(&object, Some(&updates), Some(&risks), 0));
    let again = composed(&object, Some(&updates), Some(&risks), 3600);
    assert_eq!(object.status, Some(again), "times change only with their values");
}

#[test]
fn compose_for_another_release_drops_updates() {
    let mut object = objects::cluster_version();
    let newest = UpdateHistory { image: own().release.image, ..UpdateHistory::default() };
    let before = ClusterVersionStatus {
        history: vec![newest],
        available_updates: Some(vec![objects::release("5.0.1")]),
        conditional_updates: vec![ConditionalUpdate::default()],
        conditional_update_risks: vec![ConditionalUpdateRisk::default()],
        ..objects::status_at("5.0.0")
    };
    object.status = Some(before);
    let status = composed(&object, None, None, 0);
    assert_eq!(status.available_updates, None);
    assert_eq!(status.conditional_updates, []);
    assert_eq!(status.conditional_update_risks, []);
}

#[test]
fn compose_without_updates_keeps_invalid() {
    let mut object = objects::cluster_version();
    object.metadata.generation = Some(3);
    object.spec.desired_update = Some(objects::update_to("5.9.9"));
    object.status =
        Some(ClusterVersionStatus { observed_generation: 3, ..objects::status_at("5.0.1") });
    let updates = Updates { generation: 3, ..offering(&["5.0.2"]) };
    let risks = Risks { generation: 3, ..Risks::default() };
    let invalid = composed(&object, Some(&updates), Some(&risks), 0);
    assert!(invalid.conditions.find("Invalid").is_some());
    object.status = Some(invalid.clone());
    assert_eq!(composed(&object, None, None, 60), invalid);

    object.metadata.generation = Some(4);
    object.spec.desired_update = Some(objects::update_to("5.0.2"));
    let status = composed(&object, None, None, 60);
    assert!(status.conditions.find("Invalid").is_none(), "it was about another request");
}

#[test]
fn compose_drops_retired_conditions() {
    let mut object = cluster_version();
    let mut before = objects::status_at("5.0.1");
    before.conditions.set(OperatorCondition::new("UpgradeableAdminAckRequired", false), at(0));
    before.conditions.set(OperatorCondition::new("Upgradeable", false), at(0));
    object.status = Some(before);
    let types = |status: ClusterVersionStatus| {
        status.conditions.iter().map(|condition| condition.type_.clone()).collect::<Vec<_>>()
    };
    let risks = recommending(&[]);
    let status = composed(&object, None, Some(&risks), 0);
    assert_eq!(types(status), ["Available", "Failing", "Progressing"]);
}

fn invalid(update: Update, updates: &Updates) -> Option<String> {
    let mut object = cluster_version();
    object.spec.desired_update = Some(update);
    object.status = Some(objects::status_at("5.0.1"));
    let status = composed(&object, Some(updates), None, 0);
    status.conditions.find("Invalid").and_then(|condition| condition.message.clone())
}

#[test]
fn invalid_if_version_is_not_offered() {
    let updates = offering(&["5.0.2"]);
    for version in ["5.0.2", "5.0.1"] {
        assert_eq!(invalid(objects::update_to(version), &updates), None, "{version}");
    }
    let with_image = Update { image: Some("any".to_owned()), ..objects::update_to("5.9.9") };
    assert_eq!(invalid(with_image, &updates), None);
    let accepting = Update {
        accept_risks: vec![AcceptRisk { name: "SomeRisk".to_owned(), ..AcceptRisk::default() }],
        ..Update::default()
    };
    assert_eq!(invalid(accepting, &updates), None);

    insta::assert_snapshot!(invalid(objects::update_to("5.9.9"), &updates).unwrap(), @r#"The cluster version is invalid: spec.desiredUpdate.version: "5.9.9" is not an available update in this channel; list updates with `fairway upgrade --include-not-recommended`, or set the image as well"#);
    let preflight = Update { mode: Some(UpdateMode::Preflight), ..objects::update_to("5.9.9") };
    assert!(invalid(preflight, &updates).is_some(), "an unknown release");

    let twice = Updates {
        candidates: ["one", "two"]
            .map(|image| CandidateUpdate {
                release: Release { image: image.to_owned(), ..objects::release("5.0.2") },
                ..CandidateUpdate::default()
            })
            .into(),
        ..updates.clone()
    };
    insta::assert_snapshot!(invalid(objects::update_to("5.0.2"), &twice).unwrap(), @r#"The cluster version is invalid: spec.desiredUpdate.version: 2 releases have version "5.0.2"; set the image as well"#);

    let stale = Updates { fresh: None, ..updates };
    assert_eq!(invalid(objects::update_to("5.9.9"), &stale), None, "updates are not known");
}

#[test]
fn invalid_if_multi_architecture_release_is_missing() {
    let request =
        || Update { architecture: Some(Architecture::Multi), ..objects::update_to("5.0.1") };
    let updates = offering(&["5.0.2"]);
    insta::assert_snapshot!(invalid(request(), &updates).unwrap(), @r#"The cluster version is invalid: spec.desiredUpdate.architecture: the update service has no multi-architecture image of "5.0.1"; withdraw the request with `fairway upgrade --clear`"#);
    let multi = |version: &str| {
        let architecture = Some(Architecture::Multi);
        let release = Release { architecture, ..objects::release(version) };
        let candidates = [CandidateUpdate { release, ..CandidateUpdate::default() }].into();
        Updates { candidates, ..updates.clone() }
    };
    assert!(invalid(request(), &multi("5.0.2")).is_some(), "the architecture changes first");
    assert_eq!(invalid(request(), &multi("5.0.1")), None);
    let stale = Updates { fresh: None, ..updates };
    assert_eq!(invalid(request(), &stale), None, "updates are not known");
}

#[test]
fn invalid_lists_all_problems() {
    let mut object = cluster_version();
    object.spec.cluster_id = "x".to_owned();
    object.spec.upstream = Some("ftp://x".to_owned());
    let status = composed(&object, None, None, 0);
    let condition = status.conditions.find("Invalid").unwrap();
    assert_eq!(condition.reason.as_deref(), Some("InvalidClusterVersion"));
    insta::assert_snapshot!(condition.message.as_deref().unwrap(), @r#"
    The cluster version is invalid:
    * spec.clusterID: "x" is not an RFC 4122 UUID
    * spec.upstream: "ftp://x" is not an absolute http or https URL
    "#);
}

#[test]
fn desired_status_that_old_crd_drops_is_not_sent_again() {
    let seen = |object: &ClusterVersion| {
        let named = ("version".to_owned(), Arc::new(object.clone()));
        Some(Arc::new(BTreeMap::from([named])))
    };
    let (sender, receiver) = watch::channel(seen(&cluster_version()));
    let (_updates, updates) = watch::channel(Some(Arc::new(offering(&["5.0.2"]))));
    let (_preflight, preflight) = watch::channel(None);
    let (_risks, risks) = watch::channel(Some(Arc::new(recommending(&["5.0.2"]))));
    let (_target, target) = watch::channel(None);
    let (_rollout, rollout) = watch::channel(None);
    let cluster_version = receiver;
    let own = Arc::new(own());
    let mut inputs = Inputs { own, cluster_version, updates, preflight, risks, target, rollout };

    let sent = inputs.desired(None).unwrap().object;
    let mut stored = sent.clone();
    stored.status.as_mut().unwrap().available_updates = None;
    sender.send_replace(seen(&stored));
    assert!(inputs.desired(None).is_some(), "the status differs");
    let last_write = LastWrite::new(sent, stored.clone());
    assert!(inputs.desired(Some(&last_write)).is_none(), "the API server drops the field");

    stored.status.as_mut().unwrap().version_hash = "changed by another client".to_owned();
    sender.send_replace(seen(&stored));
    assert!(inputs.desired(Some(&last_write)).is_some());
}

fn preflight() -> Preflight {
    let condition =
        |type_: &str| OperatorCondition::new(type_, true).reason("Checking").message("So.");
    Preflight {
        generation: 1,
        conditions: ["PreflightRunning", "PreflightCompleted", "PreflightFailed"].map(condition),
        concerns: Vec::new(),
        not_offered: vec![objects::release("5.2.0")],
        outcomes: BTreeMap::new(),
        is_clear: false,
    }
}

#[test]
fn compose_with_preflight_changes_only_its_conditions() {
    for mut cluster in [Cluster::installed(), Cluster::updating()] {
        cluster.compose(90);
        let before = cluster.object.status.clone().unwrap();
        let (own, risks, preflight) = (own(), recommending(&[]), preflight());
        let outputs = StageOutputs {
            preflight: Some(&preflight),
            risks: Some(&risks),
            target: Some(&cluster.target),
            rollout: cluster.rollout.as_ref(),
            ..outputs(&own)
        };
        let mut after = compose(&cluster.object, outputs, at(120));
        for condition in &preflight.conditions {
            let shown = after.conditions.find(&condition.type_).unwrap();
            assert_eq!((&shown.reason, &shown.message), (&condition.reason, &condition.message));
            after.conditions.discard(&condition.type_);
        }
        assert_eq!(after, before);
    }
}
