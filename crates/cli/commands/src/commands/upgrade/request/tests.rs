use clap::Parser;
use fairway_api::ClusterVersion;
use fairway_api::cluster_version::{AcceptRisk, Update, UpdateHistory, UpdateState};
use fairway_insight::{RequestState, RequestStatus};
use fairway_risk::ANNOTATION;
use fairway_testkit::objects;
use serde_json::{Value, json};

use super::arguments::UpdateRequest;
use super::cautions::UpdateCaution;
use super::decision::decide;
use super::outcome::UpdateOutcome;
use crate::args::upgrade::RequestArgs;
use crate::commands::upgrade::change::Change;
use crate::commands::upgrade::fixtures::{
    accept, cluster_version, condition, hold, now, offer, recommended, risk,
};
use crate::errors::{self, Exposure};

#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    args: RequestArgs,
}

fn request(arguments: &[&str]) -> Result<UpdateRequest, errors::WrongUsage> {
    let typed = Typed::try_parse_from([&["upgrade"], arguments].concat()).unwrap();
    let mut request = UpdateRequest::of(&typed.args)?;
    if let UpdateRequest::Release(request) = &mut request {
        request.user = Some("alice".to_owned());
    }
    Ok(request)
}

fn change(object: &ClusterVersion, arguments: &[&str]) -> Change<UpdateOutcome> {
    decide(object, &request(arguments).unwrap(), now()).unwrap()
}

fn refused(object: &ClusterVersion, arguments: &[&str]) -> anyhow::Error {
    decide(object, &request(arguments).unwrap(), now()).err().expect("a refusal")
}

/// Text of a refusal, with its exit code.
fn refusal(object: &ClusterVersion, arguments: &[&str]) -> String {
    let error = refused(object, arguments);
    let code = errors::status(&error).code();
    let hint = errors::hint(&error).unwrap_or_default();
    format!("{code}: {}\nhint: {hint}", errors::chain(&error).join("\n  "))
}

fn desired_update(change: &Change<UpdateOutcome>) -> &Value {
    &change.patch.as_ref().expect("a patch")["spec"]["desiredUpdate"]
}

/// Cluster with 5.1.9 and 5.1.10, and with updates that risks block or may block.
fn risky() -> ClusterVersion {
    let mut object = cluster_version();
    let (slow, noisy) = (risk("SlowDisks", "True"), risk("NoisyLogs", "Unknown"));
    let not = |status, reason| recommended(status, reason, "Not now.\nReally.");
    let harmless = risk("Harmless", "False");
    offer(&mut object, "5.2.1", &[slow, noisy.clone(), harmless], not("False", "MultipleReasons"));
    offer(&mut object, "5.2.2", &[noisy], not("Unknown", "EvaluationFailed"));
    object
}

#[test]
fn request_patches_version_image_and_resource_version() {
    let mut object = risky();
    accept(&mut object, &["Zeta"], None);
    object.spec.desired_update.as_mut().unwrap().mode = Some("Preflight".into());
    let change = change(&object, &["--to=5.1.9"]);
    assert_eq!(
        *change.patch.as_ref().unwrap(),
        json!({
            "metadata": { "resourceVersion": "7" },
            "spec": { "desiredUpdate": {
                "architecture": null,
                "version": "5.1.9",
                "image": objects::release("5.1.9").image,
                "force": null,
                "acceptRisks": [{ "name": "Zeta" }],
                "mode": null,
            }},
        }),
        "with a mode, it would be no update"
    );
    insta::assert_snapshot!(change.outcome, @"Requested update to 5.1.9");
}

