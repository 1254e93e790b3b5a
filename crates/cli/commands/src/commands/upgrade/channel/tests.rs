use clap::Parser;
use fairway_api::ClusterVersion;
use serde_json::json;

use super::plan::{Outcome, Plan, Wish};
use crate::args::upgrade::ChannelArgs;
use crate::commands::upgrade::change::Change as _;
use crate::commands::upgrade::fixtures::cluster_version;
use crate::errors::{chain, hint};

#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    args: ChannelArgs,
}

fn plan(object: &ClusterVersion, arguments: &[&str]) -> anyhow::Result<Plan> {
    let typed = Typed::try_parse_from([&["channel"], arguments].concat())?;
    Plan::of(object, &Wish::of(&typed.args))
}

fn in_channel(channel: Option<&str>) -> ClusterVersion {
    let mut object = cluster_version();
    object.spec.channel = channel.map(str::to_owned);
    object
}

/// What is said, with warnings and errors.
fn told(object: &ClusterVersion, arguments: &[&str]) -> String {
    match plan(object, arguments) {
        Ok(Plan { outcome, .. }) => {
            let warnings = outcome.warnings.iter().map(|text| format!("warning: {text}\n"));
            format!("{}{outcome}", warnings.collect::<String>())
        }
        Err(error) => {
            let hint = hint(&error).map_or_else(String::new, |hint| format!("\nhint: {hint}"));
            format!("error: {}{hint}", chain(&error).join(": "))
        }
    }
}

#[test]
fn a_channel_is_chosen() {
    let object = in_channel(Some("candidate-5.1"));
    let plan = plan(&object, &["stable-5.1"]).unwrap();
    let patch =
        json!({ "metadata": { "resourceVersion": "7" }, "spec": { "channel": "stable-5.1" } });
    assert_eq!(plan.patch(), Some(&patch));
    insta::assert_snapshot!(plan.outcome, @"
    Channel: stable-5.1 (previously: candidate-5.1)
    Available channels: candidate-5.1, stable-5.1

    The operator retrieves the updates of this channel.
    ");
    assert!(plan.check(&in_channel(Some("stable-5.1"))).is_ok());
    assert!(plan.check(&object).is_err());
}

#[test]
fn what_comes_of_it_for_programs() {
    let plan = plan(&in_channel(None), &["stable-5.1"]).unwrap();
    let outcome = Outcome { dry_run: true, ..plan.outcome };
    insta::assert_snapshot!(serde_json::to_string_pretty(&outcome).unwrap(), @r#"
    {
      "dryRun": true,
      "channel": "stable-5.1",
      "previousChannel": null,
      "changed": true,
      "channels": [
        "candidate-5.1",
        "stable-5.1"
      ],
      "warnings": []
    }
    "#);
    insta::assert_snapshot!(outcome, @"
    Dry run, nothing changed. Without --dry-run:

    Channel: stable-5.1
    Available channels: candidate-5.1, stable-5.1

    The operator retrieves the updates of this channel.
    ");
}

#[test]
fn who_chooses_candidates_is_told_what_they_are() {
    let object = in_channel(Some("stable-5.1"));
    let warnings = plan(&object, &["candidate-5.1"]).unwrap().outcome.warnings;
    insta::assert_snapshot!(warnings.join("\n"), @"releases of candidate-5.1 are candidates and may never be supported");
}

#[test]
fn without_a_name_nothing_changes() {
    for arguments in [&[][..], &["stable-5.1"]] {
        let plan = plan(&in_channel(Some("stable-5.1")), arguments).unwrap();
        assert_eq!(plan.patch(), None);
        insta::allow_duplicates! {
            insta::assert_snapshot!(plan.outcome, @"
            Channel: stable-5.1
            Available channels: candidate-5.1, stable-5.1
            ");
        }
    }
    for none in [None, Some("")] {
        for arguments in [&[][..], &["--clear"]] {
            assert_eq!(plan(&in_channel(none), arguments).unwrap().patch(), None);
        }
    }
}

#[test]
fn a_channel_is_cleared_only_where_somebody_says_so() {
    let object = in_channel(Some("stable-5.1"));
    let patch = plan(&object, &["--clear"]).unwrap().patch().cloned().unwrap();
    assert_eq!(patch["spec"], json!({ "channel": null }));
    insta::assert_snapshot!(told(&object, &["--clear"]), @"
    warning: without a channel, the operator does not retrieve updates
    No channel is set, so the operator does not retrieve updates (previously: stable-5.1)
    Available channels: candidate-5.1, stable-5.1
    ");
    for arguments in [&[""][..], &[" "], &["a b"], &["stable-5.1", "fast-5.1"], &["--clear", "a"]] {
        assert!(plan(&object, arguments).is_err(), "{arguments:?}");
    }
}

#[test]
fn a_channel_that_nobody_knows_is_meant_or_a_mistake() {
    let object = in_channel(Some("stable-5.1"));
    insta::assert_snapshot!(told(&object, &["candidat-5.1"]), @"
    error: candidat-5.1 is not a known channel of the running release
    hint: did you mean candidate-5.1? known channels: candidate-5.1, stable-5.1; to set another channel, add --allow-explicit-channel
    ");
    insta::assert_snapshot!(told(&object, &["stable-9.9"]), @"
    error: stable-9.9 is not a known channel of the running release
    hint: known channels: candidate-5.1, stable-5.1; to set another channel, add --allow-explicit-channel
    ");
    insta::assert_snapshot!(told(&object, &["eus-6.0", "--allow-explicit-channel"]), @"
    warning: eus-6.0 is not a known channel of the running release
    Channel: eus-6.0 (previously: stable-5.1)
    Available channels: candidate-5.1, stable-5.1

    The operator retrieves the updates of this channel.
    ");
    let mut unknown = object;
    unknown.status.as_mut().unwrap().desired.channels.clear();
    insta::assert_snapshot!(told(&unknown, &["fast-5.1"]), @"
    warning: channel fast-5.1 is not verified: the channels of the running release are unknown
    Channel: fast-5.1 (previously: stable-5.1)

    The operator retrieves the updates of this channel.
    ");
}
