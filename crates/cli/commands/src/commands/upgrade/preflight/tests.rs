use clap::Parser;
use fairway_api::cluster_version::{Update, UpdateHistory, UpdateState};
use fairway_api::{ClusterVersion, Conditions as _};
use fairway_findings::record::KEEP_RESULTS;
use fairway_testkit::objects;
use serde_json::{Value, json};

use super::outcome::{Action, Outcome};
use super::{ask, clear, request, withdrawal};
use crate::args::upgrade::RequestArgs;
use crate::args::upgrade_preflight::{PreflightArgs, PreflightWish};
use crate::commands::upgrade::change::Change;
use crate::commands::upgrade::fixtures::{
    accept, cluster_version, condition, hold, offer, recommended, risk,
};
use crate::errors;

#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    preflight: PreflightArgs,
}

fn typed(arguments: &[&str]) -> Result<Typed, String> {
    let typed = Typed::try_parse_from([&["upgrade"], arguments].concat());
    typed.map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// A cluster at 5.1.0 whose operator knows preflights.
fn ready() -> ClusterVersion {
    let mut object = cluster_version();
    hold(&mut object, condition("PreflightRunning", false, "NotRequested", ""));
    let slow = [risk("SlowDisks", "True")];
    offer(&mut object, "5.2.0", &slow, recommended("False", "SlowDisks", "Slow."));
    let beyond = [risk("NotOfferedByUpdateService", "True")];
    offer(&mut object, "5.3.0", &beyond, recommended("False", "NotOfferedByUpdateService", "No."));
    object
}

fn asking(object: &mut ClusterVersion, update: Update) {
    let accept_risks = object.spec.desired_update.take().unwrap_or_default().accept_risks;
    object.spec.desired_update = Some(Update { accept_risks, ..update });
}

fn preflight_of(version: &str) -> Update {
    let release = objects::release(version);
    Update {
        mode: Some("Preflight".into()),
        image: Some(release.image),
        ..objects::update_to(version)
    }
}

/// An update to 5.1.9 that has begun.
fn begun(object: &mut ClusterVersion) {
    let status = object.status.as_mut().unwrap();
    status.desired = objects::release("5.1.9");
    status.history.insert(
        0,
        UpdateHistory {
            state: UpdateState::Partial,
            version: Some("5.1.9".to_owned()),
            image: status.desired.image.clone(),
            ..UpdateHistory::default()
        },
    );
}

fn plan(object: &ClusterVersion, arguments: &[&str]) -> request::Plan {
    let wish = ask::wish(&typed(arguments).unwrap().request, false).unwrap();
    request::Plan::of(object, &wish).unwrap()
}

fn refusal(object: &ClusterVersion, arguments: &[&str], for_a_while: bool) -> String {
    let wish = ask::wish(&typed(arguments).unwrap().request, for_a_while).unwrap();
    said(&request::Plan::of(object, &wish).expect_err("a refusal"))
}

fn said(error: &anyhow::Error) -> String {
    let code = errors::status(error).code();
    let hint = errors::hint(error).unwrap_or_default();
    format!("{code}: {}\nhint: {hint}", errors::chain(error).join("\n  "))
}

fn desired(plan: &impl Change) -> &Value {
    &plan.patch().expect("a patch")["spec"]["desiredUpdate"]
}

#[test]
fn a_preflight_is_asked_for_with_a_precondition_and_keeps_accepted_risks() {
    let mut object = ready();
    accept(&mut object, &["Zeta"], None);
    let plan = plan(&object, &["--mode=preflight", "--to=5.2.0"]);
    assert_eq!(
        *plan.patch().unwrap(),
        json!({
            "metadata": { "resourceVersion": "7" },
            "spec": { "desiredUpdate": {
                "architecture": null,
                "version": "5.2.0",
                "image": objects::release("5.2.0").image,
                "force": null,
                "acceptRisks": [{ "name": "Zeta" }],
                "mode": "Preflight",
            }},
        })
    );
    assert!(plan.warnings.is_empty());
}

#[test]
fn any_release_can_be_asked() {
    let object = ready();
    let image = objects::release("6.0.0").image;
    for (arguments, version, image) in [
        // The operator finds it in the graph, or says that it is not there.
        (vec!["--to=5.7.0".to_owned()], json!("5.7.0"), Value::Null),
        (vec![format!("--to-image={image}")], Value::Null, json!(image)),
        // Recommended or not, but offered: what is found must not change what is the latest.
        (vec!["--to-latest".to_owned()], json!("5.2.0"), json!(objects::release("5.2.0").image)),
    ] {
        let mut typed = vec!["--mode=preflight"];
        typed.extend(arguments.iter().map(String::as_str));
        let plan = plan(&object, &typed);
        let written = desired(&plan);
        assert_eq!((&written["version"], &written["image"]), (&version, &image), "{arguments:?}");
    }
}

#[test]
fn what_is_replaced_is_said() {
    let mut object = ready();
    let warnings = |object: &ClusterVersion| {
        let plan = plan(object, &["--mode=preflight", "--to=5.2.0"]);
        (serde_json::to_value(&plan.replaces).unwrap()["type"].clone(), plan.warnings.join("\n"))
    };
    asking(&mut object, preflight_of("5.3.0"));
    let (what, text) = warnings(&object);
    assert_eq!(what, "preflight");
    insta::assert_snapshot!(text, @"this replaces the preflight of 5.3.0; its results are kept");

    asking(&mut object, objects::update_to("5.1.9"));
    let (what, text) = warnings(&object);
    assert_eq!(what, "pendingUpdate");
    insta::assert_snapshot!(text, @"this replaces the request to update to 5.1.9, which has not started; request it again after the preflight");

    asking(&mut object, objects::update_to("5.1.0"));
    assert_eq!(warnings(&object), (Value::Null, String::new()), "it is complete");

    begun(&mut object);
    asking(&mut object, objects::update_to("5.1.9"));
    let (what, text) = warnings(&object);
    assert_eq!(what, "updateInProgress");
    insta::assert_snapshot!(text, @"the update to 5.1.9 continues: a preflight does not interrupt it");
}

#[test]
fn what_is_asked_for_already_is_not_written_again() {
    let mut object = ready();
    asking(&mut object, preflight_of("5.2.0"));
    let again = plan(&object, &["--mode=preflight", "--to=5.2.0"]);
    assert!(again.is_asked_already() && again.warnings.is_empty() && again.replaces.is_none());
    let forced = plan(&object, &["--mode=preflight", "--to=5.2.0", "--force"]);
    assert_eq!(desired(&forced)["force"], true);
    insta::assert_snapshot!(forced.warnings.join("\n"), @"--force waives the signature of a release whose code runs in this cluster: make sure that you trust this image");
}

#[test]
fn what_was_looked_at_is_looked_at_again() {
    for (reason, is_through) in [
        ("NotRequested", false),
        ("Starting", false),
        ("Checking", false),
        ("Monitoring", true),
        ("Stopped", true),
        ("Held", false),
    ] {
        let mut object = ready();
        hold(&mut object, condition("PreflightRunning", true, reason, ""));
        asking(&mut object, preflight_of("5.2.0"));
        let again = plan(&object, &["--mode=preflight", "--to=5.2.0"]);
        assert_eq!(again.is_through, is_through, "{reason}");
        let other = plan(&object, &["--mode=preflight", "--to=5.3.0"]);
        assert!(!other.is_through, "nobody has asked 5.3.0");
    }
}

#[test]
fn what_came_of_asking_is_said() {
    let mut object = ready();
    asking(&mut object, preflight_of("5.2.0"));
    let outcome = |action| {
        let plan = plan(&object, &["--mode=preflight", "--to=5.2.0"]);
        let said = Outcome { action, ..Outcome::of(plan) }.to_string();
        said.lines().next().unwrap_or_default().to_owned()
    };
    let said = [Action::Requested, Action::RequestedAgain, Action::AlreadyRequested].map(outcome);
    insta::assert_snapshot!(said.join("\n"), @"
    Requested a preflight of 5.2.0
    Requested a preflight of 5.2.0 again
    A preflight of 5.2.0 is already requested
    ");
}

#[test]
fn requests_that_are_refused() {
    let mut object = ready();
    insta::assert_snapshot!(refusal(&object, &["--to=5.1.0"], false), @"
    1: this cluster is already at 5.1.0
    hint: choose another release; run `fairway upgrade` to list updates
    ");
    insta::assert_snapshot!(refusal(&cluster_version(), &["--to=5.2.0"], false), @"
    4: the operator of this cluster does not support preflights, and would start an update; nothing changed
    hint: preflights require an operator that sets the condition PreflightRunning of ClusterVersion; run `fairway upgrade --include-not-recommended` to list known risks
    ");
    asking(&mut object, objects::update_to("5.1.9"));
    insta::assert_snapshot!(refusal(&object, &["--to=5.2.0"], true), @"
    3: an update to 5.1.9 is requested and has not started
      the preflight would replace this request, and the update could start afterwards
    hint: withdraw it with `fairway upgrade --clear`, or replace it by the preflight with `fairway upgrade --mode=preflight`
    ");
    let status = object.status.as_mut().unwrap();
    status.available_updates = None;
    status.conditional_updates.clear();
    insta::assert_snapshot!(refusal(&object, &["--to-latest"], false), @"
    4: no later release is available
    hint: run `fairway upgrade` for the reason; to use an unlisted release, pass --to or --to-image
    ");
}

#[test]
fn a_server_that_drops_the_mode_gets_nothing() {
    let object = ready();
    let plan = plan(&object, &["--mode=preflight", "--to=5.2.0"]);
    let mut result = object.clone();
    result.spec.desired_update = Some(Update { mode: None, ..plan.update.clone() });
    insta::assert_snapshot!(said(&plan.check(&result).unwrap_err()), @"
    4: this cluster does not store the mode of a request, so the request would start an update: its ClusterVersion CRD is too old; nothing changed
    hint: install the current CRD with `fairway crds | kubectl apply -f -`
    ");
    result.spec.desired_update = Some(plan.update.clone());
    assert!(plan.check(&result).is_ok());
}

#[test]
fn a_new_request_forgets_that_the_results_of_the_last_one_were_kept() {
    let mut object = ready();
    let kept = [(KEEP_RESULTS.to_owned(), "true".to_owned())];
    object.metadata.annotations = Some(kept.into());
    let plan = plan(&object, &["--mode=preflight", "--to=5.2.0"]);
    let metadata = &plan.patch().unwrap()["metadata"];
    assert_eq!(metadata["annotations"], json!({ KEEP_RESULTS: null }));
}

fn cleared(object: &ClusterVersion, keep_results: bool) -> (Option<Value>, String) {
    let plan = withdrawal::Plan::clear(object, keep_results).unwrap();
    let patch = plan.patch().cloned();
    (patch, clear::Outcome::of(plan, keep_results, false).to_string())
}

#[test]
fn a_preflight_is_withdrawn_with_its_version() {
    let mut object = ready();
    asking(&mut object, preflight_of("5.2.0"));
    let (patch, text) = cleared(&object, false);
    assert_eq!(
        patch,
        Some(json!({
            "metadata": { "resourceVersion": "7" },
            "spec": { "desiredUpdate": null },
        })),
        "with a version left, it would be an update"
    );
    insta::assert_snapshot!(text, @"Withdrew the preflight of 5.2.0");

    accept(&mut object, &["Zeta"], None);
    let (patch, text) = cleared(&object, true);
    let patch = patch.unwrap();
    assert_eq!(patch["metadata"]["annotations"], json!({ KEEP_RESULTS: "true" }));
    let left = &patch["spec"]["desiredUpdate"];
    assert_eq!(left["acceptRisks"], json!([{ "name": "Zeta" }]));
    assert!(["version", "image", "mode", "force"].iter().all(|field| left[field].is_null()));
    insta::assert_snapshot!(text, @"Withdrew the preflight of 5.2.0; its results are kept");
}

#[test]
fn an_update_is_left_alone() {
    let mut object = ready();
    let (patch, text) = cleared(&object, false);
    assert_eq!(patch, None);
    insta::assert_snapshot!(text, @"No preflight is requested");
    asking(&mut object, objects::update_to("5.1.9"));
    let (patch, text) = cleared(&object, false);
    assert_eq!(patch, None);
    insta::assert_snapshot!(text, @"No preflight is requested; the request to update to 5.1.9 is unchanged");
}

#[test]
fn an_update_that_has_begun_goes_on_when_a_preflight_is_withdrawn() {
    let mut object = ready();
    begun(&mut object);
    asking(&mut object, preflight_of("5.2.0"));
    let (patch, text) = cleared(&object, false);
    let left = patch.unwrap()["spec"]["desiredUpdate"].clone();
    assert_eq!(left["image"], objects::release("5.1.9").image);
    assert!(left["mode"].is_null(), "without a request, the operator would go back");
    insta::assert_snapshot!(text, @"
    Withdrew the preflight of 5.2.0
    The update in progress to 5.1.9 is requested again
    ");
}

#[test]
fn only_what_was_asked_for_itself_is_given_back() {
    let mut object = ready();
    let ours = preflight_of("5.2.0");
    let give_back = |object: &ClusterVersion, before: Option<&Update>| {
        let plan = withdrawal::Plan::give_back(object, &ours, before, false).unwrap();
        plan.patch().map(|patch| patch["spec"]["desiredUpdate"].clone())
    };
    asking(&mut object, ours.clone());
    accept(&mut object, &["Meanwhile"], None);
    let left = give_back(&object, None).unwrap();
    assert_eq!((&left["version"], &left["mode"]), (&Value::Null, &Value::Null));

    let left = give_back(&object, Some(&preflight_of("5.3.0"))).unwrap();
    assert_eq!((&left["version"], &left["mode"]), (&json!("5.3.0"), &json!("Preflight")));
    assert_eq!(left["acceptRisks"], json!([{ "name": "Meanwhile" }]));

    let left = give_back(&object, Some(&objects::update_to("5.1.0"))).unwrap();
    assert_eq!((&left["version"], &left["mode"]), (&json!("5.1.0"), &Value::Null));

    asking(&mut object, preflight_of("5.3.0"));
    assert_eq!(give_back(&object, None), None, "somebody else has asked for that");
}

#[test]
fn arguments_say_what_is_wanted() {
    for (arguments, wish) in [
        (&["--mode=preflight", "--to=5.2.0", "--wait"][..], Some(PreflightWish::Ask)),
        (&["--mode=preflight", "--to-latest", "--wait=5m"], Some(PreflightWish::Ask)),
        (&["--to-latest", "--dry-run"], Some(PreflightWish::DryRun)),
        (&["--to=5.2.0", "--dry-run", "--wait=5m", "--keep-results"], Some(PreflightWish::DryRun)),
        (&["--status-preflight", "--to=5.2.0"], Some(PreflightWish::Status)),
        (&["--clear-preflight", "--keep-results", "--dry-run"], Some(PreflightWish::Clear)),
        (&["--to=5.2.0", "--require-preflight=1h", "--wait=2h"], None),
        (&["--to-multi-arch", "--dry-run"], None),
        (&["--clear", "--dry-run"], None),
        (&[], None),
    ] {
        let Typed { request, preflight } = typed(arguments).unwrap();
        assert_eq!(preflight.wish(&request), Ok(wish), "{arguments:?}");
    }
}

#[test]
fn arguments_that_contradict_each_other_are_refused() {
    let refused = [
        &["--mode=preflight"][..],
        &["--mode=Preflight-all", "--to=5.2.0"],
        &["--mode=preflight", "--to=5.2.0", "--dry-run"],
        &["--mode=preflight", "--to=5.2.0", "--allow-not-recommended"],
        &["--mode=preflight", "--to=5.2.0", "--require-preflight"],
        &["--mode=preflight", "--to=5.2.0", "--wait", "--no-wait"],
        &["--mode=preflight", "--to=5.2.0", "--wait=0s"],
        &["--mode=preflight", "--to-multi-arch"],
        &["--mode=preflight", "--to=5.2.0", "--yes"],
        &["--wait"],
        &["--clear", "--wait"],
        &["--dry-run"],
        &["--to-multi-arch", "--require-preflight"],
        &["--to=5.2.0", "--keep-results"],
        &["--to=5.2.0", "--dry-run", "--no-wait"],
        &["--to=5.2.0", "--dry-run", "--require-preflight"],
        &["--to=5.2.0", "--require-preflight", "--force"],
        &["--require-preflight"],
        &["--status-preflight", "--clear-preflight"],
        &["--status-preflight", "--to-latest"],
        &["--clear-preflight", "--to=5.2.0"],
        &["--clear-preflight", "--clear"],
    ];
    let refused = refused.map(|arguments| match typed(arguments) {
        Err(error) => error,
        Ok(Typed { request, preflight }) => {
            preflight.wish(&request).expect_err(&format!("{arguments:?}")).to_string()
        }
    });
    insta::assert_snapshot!(refused.join("\n"), @"
    error: the following required arguments were not provided:
    error: invalid value 'Preflight-all' for '--mode <MODE>'
    error: the argument '--mode <MODE>' cannot be used with '--dry-run'
    error: the argument '--mode <MODE>' cannot be used with '--allow-not-recommended'
    error: the argument '--mode <MODE>' cannot be used with '--require-preflight[=<MAX_AGE>]'
    error: the argument '--wait[=<DURATION>]' cannot be used with '--no-wait'
    error: invalid value '0s' for '--wait[=<DURATION>]': too short: the duration must be positive
    error: the argument '--mode <MODE>' cannot be used with '--to-multi-arch'
    error: the argument '--mode <MODE>' cannot be used with '--yes'
    --wait needs an update or a preflight: specify a release with --to, --to-image or --to-latest
    --wait needs an update or a preflight: specify a release with --to, --to-image or --to-latest
    --dry-run needs --to, --to-image, --to-latest, --to-multi-arch, --clear or --clear-preflight
    error: the argument '--to-multi-arch' cannot be used with '--require-preflight[=<MAX_AGE>]'
    --keep-results needs --clear-preflight, or a release and --dry-run
    --dry-run waits for the preflight and cannot be used with --no-wait
    error: the argument '--dry-run' cannot be used with '--require-preflight[=<MAX_AGE>]'
    error: the argument '--require-preflight[=<MAX_AGE>]' cannot be used with '--force'
    error: the following required arguments were not provided:
    error: the argument '--status-preflight' cannot be used with '--clear-preflight'
    error: the argument '--status-preflight' cannot be used with '--to-latest'
    error: the argument '--clear-preflight' cannot be used with:
    error: the argument '--clear-preflight' cannot be used with '--clear'
    ");
}

#[test]
fn the_operator_has_to_know_preflights() {
    let mut object = ready();
    assert!(super::phase::is_supported(&object));
    object.status.as_mut().unwrap().conditions.retain(|it| it.type_ != "PreflightRunning");
    assert!(!super::phase::is_supported(&object));
    assert!(object.status.unwrap().conditions.find("PreflightRunning").is_none());
}
