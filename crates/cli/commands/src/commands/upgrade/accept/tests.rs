use clap::Parser;
use fairway_api::ClusterVersion;
use fairway_risk::ANNOTATION;
use fairway_testkit::objects;
use serde_json::{Value, json};

use super::outcome::AcceptOutcome;
use super::request::AcceptRequest;
use super::*;
use crate::args::upgrade::AcceptArgs;
use crate::commands::upgrade::fixtures::{
    accept, cluster_version, condition, hold, now, offer, recommended, risk,
};
use crate::exit::ExitStatus;

#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    args: AcceptArgs,
}

fn request(arguments: &[&str]) -> AcceptRequest {
    let typed = Typed::try_parse_from([&["accept"], arguments].concat()).unwrap();
    let mut request = AcceptRequest::of(&typed.args, now()).unwrap();
    request.set_user(Some("alice"));
    request
}

fn change(object: &ClusterVersion, arguments: &[&str]) -> Change<AcceptOutcome> {
    decide(object, &request(arguments), now()).unwrap()
}

/// Two updates, with one risk that blocks both, one that blocks one, and one that does not apply.
fn risky() -> ClusterVersion {
    let mut object = cluster_version();
    let (slow, noisy) = (risk("SlowDisks", "True"), risk("NoisyLogs", "Unknown"));
    let harmless = risk("Harmless", "False");
    let not = |reason| recommended("False", reason, "Not now.");
    offer(&mut object, "5.2.1", &[slow.clone(), harmless], not("SlowDisks"));
    offer(&mut object, "5.2.2", &[slow, noisy], not("MultipleReasons"));
    object
}

