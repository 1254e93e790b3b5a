use clap::Parser;
use fairway_api::ClusterVersion;
use fairway_risk::ANNOTATION;
use fairway_testkit::objects;
use serde_json::{Value, json};

use super::plan::Plan;
use super::wish::Wish;
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

fn wish(arguments: &[&str]) -> Wish {
    let typed = Typed::try_parse_from([&["accept"], arguments].concat()).unwrap();
    let mut wish = Wish::of(&typed.args, now()).unwrap();
    wish.by(Some("alice"));
    wish
}

fn plan(object: &ClusterVersion, arguments: &[&str]) -> Plan {
    Plan::of(object, &wish(arguments), now()).unwrap()
}

/// Two updates, with one risk that stands against both, one against one, and one against none.
fn risky() -> ClusterVersion {
    let mut object = cluster_version();
    let (slow, noisy) = (risk("SlowDisks", "True"), risk("NoisyLogs", "Unknown"));
    let harmless = risk("Harmless", "False");
    let not = |reason| recommended("False", reason, "Not now.");
    offer(&mut object, "5.2.1", &[slow.clone(), harmless], not("SlowDisks"));
    offer(&mut object, "5.2.2", &[slow, noisy], not("MultipleReasons"));
    object
}

/// What the annotation says after the patch.
fn terms(plan: &Plan) -> Value {
    let patch = plan.patch.as_ref().expect("a patch");
    let text = patch["metadata"]["annotations"][ANNOTATION].as_str();
    text.map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

fn desired_update(plan: &Plan) -> &Value {
    &plan.patch.as_ref().expect("a patch")["spec"]["desiredUpdate"]
}

#[test]
fn names_go_into_the_spec_and_terms_beside_them() {
    let arguments =
        ["SlowDisks", "--reason=replaced soon", "--until=90d", "--for=5.2.1", "--for=>=5.2.3"];
    let plan = plan(&risky(), &arguments);
    assert_eq!(*desired_update(&plan), json!({"acceptRisks": [{"name": "SlowDisks"}]}));
    assert_eq!(plan.patch.as_ref().unwrap()["metadata"]["resourceVersion"], "7");
    let definition = fairway_risk::definition_hash(&risk("SlowDisks", "True"));
    assert_eq!(
        terms(&plan),
        json!({"SlowDisks": {
            "reason": "replaced soon",
            "until": "2026-04-01T02:00:00Z",
            "for": "5.2.1 || >=5.2.3",
            "by": "alice",
            "definition": definition,
        }})
    );
    insta::assert_snapshot!(plan.outcome, @"
    Accepted: SlowDisks, for 5.2.1 || >=5.2.3, until 2026-04-01T02:00:00Z, by alice: replaced soon

    After the operator has re-evaluated the updates:
      5.2.1 becomes recommended
      5.2.2 is still not recommended because of NoisyLogs, SlowDisks

    Accepted risks: SlowDisks
    ");
}

#[test]
fn what_comes_of_it_for_programs() {
    let plan = plan(&risky(), &["SlowDisks", "SlowDisk", "NoisyLogs-", "--until=2026-12-31"]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&plan.outcome).unwrap(), @r#"
    {
      "dryRun": false,
      "accepted": [
        {
          "name": "SlowDisk",
          "until": "2026-12-31",
          "by": "alice",
          "previouslyAccepted": false
        },
        {
          "name": "SlowDisks",
          "until": "2026-12-31",
          "by": "alice",
          "definition": "f48a961ef926dffc753348cc12c67fa9",
          "previouslyAccepted": false
        }
      ],
      "removed": [],
      "unchanged": [],
      "acceptRisks": [
        "SlowDisk",
        "SlowDisks"
      ],
      "newlyRecommended": [
        "5.2.1"
      ],
      "notRecommended": [
        {
          "version": "5.2.2",
          "risks": [
            "NoisyLogs"
          ]
        }
      ],
      "noLongerRecommended": [],
      "unblockedUpdate": null,
      "blockedUpdate": null,
      "warnings": [
        "no available update has a risk named SlowDisk; did you mean SlowDisks?",
        "NoisyLogs is not an accepted risk"
      ]
    }
    "#);
}

#[test]
fn all_risks_of_an_update_are_accepted() {
    let plan = plan(&risky(), &["SlowDisks,NoisyLogs"]);
    insta::assert_snapshot!(plan.outcome, @"
    Accepted: NoisyLogs, by alice
    Accepted: SlowDisks, by alice

    After the operator has re-evaluated the updates:
      5.2.2 becomes recommended
      5.2.1 becomes recommended

    Accepted risks: NoisyLogs, SlowDisks
    ");
}

#[test]
fn those_that_stay_keep_their_order_and_new_ones_follow_by_name() {
    let mut object = risky();
    accept(&mut object, &["Zeta", "Alpha", "Mid"], Some(r#"{"Mid":{"until":"2026-12-31"}}"#));
    let plan = plan(&object, &["Omega", "Beta", "Mid-"]);
    let names: Vec<&str> = plan.outcome.accept_risks.iter().map(String::as_str).collect();
    assert_eq!(names, ["Zeta", "Alpha", "Beta", "Omega"]);
    assert_eq!(plan.outcome.removed, ["Mid"]);
    assert!(terms(&plan).get("Mid").is_none(), "terms go with their risk");
}

#[test]
fn replacing_leaves_what_is_named() {
    let mut object = risky();
    accept(&mut object, &["Zeta", "SlowDisks"], Some("not even JSON"));
    let plan = plan(&object, &["--replace", "SlowDisks", "Beta"]);
    assert_eq!(plan.outcome.accept_risks, ["SlowDisks", "Beta"]);
    assert_eq!(plan.outcome.removed, ["Zeta"]);
    let again: Vec<bool> =
        plan.outcome.accepted.iter().map(|risk| risk.previously_accepted).collect();
    assert_eq!(again, [false, true], "Beta is new, SlowDisks is not");
}

#[test]
fn an_update_that_is_asked_for_stays_as_it_is() {
    let mut object = risky();
    let mut update = objects::update_to("5.2.1");
    update.mode = Some("Preflight".into());
    object.spec.desired_update = Some(update);
    let plan = plan(&object, &["SlowDisks"]);
    assert_eq!(*desired_update(&plan), json!({"acceptRisks": [{"name": "SlowDisks"}]}));
    assert_eq!(plan.outcome.effect.unblocked_update, None);
}

#[test]
fn the_last_risk_goes_with_what_holds_it() {
    let mut object = risky();
    accept(&mut object, &["SlowDisks"], Some("{}"));
    for arguments in [&["SlowDisks-"][..], &["--clear"]] {
        assert_eq!(*desired_update(&plan(&object, arguments)), Value::Null, "{arguments:?}");
    }
    let plan = plan(&object, &["--clear"]);
    assert_eq!(plan.patch.as_ref().unwrap()["metadata"]["annotations"], json!({ANNOTATION: null}));
    insta::assert_snapshot!(plan.outcome, @"
    No longer accepted: SlowDisks

    After the operator has re-evaluated the updates:
      5.2.2 is still not recommended because of NoisyLogs, SlowDisks
      5.2.1 is still not recommended because of SlowDisks

    No risks are accepted.
    ");
}

#[test]
fn an_empty_request_goes_and_one_for_a_release_stays() {
    let mut object = risky();
    accept(&mut object, &["SlowDisks"], None);
    let update = object.spec.desired_update.as_mut().unwrap();
    (update.version, update.image, update.force) =
        (Some(String::new()), Some(String::new()), Some(false));
    assert_eq!(*desired_update(&plan(&object, &["--clear"])), Value::Null);

    object.spec.desired_update.as_mut().unwrap().version = Some("5.2.1".to_owned());
    assert_eq!(*desired_update(&plan(&object, &["--clear"])), json!({"acceptRisks": null}));
}

#[test]
fn what_is_there_already_is_not_written_again() {
    let mut object = risky();
    accept(&mut object, &["SlowDisks"], None);
    let definition = fairway_risk::definition_hash(&risk("SlowDisks", "True"));
    let annotation = json!({"SlowDisks": {"by": "bob", "definition": definition}}).to_string();
    accept(&mut object, &["SlowDisks"], Some(&annotation));
    let again = plan(&object, &["SlowDisks"]);
    assert!(again.patch.is_none());
    insta::assert_snapshot!(again.outcome, @"
    Already accepted: SlowDisks
    No change.
    Accepted risks: SlowDisks
    ");

    let until = plan(&object, &["SlowDisks", "--until=2026-12-31"]);
    assert_eq!(until.patch.as_ref().unwrap().get("spec"), None, "only the terms change");
    insta::assert_snapshot!(until.outcome, @"
    Accepted with new terms: SlowDisks, until 2026-12-31, by alice

    After the operator has re-evaluated the updates:
      5.2.1 becomes recommended
      5.2.2 is still not recommended because of NoisyLogs

    Accepted risks: SlowDisks
    ");
    assert!(plan(&cluster_version(), &["--clear"]).patch.is_none());
}

#[test]
fn an_update_that_waits_for_it_goes_on() {
    let mut object = risky();
    object.spec.desired_update = Some(objects::update_to("5.2.1"));
    hold(&mut object, condition("ReleaseAccepted", false, "UnacceptedRisks", "SlowDisks"));
    insta::assert_snapshot!(plan(&object, &["SlowDisks"]).outcome.effect, @"

    After the operator has re-evaluated the updates:
      the pending update to 5.2.1 continues
      5.2.1 becomes recommended
      5.2.2 is still not recommended because of NoisyLogs
    ");
    let image = objects::release("5.2.1").image;
    let (_, digest) = image.rsplit_once('@').unwrap();
    object.spec.desired_update.as_mut().unwrap().image = Some(format!("mirror.example/r@{digest}"));
    let mirrored = plan(&object, &["SlowDisks"]).outcome.effect;
    assert_eq!(
        mirrored.unblocked_update.as_deref(),
        Some("5.2.1"),
        "by whatever name it was asked for"
    );
    let elsewhere = plan(&object, &["SlowDisks", "--for=5.3.x"]);
    assert_eq!(elsewhere.outcome.effect.unblocked_update, None);
}

#[test]
fn an_update_that_waits_for_more_says_for_what() {
    let mut object = risky();
    object.spec.desired_update = Some(objects::update_to("5.2.2"));
    hold(&mut object, condition("ReleaseAccepted", false, "UnacceptedRisks", "Two risks"));
    let one = plan(&object, &["SlowDisks"]).outcome;
    assert_eq!(one.exit_status(), ExitStatus::NewRisks);
    insta::assert_snapshot!(one.effect, @"

    After the operator has re-evaluated the updates:
      the requested update to 5.2.2 still waits for NoisyLogs
      5.2.1 becomes recommended
      5.2.2 is still not recommended because of NoisyLogs
    ");
    let both = plan(&object, &["SlowDisks", "NoisyLogs"]).outcome;
    assert_eq!((both.exit_status(), both.effect.blocked_update), (ExitStatus::Success, None));
    accept(&mut object, &["SlowDisks"], None);
    let back = plan(&object, &["SlowDisks-"]).outcome;
    assert_eq!(back.exit_status(), ExitStatus::Success, "who accepts nothing is told nothing new");
}

/// The names that are accepted after each of several steps.
#[test]
fn names_come_and_go_step_by_step() {
    let mut object = cluster_version();
    for (arguments, names) in [
        (&["B,A"][..], &["A", "B"][..]),
        (&["C"], &["A", "B", "C"]),
        (&["--replace", "D,B"], &["B", "D"]),
        (&["D-"], &["B"]),
        (&["B, C ,A", "B"], &["B", "A", "C"]),
        (&["--clear"], &[]),
    ] {
        let plan = plan(&object, arguments);
        assert_eq!(plan.outcome.accept_risks, names, "{arguments:?}");
        let written = desired_update(&plan).clone();
        assert_eq!(written.is_null(), names.is_empty(), "nothing empty is left: {written}");
        object.spec.desired_update = serde_json::from_value(written).unwrap();
    }
}

#[test]
fn a_risk_that_is_taken_back_takes_recommendations_with_it() {
    let mut object = risky();
    accept(&mut object, &["SlowDisks"], None);
    let status = object.status.as_mut().unwrap();
    status.conditional_updates[0].conditions =
        vec![recommended("True", "AllExposedRisksAccepted", "")];
    insta::assert_snapshot!(plan(&object, &["SlowDisks-"]).outcome.effect, @"

    After the operator has re-evaluated the updates:
      5.2.2 is still not recommended because of NoisyLogs, SlowDisks
      5.2.1 is no longer recommended because of SlowDisks
    ");
}

#[test]
fn an_update_that_is_not_offered_never_becomes_recommended() {
    let mut object = cluster_version();
    let risks = [risk("NotOfferedByUpdateService", "True")];
    offer(&mut object, "5.3.0", &risks, recommended("False", "NotOfferedByUpdateService", ""));
    let plan = plan(&object, &["NotOfferedByUpdateService"]);
    assert_eq!(plan.outcome.effect.newly_recommended, [""; 0]);
}

#[test]
fn what_may_not_have_been_meant() {
    let mut object = risky();
    accept(&mut object, &["SlowDisks"], None);
    let plan = plan(&object, &["SlowDisk", "Etcd", "SlowDiks-"]);
    insta::assert_snapshot!(plan.outcome.warnings.join("\n"), @"
    no available update has a risk named Etcd
    no available update has a risk named SlowDisk; did you mean SlowDisks?
    SlowDiks is not an accepted risk; did you mean SlowDisks?
    ");
}

#[test]
fn what_is_refused() {
    let refused = |object: &ClusterVersion, arguments: &[&str]| {
        let error = Plan::of(object, &wish(arguments), now()).err().expect("a refusal");
        crate::errors::chain(&error).join(": ")
    };
    let mut broken = risky();
    accept(&mut broken, &["Zeta"], Some("{\"Zeta\": \u{1b}"));
    insta::assert_snapshot!(refused(&broken, &["SlowDisks"]), @"cannot read annotation fairway.dev/accepted-risks with the terms of the accepted risks: expected value at line 1 column 10");

    let many: Vec<String> = (0..1000).map(|number| format!("Risk{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut full = risky();
    accept(&mut full, &many, None);
    assert!(Plan::of(&full, &wish(&["Risk7"]), now()).is_ok());
    insta::assert_snapshot!(refused(&full, &["SlowDisks"]), @"cannot accept 1001 risks: the maximum is 1000");

    let reason = format!("--reason={}", "x".repeat(1024));
    let arguments: Vec<&str> = many.iter().copied().take(200).chain([reason.as_str()]).collect();
    insta::assert_snapshot!(refused(&risky(), &arguments), @"the acceptance terms have 212091 bytes, more than the maximum of 131072");
}

#[test]
fn arguments_that_make_no_sense_together() {
    let wrong = |arguments: &[&str]| {
        let typed = Typed::try_parse_from([&["accept"], arguments].concat()).unwrap();
        Wish::of(&typed.args, now()).unwrap_err().to_string()
    };
    let said = [
        wrong(&["A", "B,A-"]),
        wrong(&["--replace", "A", "B-"]),
        wrong(&["A-", "--reason=because"]),
        wrong(&["A", "--until=9000y"]),
        wrong(&["A", "--until=2025-12-31"]),
    ];
    insta::assert_snapshot!(said.join("\n"), @"
    A and A- exclude each other
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

#[test]
fn who_names_no_risk_hears_where_the_list_is() {
    let wish = |arguments: &[&str]| {
        let typed = Typed::try_parse_from([&["accept"], arguments].concat()).unwrap();
        Wish::of(&typed.args, now()).map_err(|error| error.to_string())
    };
    for arguments in [&[][..], &["--replace"]] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(wish(arguments).unwrap_err(), @"no risk is named; run `fairway upgrade accept --export` to list the accepted risks");
        }
    }
    assert!(wish(&["--clear"]).is_ok());
}
