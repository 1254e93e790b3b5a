use std::sync::Arc;

use fairway_api::OperatorCondition;
use fairway_graph::wire;
use fairway_risk::Candidate;
use fairway_testkit::objects::release;
use serde_json::json;

use super::*;

/// What the update service says: releases of these versions, and no way to them.
fn updates(versions: &[&str]) -> Updates {
    let nodes: Vec<_> = versions
        .iter()
        .map(|version| json!({"version": version, "payload": release(version).image}))
        .collect();
    let answer = json!({"version": 1, "nodes": nodes, "edges": []}).to_string();
    let (graph, _) = wire::read("answer", answer.as_bytes()).unwrap();
    let retrieved = OperatorCondition::new("RetrievedUpdates", false).message("It is down.");
    Updates { graph: Arc::new(graph), retrieved, ..Updates::default() }
}

/// The same, and a way to each of them.
fn offered(releases: Vec<Release>) -> Updates {
    let versions: Vec<&str> = releases.iter().map(|release| release.version.as_str()).collect();
    let updates = updates(&versions);
    let candidate = |release| Candidate { release, risks: Vec::new() };
    Updates { candidates: releases.into_iter().map(candidate).collect(), ..updates }
}

fn preflight(version: &str) -> Update {
    let version = Some(version.to_owned());
    Update { version, mode: Some(UpdateMode::Preflight), ..Update::default() }
}

/// A cluster at 5.0.0, as requests are understood by.
struct World {
    enabled: bool,
    on_update: OnUpdate,
    desired: Release,
    channel: Option<&'static str>,
    updates: Option<Updates>,
    looked_at: Vec<Release>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            enabled: true,
            on_update: OnUpdate::Off,
            desired: release("5.0.0"),
            channel: Some("stable-5.1"),
            updates: Some(updates(&["5.0.0", "5.1.0", "5.2.0"])),
            looked_at: Vec::new(),
        }
    }
}

impl World {
    fn asked(&self, update: &Update) -> Request {
        let had = UpdateHistory {
            version: Some("4.9.9".to_owned()),
            image: release("4.9.9").image,
            ..UpdateHistory::default()
        };
        let known = Known {
            enabled: self.enabled,
            on_update: self.on_update,
            own: &release("5.0.0"),
            desired: Some(&self.desired.image),
            history: &[had],
            channel: self.channel,
            updates: self.updates.as_ref(),
            looked_at: &self.looked_at,
        };
        request(Some(update), known)
    }
}

fn asked(update: &Update) -> Request {
    World::default().asked(update)
}

fn wanted(version: &str) -> Request {
    let (image, version) = (release(version).image, Some(version.to_owned()));
    Request::Wanted(Wanted { image, version, ..Wanted::default() })
}

#[test]
fn any_release_that_the_update_service_knows_can_be_asked() {
    // The one that runs and those that the cluster had, too; whether an edge leads there or not.
    for version in ["4.9.9", "5.0.0", "5.1.0", "5.2.0"] {
        assert_eq!(asked(&preflight(version)), wanted(version), "{version}");
    }
}

#[test]
fn an_image_is_taken_as_it_is_if_it_names_its_content() {
    let by = |image: &str| Update { image: Some(image.to_owned()), ..preflight("5.7.0") };
    let image = release("5.7.0").image;
    assert_eq!(World { updates: None, ..World::default() }.asked(&by(&image)), wanted("5.7.0"));
    let tag = "registry.example/release:5.7.0".to_owned();
    let held = Request::Held(Held::NotByDigest { image: tag.clone() });
    assert_eq!(asked(&by(&tag)), held);
}

#[test]
fn a_forced_request_says_so() {
    let update = Update { force: Some(true), ..preflight("5.1.0") };
    let Request::Wanted(wanted) = asked(&update) else { panic!("it is wanted") };
    assert!(wanted.forced && !wanted.implicit);
}

#[test]
fn what_cannot_be_carried_out_is_held() {
    let version = || "5.7.0".to_owned();
    let channel = Some("stable-5.1".to_owned());
    let update = preflight("5.7.0");
    let unanswered = Held::NotRetrieved { version: version(), why: "It is down.".to_owned() };
    for (world, held) in [
        (World::default(), Held::NotFound { version: version(), channel }),
        (
            World { channel: None, ..World::default() },
            Held::NotFound { version: version(), channel: None },
        ),
        (World { enabled: false, ..World::default() }, Held::Disabled),
        (World { updates: Some(updates(&[])), ..World::default() }, unanswered),
    ] {
        assert_eq!(world.asked(&update), Request::Held(held));
    }
    let nothing = Update { version: None, ..update.clone() };
    assert_eq!(asked(&nothing), Request::Held(Held::NoRelease));
    let not_yet = World { updates: None, ..World::default() }.asked(&update);
    assert_eq!(not_yet, Request::NotKnownYet { version: version(), implicit: false });
}