/// Terms in the annotation of the patch.
fn terms(change: &Change<AcceptOutcome>) -> Value {
    let patch = change.patch.as_ref().expect("a patch");
    let text = patch["metadata"]["annotations"][ANNOTATION].as_str();
    text.map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

fn desired_update(change: &Change<AcceptOutcome>) -> &Value {
    &change.patch.as_ref().expect("a patch")["spec"]["desiredUpdate"]
}

#[test]
fn accept_writes_names_and_terms() {
    let arguments =
        ["SlowDisks", "--reason=replaced soon", "--until=90d", "--for=5.2.1", "--for=>=5.2.3"];
    let change = change(&risky(), &arguments);
    assert_eq!(*desired_update(&change), json!({"acceptRisks": [{"name": "SlowDisks"}]}));
    assert_eq!(change.patch.as_ref().unwrap()["metadata"]["resourceVersion"], "7");
    let definition = fairway_risk::definition_hash(&risk("SlowDisks", "True"));
    assert_eq!(
        terms(&change),
        json!({"SlowDisks": {
            "reason": "replaced soon",
            "until": "2026-04-01T02:00:00Z",
            "for": "5.2.1 || >=5.2.3",
            "by": "alice",
            "definition": definition,
        }})
    );
    insta::assert_snapshot!(change.outcome, @"
    Accepted: SlowDisks, for 5.2.1 || >=5.2.3, until 2026-04-01T02:00:00Z, by alice: replaced soon

    After the operator has re-evaluated the updates:
      5.2.1 becomes recommended
      5.2.2 is still not recommended because of NoisyLogs, SlowDisks

    Accepted risks: SlowDisks
    ");
}

#[test]
fn accepting_all_risks_recommends_update() {
    let change = change(&risky(), &["SlowDisks,NoisyLogs"]);
    insta::assert_snapshot!(change.outcome, @"
    Accepted: NoisyLogs, by alice
    Accepted: SlowDisks, by alice

    After the operator has re-evaluated the updates:
      5.2.2 becomes recommended
      5.2.1 becomes recommended

    Accepted risks: NoisyLogs, SlowDisks
    ");
}

#[test]
fn new_names_follow_existing_ones() {
    let mut object = risky();
    accept(&mut object, &["Zeta", "Alpha", "Mid"], Some(r#"{"Mid":{"until":"2026-12-31"}}"#));
    let change = change(&object, &["Omega", "Beta", "Mid-"]);
    let names: Vec<&str> = change.outcome.accept_risks.iter().map(String::as_str).collect();
    assert_eq!(names, ["Zeta", "Alpha", "Beta", "Omega"]);
    assert_eq!(change.outcome.removed, ["Mid"]);
    assert!(terms(&change).get("Mid").is_none(), "terms go with their risk");
}

#[test]
fn replace_keeps_only_named_risks() {
    let mut object = risky();
    accept(&mut object, &["Zeta", "SlowDisks"], Some("not even JSON"));
    let change = change(&object, &["--replace", "SlowDisks", "Beta"]);
    assert_eq!(change.outcome.accept_risks, ["SlowDisks", "Beta"]);
    assert_eq!(change.outcome.removed, ["Zeta"]);
    let again: Vec<bool> =
        change.outcome.accepted.iter().map(|risk| risk.previously_accepted).collect();
    assert_eq!(again, [false, true], "Beta is new, SlowDisks is not");
}

#[test]
fn removing_last_risk_without_target_removes_desired_update() {
    let mut object = risky();
    accept(&mut object, &["SlowDisks"], Some("{}"));
    for arguments in [&["SlowDisks-"][..], &["--clear"]] {
        assert_eq!(*desired_update(&change(&object, arguments)), Value::Null, "{arguments:?}");
    }
    let change = change(&object, &["--clear"]);
    assert_eq!(
        change.patch.as_ref().unwrap()["metadata"]["annotations"],
        json!({ANNOTATION: null})
    );
    insta::assert_snapshot!(change.outcome, @"
    No longer accepted: SlowDisks

    After the operator has re-evaluated the updates:
      5.2.2 is still not recommended because of NoisyLogs, SlowDisks
      5.2.1 is still not recommended because of SlowDisks

    No risks are accepted.
    ");
}

#[test]
fn clear_removes_empty_request_only() {
    let mut object = risky();
    accept(&mut object, &["SlowDisks"], None);
    let update = object.spec.desired_update.as_mut().unwrap();
    (update.version, update.image, update.force) =
        (Some(String::new()), Some(String::new()), Some(false));
    assert_eq!(*desired_update(&change(&object, &["--clear"])), Value::Null);

    object.spec.desired_update.as_mut().unwrap().version = Some("5.2.1".to_owned());
    assert_eq!(*desired_update(&change(&object, &["--clear"])), json!({"acceptRisks": null}));
}

#[test]
fn repeated_acceptance_changes_nothing() {
    let mut object = risky();
    accept(&mut object, &["SlowDisks"], None);
    let definition = fairway_risk::definition_hash(&risk("SlowDisks", "True"));
    let annotation = json!({"SlowDisks": {"by": "bob", "definition": definition}}).to_string();
    accept(&mut object, &["SlowDisks"], Some(&annotation));
    let again = change(&object, &["SlowDisks"]);
    assert!(again.patch.is_none());
    insta::assert_snapshot!(again.outcome, @"
    Already accepted: SlowDisks
    No change.
    Accepted risks: SlowDisks
    ");

    let until = change(&object, &["SlowDisks", "--until=2026-12-31"]);
    assert_eq!(until.patch.as_ref().unwrap().get("spec"), None, "only the terms change");
    insta::assert_snapshot!(until.outcome, @"
    Accepted with new terms: SlowDisks, until 2026-12-31, by alice

    After the operator has re-evaluated the updates:
      5.2.1 becomes recommended
      5.2.2 is still not recommended because of NoisyLogs

    Accepted risks: SlowDisks
    ");
    assert!(change(&cluster_version(), &["--clear"]).patch.is_none());
}

#[test]
fn acceptance_unblocks_requested_update() {
    let mut object = risky();
    object.spec.desired_update = Some(objects::update_to("5.2.1"));
    hold(&mut object, condition("ReleaseAccepted", false, "UnacceptedRisks", "SlowDisks"));
    insta::assert_snapshot!(change(&object, &["SlowDisks"]).outcome.effect, @"

    After the operator has re-evaluated the updates:
      the pending update to 5.2.1 continues
      5.2.1 becomes recommended
      5.2.2 is still not recommended because of NoisyLogs
    ");
    let image = objects::release("5.2.1").image;
    let (_, digest) = image.rsplit_once('@').unwrap();
    object.spec.desired_update.as_mut().unwrap().image = Some(format!("mirror.example/r@{digest}"));
    let mirrored = change(&object, &["SlowDisks"]).outcome.effect;
    assert_eq!(mirrored.unblocked_update.as_deref(), Some("5.2.1"), "by image digest");
    let elsewhere = change(&object, &["SlowDisks", "--for=5.3.x"]);
    assert_eq!(elsewhere.outcome.effect.unblocked_update, None);
}

#[test]
fn remaining_risks_block_requested_update() {
    let mut object = risky();
    object.spec.desired_update = Some(objects::update_to("5.2.2"));
    hold(&mut object, condition("ReleaseAccepted", false, "UnacceptedRisks", "Two risks"));
    let one = change(&object, &["SlowDisks"]).outcome;
    assert_eq!(one.exit_status(), ExitStatus::NewRisks);
    insta::assert_snapshot!(one.effect, @"

    After the operator has re-evaluated the updates:
      the requested update to 5.2.2 is still blocked by NoisyLogs
      5.2.1 becomes recommended
      5.2.2 is still not recommended because of NoisyLogs
    ");
    let both = change(&object, &["SlowDisks", "NoisyLogs"]).outcome;
    assert_eq!((both.exit_status(), both.effect.blocked_update), (ExitStatus::Success, None));
    accept(&mut object, &["SlowDisks"], None);
    let back = change(&object, &["SlowDisks-"]).outcome;
    assert_eq!(back.exit_status(), ExitStatus::Success, "removal reports no new risks");
}

/// Accepted names after each of several changes.
#[test]
fn names_after_each_of_several_changes() {
    let mut object = cluster_version();
    for (arguments, names) in [
        (&["B,A"][..], &["A", "B"][..]),
        (&["C"], &["A", "B", "C"]),
        (&["--replace", "D,B"], &["B", "D"]),
        (&["D-"], &["B"]),
        (&["B, C ,A", "B"], &["B", "A", "C"]),
        (&["--clear"], &[]),
    ] {
        let change = change(&object, arguments);
        assert_eq!(change.outcome.accept_risks, names, "{arguments:?}");
        let written = desired_update(&change).clone();
        assert_eq!(written.is_null(), names.is_empty(), "nothing empty is left: {written}");
        object.spec.desired_update = serde_json::from_value(written).unwrap();
    }
}

#[test]
fn removal_withdraws_recommendation() {
    let mut object = risky();
    accept(&mut object, &["SlowDisks"], None);
    let status = object.status.as_mut().unwrap();
    status.conditional_updates[0].conditions =
        vec![recommended("True", "AllExposedRisksAccepted", "")];
    insta::assert_snapshot!(change(&object, &["SlowDisks-"]).outcome.effect, @"

    After the operator has re-evaluated the updates:
      5.2.2 is still not recommended because of NoisyLogs, SlowDisks
      5.2.1 is no longer recommended because of SlowDisks
    ");
}

#[test]
fn update_not_offered_is_never_recommended() {
    let mut object = cluster_version();
    let risks = [risk("NotOfferedByUpdateService", "True")];
    offer(&mut object, "5.3.0", &risks, recommended("False", "NotOfferedByUpdateService", ""));
    let change = change(&object, &["NotOfferedByUpdateService"]);
    assert_eq!(change.outcome.effect.newly_recommended, [""; 0]);
}

#[test]
fn unknown_names_warn() {
    let mut object = risky();
    accept(&mut object, &["SlowDisks"], None);
    let change = change(&object, &["SlowDisk", "Etcd", "SlowDiks-"]);
    insta::assert_snapshot!(change.outcome.warnings.join("\n"), @"
    no available update has a risk named Etcd
    no available update has a risk named SlowDisk; did you mean SlowDisks?
    SlowDiks is not an accepted risk; did you mean SlowDisks?
    ");
}

#[test]
fn accept_with_invalid_terms_or_too_many_risks_is_refused() {
    let refused = |object: &ClusterVersion, arguments: &[&str]| {
        let error = decide(object, &request(arguments), now()).err().expect("a refusal");
        crate::errors::chain(&error).join(": ")
    };
    let mut broken = risky();
    accept(&mut broken, &["Zeta"], Some("{\"Zeta\": \u{1b}"));
    insta::assert_snapshot!(refused(&broken, &["SlowDisks"]), @"cannot read annotation fairway.dev/accepted-risks with the terms of the accepted risks: expected value at line 1 column 10");

    let many: Vec<String> = (0..1000).map(|number| format!("Risk{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut full = risky();
    accept(&mut full, &many, None);
    assert!(decide(&full, &request(&["Risk7"]), now()).is_ok());
    insta::assert_snapshot!(refused(&full, &["SlowDisks"]), @"cannot accept 1001 risks: the maximum is 1000");

    let reason = format!("--reason={}", "x".repeat(1024));
    let arguments: Vec<&str> = many.iter().copied().take(200).chain([reason.as_str()]).collect();
    insta::assert_snapshot!(refused(&risky(), &arguments), @"the acceptance terms have 212091 bytes, more than the maximum of 131072");
}

#[test]
fn invalid_or_conflicting_arguments_are_refused() {
    let wrong = |arguments: &[&str]| {
        let typed = Typed::try_parse_from([&["accept"], arguments].concat()).unwrap();
        AcceptRequest::of(&typed.args, now()).unwrap_err().to_string()
    };
    let said = [
        wrong(&["--replace"]),
        wrong(&["A", "B,A-"]),
        wrong(&["--replace", "A", "B-"]),
        wrong(&["A-", "--reason=because"]),
        wrong(&["A", "--until=9000y"]),
        wrong(&["A", "--until=2025-12-31"]),
    ];
    insta::assert_snapshot!(said.join("\n"), @"
    no risk is named; run `fairway upgrade accept --export` to list the accepted risks
    A and A- cannot be used together
    NAME- has no effect with --replace, which removes all risks that are not named
    --reason, --until and --for require at least one risk to accept
    --until: the expiry is too far in the future
    --until: 2025-12-31 is in the past
    ");
    for arguments in [
        &["--clear", "A"][..],
        &["--clear", "--replace"],
        &["A,,B"],
        &["-"],
        &["A", "--for=latest"],
        &["A", "--until=soon"],
    ] {
        assert!(Typed::try_parse_from([&["accept"], arguments].concat()).is_err(), "{arguments:?}");
    }
}
