use clap::Parser;
use fairway_api::ClusterVersion;
use fairway_api::cluster_version::{Update, UpdateHistory, UpdateState};
use fairway_findings::consent::{self, SecretConsent};
use fairway_findings::record::KEEP_RESULTS;
use fairway_testkit::objects;
use serde_json::{Value, json};

use super::outcome::{Action, PreflightOutcome};
use super::request::{PreflightDecision, PreflightRequest};
use super::{request, withdrawal};
use crate::args::upgrade::RequestArgs;
use crate::args::upgrade_preflight::{PreflightAction, PreflightArgs};
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

/// Cluster at 5.1.0 whose operator supports preflights.
fn ready() -> ClusterVersion {
    let mut object = cluster_version();
    hold(&mut object, condition("PreflightRunning", false, "NotRequested", ""));
    let slow = [risk("SlowDisks", "True")];
    offer(&mut object, "5.2.0", &slow, recommended("False", "SlowDisks", "Slow."));
    let beyond = [risk("NotOfferedByUpdateService", "True")];
    offer(&mut object, "5.3.0", &beyond, recommended("False", "NotOfferedByUpdateService", "No."));
    object
}

fn request_update(object: &mut ClusterVersion, update: Update) {
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

/// Starts an update to 5.1.9.
fn start_update(object: &mut ClusterVersion) {
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

fn change(object: &ClusterVersion, arguments: &[&str]) -> Change<PreflightDecision> {
    let typed = typed(arguments).unwrap();
    let request = PreflightRequest::of(&typed.request, &typed.preflight, false).unwrap();
    request::decide(object, &request).unwrap()
}

fn refusal(object: &ClusterVersion, arguments: &[&str], temporary: bool) -> String {
    let typed = typed(arguments).unwrap();
    let request = PreflightRequest::of(&typed.request, &typed.preflight, temporary).unwrap();
    error_text(&request::decide(object, &request).err().expect("a refusal"))
}

fn error_text(error: &anyhow::Error) -> String {
    let code = errors::status(error).code();
    let hint = errors::hint(error).unwrap_or_default();
    format!("{code}: {}\nhint: {hint}", errors::chain(error).join("\n  "))
}

fn desired<T>(change: &Change<T>) -> &Value {
    &change.patch.as_ref().expect("a patch")["spec"]["desiredUpdate"]
}

#[test]
fn request_has_resource_version_and_keeps_accepted_risks() {
    let mut object = ready();
    accept(&mut object, &["Zeta"], None);
    let change = change(&object, &["--mode=preflight", "--to=5.2.0"]);
    assert_eq!(
        *change.patch.as_ref().unwrap(),
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
    assert!(change.outcome.warnings.is_empty());
}

#[test]
fn targets_by_version_image_and_latest() {
    let object = ready();
    let image = objects::release("6.0.0").image;
    for (arguments, version, image) in [
        // The operator looks it up in the graph.
        (vec!["--to=5.7.0".to_owned()], json!("5.7.0"), Value::Null),
        (vec![format!("--to-image={image}")], Value::Null, json!(image)),
        // Offered, recommended or not: findings must not change the latest release.
        (vec!["--to-latest".to_owned()], json!("5.2.0"), json!(objects::release("5.2.0").image)),
    ] {
        let mut typed = vec!["--mode=preflight"];
        typed.extend(arguments.iter().map(String::as_str));
        let change = change(&object, &typed);
        let written = desired(&change);
        assert_eq!((&written["version"], &written["image"]), (&version, &image), "{arguments:?}");
    }
}

#[test]
fn replaced_request_warns() {
    let mut object = ready();
    let warnings = |object: &ClusterVersion| {
        let change = change(object, &["--mode=preflight", "--to=5.2.0"]);
        (
            serde_json::to_value(&change.outcome.replaced).unwrap()["type"].clone(),
            change.outcome.warnings.join("\n"),
        )
    };
    request_update(&mut object, preflight_of("5.3.0"));
    let (what, text) = warnings(&object);
    assert_eq!(what, "preflight");
    insta::assert_snapshot!(text, @"this replaces the preflight of 5.3.0; its results are kept");

    request_update(&mut object, objects::update_to("5.1.9"));
    let (what, text) = warnings(&object);
    assert_eq!(what, "pendingUpdate");
    insta::assert_snapshot!(text, @"this replaces the request to update to 5.1.9, which has not started; request it again after the preflight");

    request_update(&mut object, objects::update_to("5.1.0"));
    assert_eq!(warnings(&object), (Value::Null, String::new()), "it is complete");

    start_update(&mut object);
    request_update(&mut object, objects::update_to("5.1.9"));
    let (what, text) = warnings(&object);
    assert_eq!(what, "updateInProgress");
    insta::assert_snapshot!(text, @"the update to 5.1.9 continues: a preflight does not interrupt it");
}

#[test]
fn repeated_request_changes_nothing() {
    let mut object = ready();
    request_update(&mut object, preflight_of("5.2.0"));
    let again = change(&object, &["--mode=preflight", "--to=5.2.0"]);
    assert!(
        again.outcome.is_requested
            && again.outcome.warnings.is_empty()
            && again.outcome.replaced.is_none()
    );
    let forced = change(&object, &["--mode=preflight", "--to=5.2.0", "--force"]);
    assert_eq!(desired(&forced)["force"], true);
    insta::assert_snapshot!(forced.outcome.warnings.join("\n"), @"--force skips signature verification of a release whose code runs in this cluster: make sure that you trust this image");
}

#[test]
fn completed_preflight_is_requested_again() {
    for (reason, is_finished) in [
        ("NotRequested", false),
        ("Starting", false),
        ("Checking", false),
        ("Monitoring", true),
        ("Stopped", true),
        ("Held", false),
    ] {
        let mut object = ready();
        hold(&mut object, condition("PreflightRunning", true, reason, ""));
        request_update(&mut object, preflight_of("5.2.0"));
        let again = change(&object, &["--mode=preflight", "--to=5.2.0"]);
        assert_eq!(again.outcome.is_finished, is_finished, "{reason}");
        let other = change(&object, &["--mode=preflight", "--to=5.3.0"]);
        assert!(!other.outcome.is_finished, "5.3.0 is not requested");
    }
}

#[test]
fn outcome_texts() {
    let mut object = ready();
    request_update(&mut object, preflight_of("5.2.0"));
    let outcome = |action| {
        let change = change(&object, &["--mode=preflight", "--to=5.2.0"]);
        let text = PreflightOutcome { action, ..PreflightOutcome::new(change.outcome) }.to_string();
        text.lines().next().unwrap_or_default().to_owned()
    };
    let texts = [Action::Requested, Action::RequestedAgain, Action::AlreadyRequested].map(outcome);
    insta::assert_snapshot!(texts.join("\n"), @"
    Requested a preflight of 5.2.0
    Requested a preflight of 5.2.0 again
    A preflight of 5.2.0 is already requested
    ");
}

#[test]
fn request_without_support_or_target_is_refused() {
    let mut object = ready();
    insta::assert_snapshot!(refusal(&object, &["--to=5.1.0"], false), @"
    1: this cluster is already at 5.1.0
    hint: choose another release; run `fairway upgrade` to list updates
    ");
    request_update(&mut object, objects::update_to("5.1.9"));
    insta::assert_snapshot!(refusal(&object, &["--to=5.2.0"], true), @"
    3: an update to 5.1.9 is requested and has not started
      the preflight would replace this request, and the update could start afterwards
    hint: withdraw it with `fairway upgrade --clear`, or replace it with the preflight by running `fairway upgrade --mode=preflight`
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
fn new_request_removes_keep_results_annotation() {
    let mut object = ready();
    let kept = [(KEEP_RESULTS.to_owned(), "true".to_owned())];
    object.metadata.annotations = Some(kept.into());
    let change = change(&object, &["--mode=preflight", "--to=5.2.0"]);
    let metadata = &change.patch.as_ref().unwrap()["metadata"];
    assert_eq!(metadata["annotations"], json!({ KEEP_RESULTS: null }));
}

#[test]
fn consent_is_stored_shown_and_withdrawn() {
    const ARGUMENTS: [&str; 3] = [
        "--mode=preflight",
        "--to=5.2.0",
        "--allow-secrets=openshift-ingress/router-certs,openshift-storage/array",
    ];
    let mut object = ready();
    let first = change(&object, &ARGUMENTS);
    insta::assert_snapshot!(first.outcome.warnings.join("\n"), @"checks of this release can read the Secrets openshift-ingress/router-certs, openshift-storage/array: make sure that you trust this release");
    let annotations = &first.patch.as_ref().unwrap()["metadata"]["annotations"];
    let stored = annotations[consent::ANNOTATION].as_str().unwrap().to_owned();
    let image = objects::release("5.2.0").image;
    let allowed = SecretConsent::allowed(Some(&stored), Some(&image), Some("5.2.0"));
    assert_eq!(allowed.len(), 2, "{stored}");

    // The same request with another consent is another run.
    request_update(&mut object, preflight_of("5.2.0"));
    object.metadata.annotations = Some([(consent::ANNOTATION.to_owned(), stored)].into());
    let same = change(&object, &ARGUMENTS);
    assert_eq!((same.outcome.is_finished, same.patch), (false, None));
    let without = change(&object, &ARGUMENTS[..2]);
    assert_eq!((without.outcome.is_finished, without.patch), (true, None));
    let other = change(&object, &["--mode=preflight", "--to=5.3.0"]);
    let removed = json!({ consent::ANNOTATION: null });
    assert_eq!(other.patch.unwrap()["metadata"]["annotations"], removed);
    let (patch, _) = cleared(&object, false);
    assert_eq!(patch.unwrap()["metadata"]["annotations"], removed);
}

fn cleared(object: &ClusterVersion, keep_results: bool) -> (Option<Value>, String) {
    let change = withdrawal::clear(object, keep_results).unwrap();
    (change.patch, change.outcome.to_string())
}

#[test]
fn clear_removes_request() {
    let mut object = ready();
    request_update(&mut object, preflight_of("5.2.0"));
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
fn clear_without_preflight_keeps_update() {
    let mut object = ready();
    let (patch, text) = cleared(&object, false);
    assert_eq!(patch, None);
    insta::assert_snapshot!(text, @"No preflight is requested");
    request_update(&mut object, objects::update_to("5.1.9"));
    let (patch, text) = cleared(&object, false);
    assert_eq!(patch, None);
    insta::assert_snapshot!(text, @"No preflight is requested; the request to update to 5.1.9 is unchanged");
}

#[test]
fn clear_requests_update_in_progress_again() {
    let mut object = ready();
    start_update(&mut object);
    request_update(&mut object, preflight_of("5.2.0"));
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
fn restore_withdraws_only_own_request() {
    let mut object = ready();
    let ours = preflight_of("5.2.0");
    let restore = |object: &ClusterVersion, before: Option<&Update>| {
        let change = withdrawal::restore(object, &ours, before, false).unwrap();
        change.patch.map(|patch| patch["spec"]["desiredUpdate"].clone())
    };
    request_update(&mut object, ours.clone());
    accept(&mut object, &["Meanwhile"], None);
    let left = restore(&object, None).unwrap();
    assert_eq!((&left["version"], &left["mode"]), (&Value::Null, &Value::Null));

    let left = restore(&object, Some(&preflight_of("5.3.0"))).unwrap();
    assert_eq!((&left["version"], &left["mode"]), (&json!("5.3.0"), &json!("Preflight")));
    assert_eq!(left["acceptRisks"], json!([{ "name": "Meanwhile" }]));

    let left = restore(&object, Some(&objects::update_to("5.1.0"))).unwrap();
    assert_eq!((&left["version"], &left["mode"]), (&json!("5.1.0"), &Value::Null));

    request_update(&mut object, preflight_of("5.3.0"));
    assert_eq!(restore(&object, None), None, "another client requested that");
}

#[test]
fn arguments_select_action() {
    for (arguments, action) in [
        (&["--mode=preflight", "--to=5.2.0", "--wait"][..], Some(PreflightAction::Request)),
        (&["--mode=preflight", "--to-latest", "--wait=5m"], Some(PreflightAction::Request)),
        (&["--to-latest", "--dry-run"], Some(PreflightAction::DryRun)),
        (
            &["--to=5.2.0", "--dry-run", "--wait=5m", "--keep-results"],
            Some(PreflightAction::DryRun),
        ),
        (&["--status-preflight", "--to=5.2.0"], Some(PreflightAction::Status)),
        (&["--clear-preflight", "--keep-results", "--dry-run"], Some(PreflightAction::Clear)),
        (&["--to=5.2.0", "--require-preflight=1h", "--wait=2h"], None),
        (&["--to-multi-arch", "--dry-run"], None),
        (&["--clear", "--dry-run"], None),
        (&[], None),
    ] {
        let Typed { request, preflight } = typed(arguments).unwrap();
        assert_eq!(preflight.action(&request), Ok(action), "{arguments:?}");
    }
}

#[test]
fn invalid_or_conflicting_arguments_are_refused() {
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
        &["--mode=preflight", "--to=5.2.0", "--allow-secrets=a/b", "--force"],
        &["--mode=preflight", "--to=5.2.0", "--allow-secrets=a"],
        &["--to=5.2.0", "--allow-secrets=a/b"],
        &["--allow-secrets=a/b"],
    ];
    let refused = refused.map(|arguments| match typed(arguments) {
        Err(error) => error,
        Ok(Typed { request, preflight }) => {
            preflight.action(&request).expect_err(&format!("{arguments:?}")).to_string()
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
    error: the argument '--allow-secrets <NAMESPACE/NAME,…>' cannot be used with '--force'
    error: invalid value 'a' for '--allow-secrets <NAMESPACE/NAME,…>': not a Secret such as openshift-ingress/router-certs
    --allow-secrets needs --mode=preflight, or a release and --dry-run
    error: the following required arguments were not provided:
    ");
}