#[test]
fn while_a_version_is_looked_up_again_it_may_mean_what_it_meant() {
    let wanted = |version: Option<&str>| Wanted {
        image: release("5.1.0").image,
        version: version.map(str::to_owned),
        ..Wanted::default()
    };
    let before = wanted(Some("5.1.0"));
    let not_yet = |on_update, mode| {
        let update = Update { mode, ..preflight("5.1.0") };
        World { on_update, updates: None, ..World::default() }.asked(&update)
    };
    for (request, may_mean) in [
        (not_yet(OnUpdate::Off, Some(UpdateMode::Preflight)), true),
        (not_yet(OnUpdate::Report, None), true),
        (not_yet(OnUpdate::Off, None), false),
        (asked(&preflight("5.1.0")), true),
        (asked(&preflight("5.2.0")), false),
        (World { updates: None, ..World::default() }.asked(&preflight("5.2.0")), false),
        (World { enabled: false, ..World::default() }.asked(&preflight("5.1.0")), false),
    ] {
        assert_eq!(request.may_mean(&before), may_mean, "{request:?}");
    }
    let by_image = wanted(None);
    assert!(!not_yet(OnUpdate::Off, Some(UpdateMode::Preflight)).may_mean(&by_image));
}

#[test]
fn a_mode_that_nobody_knows_is_held_even_where_preflights_are_off() {
    let mode = Some(UpdateMode::Other("Dance".to_owned()));
    let update = Update { mode, ..preflight("5.1.0") };
    for enabled in [true, false] {
        let held = Held::UnknownMode { mode: "Dance".to_owned() };
        assert_eq!(World { enabled, ..World::default() }.asked(&update), Request::Held(held));
    }
}

#[test]
fn an_update_asks_for_an_opinion_only_where_the_policy_says_so() {
    let update = Update { mode: None, ..preflight("5.1.0") };
    let ask = |update: &Update, on_update| {
        let updates = Some(offered(vec![release("5.1.0")]));
        World { on_update, updates, ..World::default() }.asked(update)
    };
    assert_eq!(ask(&update, OnUpdate::Off), Request::Nothing);
    for policy in [OnUpdate::Report, OnUpdate::Require] {
        let Request::Wanted(wanted) = ask(&update, policy) else { panic!("{policy:?}") };
        assert!(wanted.implicit);
        let forced = Update { force: Some(true), ..update.clone() };
        assert_eq!(ask(&forced, policy), Request::Nothing);
        let unknown = Update { mode: None, ..preflight("5.7.0") };
        assert_eq!(ask(&unknown, policy), Request::Nothing);
    }
}

#[test]
fn an_update_is_asked_about_the_release_that_it_means() {
    let multi = |version: &str| Release {
        architecture: Some(Architecture::Multi),
        version: version.to_owned(),
        ..release(&format!("{version}-multi"))
    };
    let world = World {
        on_update: OnUpdate::Require,
        updates: Some(offered(vec![release("5.1.0"), multi("5.0.0"), multi("5.1.0")])),
        // Somebody asked about its image, which no update service knows.
        looked_at: vec![release("5.7.0")],
        ..World::default()
    };
    let asked = |version: &str, architecture| {
        let update = Update { mode: None, architecture, ..preflight(version) };
        match world.asked(&update) {
            Request::Wanted(wanted) => Some((wanted.image, wanted.version.unwrap())),
            _ => None,
        }
    };
    let means = |release: Release| Some((release.image, release.version));
    assert_eq!(asked("5.7.0", None), means(release("5.7.0")));
    // First all architectures, then another version.
    assert_eq!(asked("5.1.0", Some(Architecture::Multi)), means(multi("5.0.0")));
    // The version alone does not tell which of them.
    assert_eq!(asked("5.1.0", None), None);
    assert_eq!(asked("5.2.0", None), None, "there is no way to it");
}

#[test]
fn an_update_that_has_begun_is_not_asked_about() {
    let update = Update { mode: None, ..preflight("5.1.0") };
    let (on_update, desired) = (OnUpdate::Require, release("5.1.0"));
    let updates = Some(offered(vec![release("5.1.0")]));
    let world = World { on_update, desired, updates, ..World::default() };
    assert_eq!(world.asked(&update), Request::Nothing);
}

#[test]
fn who_asks_for_nothing_gets_nothing() {
    assert_eq!(asked(&Update::default()), Request::Nothing);
}

#[test]
fn an_update_that_is_complete_asks_for_nothing_more() {
    let own = release("5.0.0");
    let to = |version: &str| Update { version: Some(version.to_owned()), ..Update::default() };
    let image = |version: &str| Update { image: Some(release(version).image), ..to(version) };
    let multi = Update { architecture: Some(Architecture::Multi), ..to("5.0.0") };
    for (asked, is_another) in [
        (to("5.0.0"), false),
        (image("5.0.0"), false),
        (preflight("5.1.0"), false),
        (Update::default(), false),
        (to("5.1.0"), true),
        (image("5.1.0"), true),
        (multi, true),
    ] {
        assert_eq!(asks_for_another(Some(&asked), &own), is_another, "{asked:?}");
    }
    assert!(!asks_for_another(None, &own));
}
