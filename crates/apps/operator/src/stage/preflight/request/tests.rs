use std::sync::Arc;

use fairway_api::OperatorCondition;
use fairway_graph::cincinnati;
use fairway_risk::CandidateUpdate;
use fairway_testkit::objects::release;
use serde_json::json;

use super::*;

/// Releases of the update service, without edges to them.
fn updates(versions: &[&str]) -> Updates {
    let nodes: Vec<_> = versions
        .iter()
        .map(|version| json!({"version": version, "payload": release(version).image}))
        .collect();
    let answer = json!({"version": 1, "nodes": nodes, "edges": []}).to_string();
    let (graph, _) = cincinnati::read("answer", answer.as_bytes()).unwrap();
    let retrieved = OperatorCondition::new("RetrievedUpdates", false).message("It is down.");
    Updates { graph: Arc::new(graph), retrieved, ..Updates::default() }
}

/// The same, with an edge to each of them.
fn offered(releases: Vec<Release>) -> Updates {
    let versions: Vec<&str> = releases.iter().map(|release| release.version.as_str()).collect();
    let updates = updates(&versions);
    let candidate = |release| CandidateUpdate { release, risks: Vec::new() };
    Updates { candidates: releases.into_iter().map(candidate).collect(), ..updates }
}

fn preflight(version: &str) -> Update {
    let version = Some(version.to_owned());
    Update { version, mode: Some(UpdateMode::Preflight), ..Update::default() }
}

/// State of a cluster at 5.0.0.
struct ClusterState {
    enabled: bool,
    consent: Option<&'static str>,
    on_update: OnUpdate,
    desired: Release,
    channel: Option<&'static str>,
    updates: Option<Updates>,
    examined: Vec<Release>,
}

impl Default for ClusterState {
    fn default() -> Self {
        Self {
            enabled: true,
            consent: None,
            on_update: OnUpdate::Off,
            desired: release("5.0.0"),
            channel: Some("stable-5.1"),
            updates: Some(updates(&["5.0.0", "5.1.0", "5.2.0"])),
            examined: Vec::new(),
        }
    }
}

impl ClusterState {
    fn request(&self, update: &Update) -> PreflightRequest {
        let had = UpdateHistory {
            version: Some("4.9.9".to_owned()),
            image: release("4.9.9").image,
            ..UpdateHistory::default()
        };
        let context = RequestContext {
            enabled: self.enabled,
            consent: self.consent,
            on_update: self.on_update,
            own: &release("5.0.0"),
            desired: Some(&self.desired.image),
            history: &[had],
            channel: self.channel,
            updates: self.updates.as_ref(),
            examined: &self.examined,
        };
        request(Some(update), context)
    }
}

fn requested(update: &Update) -> PreflightRequest {
    ClusterState::default().request(update)
}

fn target(version: &str) -> PreflightRequest {
    let (image, version) = (release(version).image, Some(version.to_owned()));
    PreflightRequest::Requested(RequestedRelease { image, version, ..RequestedRelease::default() })
}

#[test]
fn request_by_version_resolves_any_known_release() {
    // Includes the running release and releases of the history, with or without an edge.
    for version in ["4.9.9", "5.0.0", "5.1.0", "5.2.0"] {
        assert_eq!(requested(&preflight(version)), target(version), "{version}");
    }
}

#[test]
fn request_by_image_requires_digest() {
    let by = |image: &str| Update { image: Some(image.to_owned()), ..preflight("5.7.0") };
    let image = release("5.7.0").image;
    assert_eq!(
        ClusterState { updates: None, ..ClusterState::default() }.request(&by(&image)),
        target("5.7.0")
    );
    let tag = "registry.example/release:5.7.0".to_owned();
    let held = PreflightRequest::Held(HoldReason::NotByDigest { image: tag.clone() });
    assert_eq!(requested(&by(&tag)), held);
}

#[test]
fn request_with_force_is_forced() {
    let update = Update { force: Some(true), ..preflight("5.1.0") };
    let PreflightRequest::Requested(target) = requested(&update) else { panic!("not requested") };
    assert!(target.forced && !target.implicit);
}

#[test]
fn request_that_cannot_be_resolved_is_held() {
    let version = || "5.7.0".to_owned();
    let channel = Some("stable-5.1".to_owned());
    let update = preflight("5.7.0");
    let unanswered = HoldReason::NotRetrieved { version: version(), why: "It is down.".to_owned() };
    for (cluster, held) in [
        (ClusterState::default(), HoldReason::NotFound { version: version(), channel }),
        (
            ClusterState { channel: None, ..ClusterState::default() },
            HoldReason::NotFound { version: version(), channel: None },
        ),
        (ClusterState { enabled: false, ..ClusterState::default() }, HoldReason::Disabled),
        (ClusterState { updates: Some(updates(&[])), ..ClusterState::default() }, unanswered),
    ] {
        assert_eq!(cluster.request(&update), PreflightRequest::Held(held));
    }
    let nothing = Update { version: None, ..update.clone() };
    assert_eq!(requested(&nothing), PreflightRequest::Held(HoldReason::NoRelease));
    let not_yet = ClusterState { updates: None, ..ClusterState::default() }.request(&update);
    assert_eq!(not_yet, PreflightRequest::NotKnownYet { version: version(), implicit: false });
}

