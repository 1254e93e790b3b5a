use clap::Parser;
use fairway_api::ClusterVersion;
use serde_json::json;

use super::{ChannelAction, ChannelReport, decide};
use crate::args::upgrade::ChannelArgs;
use crate::commands::upgrade::change::Change;
use crate::commands::upgrade::fixtures::cluster_version;
use crate::errors::{chain, hint};

#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    args: ChannelArgs,
}

fn change(object: &ClusterVersion, arguments: &[&str]) -> anyhow::Result<Change<ChannelReport>> {
    let typed = Typed::try_parse_from([&["channel"], arguments].concat())?;
    decide(object, &ChannelAction::of(&typed.args))
}

fn in_channel(channel: Option<&str>) -> ClusterVersion {
    let mut object = cluster_version();
    object.spec.channel = channel.map(str::to_owned);
    object
}

/// Output with warnings and errors.
fn output(object: &ClusterVersion, arguments: &[&str]) -> String {
    match change(object, arguments) {
        Ok(Change { outcome, .. }) => {
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
fn set_channel_patches_spec() {
    let object = in_channel(Some("candidate-5.1"));
    let change = change(&object, &["stable-5.1"]).unwrap();
    let patch =
        json!({ "metadata": { "resourceVersion": "7" }, "spec": { "channel": "stable-5.1" } });
    assert_eq!(change.patch.as_ref(), Some(&patch));
    insta::assert_snapshot!(change.outcome, @"
    Channel: stable-5.1 (previously: candidate-5.1)
    Available channels: candidate-5.1, stable-5.1

    The operator retrieves the updates of this channel.
    ");
    assert!((change.verify)(&in_channel(Some("stable-5.1"))).is_ok());
    assert!((change.verify)(&object).is_err());
}

#[test]
fn candidate_channel_warns() {
    let object = in_channel(Some("stable-5.1"));
    let warnings = change(&object, &["candidate-5.1"]).unwrap().outcome.warnings;
    insta::assert_snapshot!(warnings.join("\n"), @"releases of candidate-5.1 are candidates and may never be supported");
}

#[test]
fn show_channel_changes_nothing() {
    for arguments in [&[][..], &["stable-5.1"]] {
        let change = change(&in_channel(Some("stable-5.1")), arguments).unwrap();
        assert_eq!(change.patch.as_ref(), None);
        insta::allow_duplicates! {
            insta::assert_snapshot!(change.outcome, @"
            Channel: stable-5.1
            Available channels: candidate-5.1, stable-5.1
            ");
        }
    }
    for none in [None, Some("")] {
        for arguments in [&[][..], &["--clear"]] {
            assert_eq!(change(&in_channel(none), arguments).unwrap().patch.as_ref(), None);
        }
    }
}

#[test]
fn clear_removes_channel() {
    let object = in_channel(Some("stable-5.1"));
    let patch = change(&object, &["--clear"]).unwrap().patch.clone().unwrap();
    assert_eq!(patch["spec"], json!({ "channel": null }));
    insta::assert_snapshot!(output(&object, &["--clear"]), @"
    warning: without a channel, the operator does not retrieve updates
    No channel is set, so the operator does not retrieve updates (previously: stable-5.1)
    Available channels: candidate-5.1, stable-5.1
    ");
    for arguments in [&[""][..], &[" "], &["a b"], &["stable-5.1", "fast-5.1"], &["--clear", "a"]] {
        assert!(change(&object, arguments).is_err(), "{arguments:?}");
    }
}

#[test]
fn unknown_channel_is_refused_unless_explicit() {
    let object = in_channel(Some("stable-5.1"));
    insta::assert_snapshot!(output(&object, &["candidat-5.1"]), @"
    error: candidat-5.1 is not a known channel of the running release
    hint: did you mean candidate-5.1? known channels: candidate-5.1, stable-5.1; to set another channel, add --allow-explicit-channel
    ");
    insta::assert_snapshot!(output(&object, &["stable-9.9"]), @"
    error: stable-9.9 is not a known channel of the running release
    hint: known channels: candidate-5.1, stable-5.1; to set another channel, add --allow-explicit-channel
    ");
    insta::assert_snapshot!(output(&object, &["eus-6.0", "--allow-explicit-channel"]), @"
    warning: eus-6.0 is not a known channel of the running release
    Channel: eus-6.0 (previously: stable-5.1)
    Available channels: candidate-5.1, stable-5.1

    The operator retrieves the updates of this channel.
    ");
}