#[test]
fn allow_not_recommended_accepts_open_risks() {
    let mut object = risky();
    accept(&mut object, &["Zeta", "NoisyLogs"], Some(r#"{"NoisyLogs":{"for":"5.0.x"}}"#));
    let change = change(&object, &["--to=5.2.1", "--allow-not-recommended"]);
    let names = json!([{ "name": "Zeta" }, { "name": "NoisyLogs" }, { "name": "SlowDisks" }]);
    assert_eq!(desired_update(&change)["acceptRisks"], names);
    let annotation = &change.patch.as_ref().unwrap()["metadata"]["annotations"][ANNOTATION];
    let terms: Value = serde_json::from_str(annotation.as_str().unwrap()).unwrap();
    assert_eq!(terms["NoisyLogs"]["for"], "5.0.x || 5.2.1", "what it was accepted for stays");
    assert_eq!(terms["SlowDisks"]["for"], "5.2.1");
    assert_eq!(terms.as_object().unwrap().len(), 2);
    insta::assert_snapshot!(change.outcome, @"
    Requested update to 5.2.1

    Accepted: NoisyLogs (may apply), for 5.0.x || 5.2.1, by alice
      NoisyLogs may happen.
      https://example.com/NoisyLogs

    Accepted: SlowDisks (applies), for 5.2.1, by alice
      SlowDisks may happen.
      https://example.com/SlowDisks
    ");
}

#[test]
fn accepted_risks_do_not_block() {
    let mut object = risky();
    accept(&mut object, &["SlowDisks", "NoisyLogs"], None);
    let change = change(&object, &["--to=5.2.1", "--allow-not-recommended"]);
    assert_eq!(change.patch.as_ref().unwrap()["metadata"], json!({ "resourceVersion": "7" }));
    assert_eq!(change.outcome.to_string(), "Requested update to 5.2.1");
}

#[test]
fn not_recommended_update_is_refused() {
    insta::assert_snapshot!(refusal(&risky(), &["--to=5.2.1"]), @"
    3: 5.2.1 is not recommended for this cluster: NoisyLogs (may apply), SlowDisks (applies)
      Not now. Really.
    hint: run `fairway upgrade --include-not-recommended` for details; to accept only these risks for 5.2.1 and request the update, run `fairway upgrade --to=5.2.1 --allow-not-recommended`
    ");
    insta::assert_snapshot!(refusal(&risky(), &["--to=5.2.2"]), @"
    4: it is unknown whether 5.2.2 is recommended for this cluster: NoisyLogs (may apply)
      Not now. Really.
    hint: run `fairway upgrade --include-not-recommended` for details; to accept only these risks for 5.2.2 and request the update, run `fairway upgrade --to=5.2.2 --allow-not-recommended`
    ");
    let error = refused(&risky(), &["--to=5.2.1"]);
    let risks = errors::open_risks(&error).iter().map(|risk| (&*risk.name, risk.exposure));
    assert_eq!(
        risks.collect::<Vec<_>>(),
        [("NoisyLogs", Exposure::Unknown), ("SlowDisks", Exposure::Exposed)]
    );
}

#[test]
fn exposure_without_ledger_follows_recommended() {
    use fairway_api::cluster_version::MatchingRuleType;

    let mut object = risky();
    let status = object.status.as_mut().unwrap();
    status.conditional_update_risks.clear();
    for update in &mut status.conditional_updates {
        update.conditions[0].reason = "SlowDisks".to_owned();
        for risk in &mut update.risks {
            risk.conditions.clear();
            risk.matching_rules[0].type_ = MatchingRuleType::PromQl;
        }
    }
    let refusal = refusal(&object, &["--to=5.2.1"]);
    insta::assert_snapshot!(refusal.lines().next().unwrap(), @"3: 5.2.1 is not recommended for this cluster: SlowDisks (applies)");
}

#[test]
fn unlisted_version_is_refused() {
    insta::assert_snapshot!(refusal(&risky(), &["--to=5.1.1"]), @"
    3: 5.1.1 is not an available update of this cluster
    hint: did you mean 5.1.10? available updates: 5.2.2, 5.2.1, 5.1.10, 5.1.9; to use an unlisted image, pass --to-image and --allow-explicit-upgrade
    ");
    let mut object = cluster_version();
    object.status.as_mut().unwrap().available_updates = Some(Vec::new());
    insta::assert_snapshot!(refusal(&object, &["--to=5.1.1"]), @"
    3: 5.1.1 is not an available update of this cluster
    hint: no updates are available; to use an unlisted image, pass --to-image and --allow-explicit-upgrade
    ");
    hold(&mut object, condition("RetrievedUpdates", false, "RemoteFailed", "No response."));
    insta::assert_snapshot!(refusal(&object, &["--to=5.1.1"]), @"
    4: the available updates are unknown
      No response.
    hint: run `fairway upgrade` for the reason; to use an unlisted image, pass --to-image and --allow-explicit-upgrade
    ");
    assert_eq!(refusal(&object, &["--to-latest"]), refusal(&object, &["--to=5.1.1"]));
}

#[test]
fn latest_is_highest_allowed_version() {
    let latest = |object: &ClusterVersion, arguments: &[&str]| {
        let change = change(object, &[&["--to-latest"], arguments].concat());
        desired_update(&change)["version"].as_str().unwrap().to_owned()
    };
    assert_eq!(latest(&risky(), &[]), "5.1.10");
    assert_eq!(latest(&risky(), &["--allow-not-recommended"]), "5.2.2");
}

#[test]
fn latest_without_later_release_changes_nothing() {
    let mut object = risky();
    object.status.as_mut().unwrap().available_updates = Some(vec![objects::release("5.0.9")]);
    let change = change(&object, &["--to-latest"]);
    assert!(change.patch.is_none());
    insta::assert_snapshot!(output(&change.outcome), @"
    Cluster is already at the latest available version 5.1.0
    warning: some updates are not recommended; list them with `fairway upgrade --include-not-recommended`
    ");
}

/// Text, with cautions and warnings.
fn output(outcome: &UpdateOutcome) -> String {
    let cautions = outcome.cautions.iter().map(ToString::to_string);
    let warnings = cautions.chain(outcome.warnings.iter().cloned());
    let warnings = warnings.map(|warning| format!("\nwarning: {warning}"));
    format!("{outcome}{}", warnings.collect::<String>())
}

#[test]
fn image_is_requested_as_given() {
    let listed = objects::release("5.1.9").image;
    let digest = listed.split_once('@').unwrap().1;
    let mirror = format!("--to-image=mirror.example/release@{digest}");
    let of = |arguments: &[&str]| desired_update(&change(&risky(), arguments)).clone();
    let update = of(&[&mirror]);
    assert_eq!((&update["version"], &update["image"]), (&json!("5.1.9"), &json!(mirror[11..])));
    assert_eq!(of(&[&mirror, "--to=5.1.9"]), update);
    insta::assert_snapshot!(refusal(&risky(), &[&mirror, "--to=5.1.10"]), @"
    1: the image has version 5.1.9, not 5.1.10
    hint: omit --to, or set it to the version of the image
    ");

    let foreign = format!("--to-image=registry.example/release@sha256:{}", "0".repeat(64));
    insta::assert_snapshot!(refusal(&risky(), &[&foreign]), @"
    3: registry.example/release@sha256:0000000000000000000000000000000000000000000000000000000000000000 is not an available update of this cluster
    hint: available updates: 5.2.2, 5.2.1, 5.1.10, 5.1.9; to use an unlisted image, pass --to-image and --allow-explicit-upgrade
    ");
    let change = change(&risky(), &[&foreign, "--allow-explicit-upgrade", "--to=5.3.0", "--force"]);
    let update = desired_update(&change);
    assert_eq!((&update["version"], &update["force"]), (&json!("5.3.0"), &json!(true)));
    insta::assert_snapshot!(output(&change.outcome), @"
    Requested update to 5.3.0
    warning: the update from 5.1.0 to 5.3.0 is a skip-level update that skips one minor version
    warning: --force skips signature verification and waives all preconditions and risks: make sure that you trust this image
    warning: the image does not belong to an available update
    ");
}

#[test]
fn image_by_tag_needs_force() {
    assert!(request(&["--to-image=registry.example/release:5.1.9"]).is_err());
    assert!(request(&["--to-image=registry.example/release:5.1.9", "--force"]).is_ok());
}

#[test]
fn unlisted_image_uses_its_metadata() {
    let image = format!("registry.example/release@sha256:{}", "0".repeat(64));
    let asked = |looked_up: Result<&str, &str>| {
        let arguments = [&format!("--to-image={image}"), "--allow-explicit-upgrade"];
        let UpdateRequest::Release(mut request) = request(&arguments).unwrap() else {
            panic!("an update")
        };
        assert_eq!(request.unknown_image(), Some(&image[..]));
        let found = looked_up.map(objects::release).map_err(str::to_owned);
        request.image_metadata = Some(found.map(Box::new));
        decide(&risky(), &UpdateRequest::Release(request), now()).unwrap()
    };
    let earlier = asked(Ok("5.0.9"));
    let update = desired_update(&earlier);
    assert_eq!((&update["version"], &update["image"]), (&json!("5.0.9"), &json!(image)));
    let unknown = asked(Err("no\nresponse"));
    assert_eq!(desired_update(&unknown)["version"], Value::Null);
    insta::assert_snapshot!(output(&earlier.outcome), @"
    Requested update to 5.0.9
    warning: the update from 5.1.0 to 5.0.9 is a downgrade
    warning: the image does not belong to an available update
    ");
    insta::assert_snapshot!(output(&unknown.outcome), @"
    Requested update to registry.example/release@sha256:0000000000000000000000000000000000000000000000000000000000000000
    warning: the version of the image is unknown: no response
    warning: the image does not belong to an available update
    ");
    assert!(unknown.outcome.cautions.iter().all(UpdateCaution::needs_confirmation));

    for known in [&["--to=5.1.9"][..], &["--to-image=a/b:c", "--force"]] {
        let UpdateRequest::Release(request) = request(known).unwrap() else { panic!("an update") };
        assert_eq!(request.unknown_image(), None, "{known:?}: the version is known");
    }
}

#[test]
fn new_risks_have_their_own_exit_status() {
    let mut object = risky();
    accept(&mut object, &["NoisyLogs"], None);
    insta::assert_snapshot!(refusal(&object, &["--to=5.2.1"]), @"
    6: 5.2.1 has new unaccepted risks: SlowDisks (applies)
      Not now. Really.
    hint: run `fairway upgrade --include-not-recommended` for details; to accept only these risks for 5.2.1 and request the update, run `fairway upgrade --to=5.2.1 --allow-not-recommended`
    ");
    for (annotation, code) in [
        (r#"{"NoisyLogs":{"for":"5.2.x"}}"#, "6"),
        (r#"{"NoisyLogs":{"for":"5.0.x"}}"#, "3"),
        (r#"{"NoisyLogs":{"until":"2025-12-31"}}"#, "3"),
    ] {
        accept(&mut object, &["NoisyLogs"], Some(annotation));
        let refused = refusal(&object, &["--to=5.2.1"]);
        assert!(refused.starts_with(code), "{annotation}: {refused}");
    }
    accept(&mut object, &["SlowDisks", "NoisyLogs"], Some(r#"{"NoisyLogs":{"for":"5.0.x"}}"#));
    let refused = refusal(&object, &["--to=5.2.1"]);
    assert!(refused.starts_with('4'), "what was accepted for others is not new: {refused}");
    accept(&mut object, &["SomethingElse"], Some("{}"));
    assert!(
        refusal(&object, &["--to=5.2.2"]).starts_with('6'),
        "it may apply, and was not accepted"
    );
}

#[test]
fn force_does_not_waive_not_recommended() {
    insta::assert_snapshot!(refusal(&risky(), &["--to=5.2.1", "--force"]), @"
    3: 5.2.1 is not recommended for this cluster: NoisyLogs (may apply), SlowDisks (applies)
      Not now. Really.
    hint: run `fairway upgrade --include-not-recommended` for details; to accept only these risks for 5.2.1 and request the update, run `fairway upgrade --to=5.2.1 --allow-not-recommended`; --force does not waive this check
    ");
}

#[test]
fn request_for_current_release_changes_nothing() {
    let at = change(&risky(), &["--to=5.1.0"]);
    assert!(at.patch.is_none() && !at.outcome.needs_decision());
    assert_eq!(output(&at.outcome), "Cluster is already at version 5.1.0");

    let mut object = risky();
    hold(&mut object, condition("Progressing", true, "", "Working towards 5.1.0: 3 of 4"));
    let in_progress = change(&object, &["--to=5.1.0"]).outcome;
    insta::assert_snapshot!(in_progress, @"An update to 5.1.0 is already in progress: Working towards 5.1.0: 3 of 4");
    let message = Some("Working towards 5.1.0: 4 of 4".to_owned());
    let status = Some(RequestStatus { state: RequestState::Started, reason: None, message });
    insta::assert_snapshot!(UpdateOutcome { status, ..in_progress }, @"
    An update to 5.1.0 is already in progress

    The operator accepted the release. Working towards 5.1.0: 4 of 4
    ");

    let mut object = risky();
    object.spec.desired_update = Some(objects::update_to("5.1.9"));
    let image = format!("--to-image={}", objects::release("5.1.0").image);
    insta::assert_snapshot!(refusal(&object, &["--to=5.1.3", &image]), @"
    1: the image has version 5.1.0, not 5.1.3
    hint: omit --to, or set it to the version of the image
    ");
    insta::assert_snapshot!(output(&change(&object, &[&image]).outcome), @"
    Cluster is already at version 5.1.0
    warning: the request for 5.1.9 remains; withdraw it with `fairway upgrade --clear`
    ");
}

#[test]
fn repeated_request_changes_nothing() {
    let mut object = risky();
    let release = objects::release("5.1.9");
    let asked = Update { image: Some(release.image), ..objects::update_to("5.1.9") };
    object.spec.desired_update = Some(asked);
    hold(&mut object, condition("Progressing", true, "", "Working towards 5.1.9"));
    let again = change(&object, &["--to=5.1.9"]);
    assert!(again.patch.is_none() && again.outcome.needs_decision());
    assert_eq!(again.outcome.to_string(), "An update to 5.1.9 is already requested");
    let forced = decide(&object, &request(&["--to=5.1.9", "--force"]).unwrap(), now());
    assert!(forced.is_err(), "that is another request");
}

#[test]
fn expired_acceptance_is_renewed() {
    let mut object = risky();
    accept(&mut object, &["NoisyLogs"], Some(r#"{"NoisyLogs":{"until":"2025-12-31"}}"#));
    let asked = object.spec.desired_update.as_mut().unwrap();
    asked.version = Some("5.2.2".to_owned());
    asked.image = Some(objects::release("5.2.2").image);
    assert!(change(&object, &["--to=5.2.2", "--allow-not-recommended"]).patch.is_some());
}

#[test]
fn failing_or_progressing_cluster_refuses() {
    let mut object = risky();
    hold(&mut object, condition("Invalid", true, "InvalidClusterVersion", "It is."));
    hold(&mut object, condition("Failing", true, "MultipleErrors", "a\nb"));
    hold(&mut object, condition("Progressing", true, "", "Working towards 5.1.3"));
    insta::assert_snapshot!(refusal(&object, &["--to=5.1.9"]), @"
    3: cannot update now
      ClusterVersion is invalid: InvalidClusterVersion: It is.; the cluster is failing: MultipleErrors: a b; another update is in progress: Working towards 5.1.3
    hint: run `fairway upgrade` for details; to update anyway, add --allow-upgrade-with-warnings
    ");
    let change = change(&object, &["--to=5.1.9", "--allow-upgrade-with-warnings"]);
    insta::assert_snapshot!(output(&change.outcome), @"
    Requested update to 5.1.9
    warning: ClusterVersion is invalid: InvalidClusterVersion: It is.
    warning: the cluster is failing: MultipleErrors: a b
    warning: another update is in progress: Working towards 5.1.3
    ");
}

#[test]
fn degraded_operators_do_not_block() {
    let mut object = risky();
    hold(&mut object, condition("Failing", true, "ClusterOperatorDegraded", "dns is degraded"));
    insta::assert_snapshot!(output(&change(&object, &["--to=5.1.9"]).outcome), @"
    Requested update to 5.1.9
    warning: the cluster is failing: ClusterOperatorDegraded: dns is degraded
    ");
}

#[test]
fn clear_keeps_accepted_risks() {
    let mut object = risky();
    assert_eq!(change(&object, &["--clear"]).outcome.to_string(), "No update is requested");
    object.spec.desired_update = Some(objects::update_to("5.1.9"));
    let cancelled = change(&object, &["--clear"]);
    assert_eq!(*desired_update(&cancelled), Value::Null);
    assert_eq!(cancelled.outcome.to_string(), "Cancelled requested upgrade to 5.1.9");

    let update = object.spec.desired_update.as_mut().unwrap();
    update.accept_risks = vec![AcceptRisk { name: "Zeta".to_owned(), ..AcceptRisk::default() }];
    update.mode = Some("Preflight".into());
    let kept = change(&object, &["--clear"]);
    assert_eq!(kept.outcome.to_string(), "Cancelled requested preflight of 5.1.9");
    assert_eq!(desired_update(&kept)["acceptRisks"], json!([{ "name": "Zeta" }]));
    assert_eq!(desired_update(&kept)["mode"], Value::Null);
    assert_eq!(desired_update(&kept)["version"], Value::Null);

    accept(&mut object, &["Zeta"], None);
    object.spec.desired_update = Some(objects::update_to("5.1.0"));
    let still = change(&object, &["--clear"]).outcome;
    assert_eq!(still.to_string(), "Cleared the update field, still at 5.1.0");
}

#[test]
fn clear_during_rollout_warns_of_rollback_or_continuation() {
    let withdrawn = |to: &str, before: &str| {
        let mut object = risky();
        let status = object.status.as_mut().unwrap();
        status.desired = objects::release(to);
        let entry = |version: &str, state| UpdateHistory {
            state,
            version: Some(version.to_owned()),
            image: objects::release(version).image,
            ..UpdateHistory::default()
        };
        status.history =
            vec![entry(to, UpdateState::Partial), entry(before, UpdateState::Completed)];
        object.spec.desired_update = Some(objects::update_to(to));
        output(&change(&object, &["--clear"]).outcome)
    };
    insta::assert_snapshot!(withdrawn("5.1.9", "5.1.0"), @"
    Withdrew the request for 5.1.9
    warning: the update has started: the operator rolls back to 5.1.0, unless the operator of 5.1.9 is already running; in that case, the update continues
    ");
    insta::assert_snapshot!(withdrawn("5.2.0", "5.1.9"), @"
    Withdrew the request for 5.2.0
    warning: the update has started and continues to 5.2.0: a rollback is possible only to the previous release of the same minor version
    ");
}

#[test]
fn verify_detects_changed_fields() {
    let object = risky();
    let change = change(&object, &["--to=5.1.9"]);
    assert!((change.verify)(&object).is_err(), "the request is gone");
    let mut kept = object;
    kept.spec.desired_update = Some(change.outcome.update.clone());
    assert!((change.verify)(&kept).is_ok());
    kept.spec.desired_update.as_mut().unwrap().mode = Some("Preflight".into());
    assert!((change.verify)(&kept).is_err(), "that would be no update");
}

#[test]
fn invalid_or_conflicting_arguments_are_refused() {
    for arguments in [
        &["--to=latest"][..],
        &["--to=5.1"],
        &["--to=5.1.9", "--to-latest"],
        &["--to-latest", "--to-image=a/b:c"],
        &["--clear", "--to=5.1.9"],
        &["--clear", "--force"],
        &["--force"],
        &["--allow-not-recommended"],
        &["--allow-upgrade-with-warnings"],
        &["--to=5.1.9", "--allow-explicit-upgrade"],
        &["--to=5.1.9", "--timeout=soon"],
        &["--to-multi-arch", "--to=5.1.9"],
        &["--to-multi-arch", "--to-latest"],
        &["--to-multi-arch", "--to-image=a/b:c"],
        &["--to-multi-arch", "--clear"],
        &["--to-multi-arch", "--allow-not-recommended"],
        &["--to=5.1.9", "--wait", "--no-wait"],
        &["--yes"],
        &["--clear", "--yes"],
    ] {
        let typed = Typed::try_parse_from([&["upgrade"], arguments].concat());
        assert!(typed.is_err(), "{arguments:?}");
    }
}

#[test]
fn clear_of_preflight_keeps_update_in_progress() {
    let mut object = cluster_version();
    let mode = Some("Preflight".into());
    object.spec.desired_update = Some(Update { mode, ..objects::update_to("5.2.0") });
    assert_eq!(*desired_update(&change(&object, &["--clear"])), Value::Null);
    let status = object.status.as_mut().unwrap();
    status.desired = objects::release("5.1.9");
    status.history.insert(
        0,
        UpdateHistory {
            state: UpdateState::Partial,
            image: status.desired.image.clone(),
            ..UpdateHistory::default()
        },
    );
    let change = change(&object, &["--clear"]);
    let left = desired_update(&change);
    let image = json!(objects::release("5.1.9").image);
    assert_eq!((&left["image"], &left["mode"]), (&image, &Value::Null));
}

#[test]
fn hint_quotes_version_for_the_shell() {
    let mut object = risky();
    let release = &mut object.status.as_mut().unwrap().conditional_updates[0].release;
    release.version = "5.2.1; reboot".to_owned();
    let image = format!("--to-image={}", release.image);
    let said = refusal(&object, &[&image]);
    assert!(
        said.contains("`fairway upgrade --to='5.2.1; reboot' --allow-not-recommended`"),
        "{said}"
    );
}