#[test]
fn consent_applies_to_requested_release_only() {
    let consent = Some(r#"{"release": "5.1.0", "secrets": ["openshift-ingress/certs"]}"#);
    let secrets = |version: &str, mode: Option<UpdateMode>| {
        let on_update = OnUpdate::Require;
        let cluster = ClusterState { consent, on_update, ..ClusterState::default() };
        match cluster.request(&Update { mode, ..preflight(version) }) {
            PreflightRequest::Requested(target) => target.secrets,
            other => panic!("{other:?}"),
        }
    };
    let preflight = || Some(UpdateMode::Preflight);
    assert_eq!(secrets("5.1.0", preflight()), ["openshift-ingress/certs".to_owned()].into());
    assert!(secrets("5.2.0", preflight()).is_empty());
}

#[test]
fn may_mean_while_version_is_looked_up() {
    let target = |version: Option<&str>| RequestedRelease {
        image: release("5.1.0").image,
        version: version.map(str::to_owned),
        ..RequestedRelease::default()
    };
    let before = target(Some("5.1.0"));
    let not_yet = |on_update, mode| {
        let update = Update { mode, ..preflight("5.1.0") };
        ClusterState { on_update, updates: None, ..ClusterState::default() }.request(&update)
    };
    for (request, may_mean) in [
        (not_yet(OnUpdate::Off, Some(UpdateMode::Preflight)), true),
        (not_yet(OnUpdate::Report, None), true),
        (not_yet(OnUpdate::Off, None), false),
        (requested(&preflight("5.1.0")), true),
        (requested(&preflight("5.2.0")), false),
        (
            ClusterState { updates: None, ..ClusterState::default() }.request(&preflight("5.2.0")),
            false,
        ),
        (
            ClusterState { enabled: false, ..ClusterState::default() }.request(&preflight("5.1.0")),
            false,
        ),
    ] {
        assert_eq!(request.may_mean(&before), may_mean, "{request:?}");
    }
    let by_image = target(None);
    assert!(!not_yet(OnUpdate::Off, Some(UpdateMode::Preflight)).may_mean(&by_image));
}

#[test]
fn request_with_unknown_mode_is_held() {
    let mode = Some(UpdateMode::Other("Dance".to_owned()));
    let update = Update { mode, ..preflight("5.1.0") };
    for enabled in [true, false] {
        let held = HoldReason::UnknownMode { mode: "Dance".to_owned() };
        assert_eq!(
            ClusterState { enabled, ..ClusterState::default() }.request(&update),
            PreflightRequest::Held(held)
        );
    }
}

#[test]
fn update_is_implicit_request_only_with_policy() {
    let update = Update { mode: None, ..preflight("5.1.0") };
    let ask = |update: &Update, on_update| {
        let updates = Some(offered(vec![release("5.1.0")]));
        ClusterState { on_update, updates, ..ClusterState::default() }.request(update)
    };
    assert_eq!(ask(&update, OnUpdate::Off), PreflightRequest::Nothing);
    for policy in [OnUpdate::Report, OnUpdate::Require] {
        let PreflightRequest::Requested(target) = ask(&update, policy) else {
            panic!("{policy:?}")
        };
        assert!(target.implicit);
        let forced = Update { force: Some(true), ..update.clone() };
        assert_eq!(ask(&forced, policy), PreflightRequest::Nothing);
        let unknown = Update { mode: None, ..preflight("5.7.0") };
        assert_eq!(ask(&unknown, policy), PreflightRequest::Nothing);
    }
}

#[test]
fn implicit_request_resolves_release_of_update() {
    let multi = |version: &str| Release {
        architecture: Some(Architecture::Multi),
        version: version.to_owned(),
        ..release(&format!("{version}-multi"))
    };
    let cluster = ClusterState {
        on_update: OnUpdate::Require,
        updates: Some(offered(vec![release("5.1.0"), multi("5.0.0"), multi("5.1.0")])),
        // Examined by image; the update service does not have it.
        examined: vec![release("5.7.0")],
        ..ClusterState::default()
    };
    let resolve = |version: &str, architecture| {
        let update = Update { mode: None, architecture, ..preflight(version) };
        match cluster.request(&update) {
            PreflightRequest::Requested(target) => Some((target.image, target.version.unwrap())),
            _ => None,
        }
    };
    let means = |release: Release| Some((release.image, release.version));
    assert_eq!(resolve("5.7.0", None), means(release("5.7.0")));
    // The architecture changes first, then the version.
    assert_eq!(resolve("5.1.0", Some(Architecture::Multi)), means(multi("5.0.0")));
    // Ambiguous without an architecture.
    assert_eq!(resolve("5.1.0", None), None);
    assert_eq!(resolve("5.2.0", None), None, "no edge leads to it");
}

#[test]
fn update_in_progress_is_no_request() {
    let update = Update { mode: None, ..preflight("5.1.0") };
    let (on_update, desired) = (OnUpdate::Require, release("5.1.0"));
    let updates = Some(offered(vec![release("5.1.0")]));
    let cluster = ClusterState { on_update, desired, updates, ..ClusterState::default() };
    assert_eq!(cluster.request(&update), PreflightRequest::Nothing);
}

#[test]
fn request_without_release_and_mode_is_none() {
    assert_eq!(requested(&Update::default()), PreflightRequest::Nothing);
}

#[test]
fn requests_other_release_ignores_completed_update() {
    let own = release("5.0.0");
    let to = |version: &str| Update { version: Some(version.to_owned()), ..Update::default() };
    let image = |version: &str| Update { image: Some(release(version).image), ..to(version) };
    let multi = Update { architecture: Some(Architecture::Multi), ..to("5.0.0") };
    for (resolve, is_another) in [
        (to("5.0.0"), false),
        (image("5.0.0"), false),
        (preflight("5.1.0"), false),
        (Update::default(), false),
        (to("5.1.0"), true),
        (image("5.1.0"), true),
        (multi, true),
    ] {
        assert_eq!(requests_other_release(Some(&resolve), &own), is_another, "{resolve:?}");
    }
    assert!(!requests_other_release(None, &own));
}
