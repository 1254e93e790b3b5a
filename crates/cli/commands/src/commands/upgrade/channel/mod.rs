//! `fairway upgrade channel`: the channel of a cluster.

use std::fmt;

use anyhow::ensure;
use fairway_api::ClusterVersion;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::change::{self, Change};
use super::request::cautions::is_candidate;
use super::similar;
use crate::args::upgrade::ChannelArgs;
use crate::cluster::block_on;
use crate::errors::Refused;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output::{self, TypedReport};
use crate::printer::Printer;
use crate::source::Source;

impl TypedReport for ChannelReport {
    const KIND: &'static str = "UpgradeChannel";
}

pub(super) fn run(args: &ChannelArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let action = ChannelAction::of(args);
    change::check_preview(&args.source, action != ChannelAction::Show && !args.dry_run)?;
    let change = block_on(async {
        let source = Source::open(&args.source).await?;
        change::apply_or_preview(&source, args.dry_run, |object| decide(object, &action)).await
    })?;
    let dry_run = args.dry_run && change.outcome.changed;
    let report = ChannelReport { dry_run, ..change.outcome };
    printer.warnings(&report.warnings);
    output::report(printer.stdout(), args.output.output, &report)?;
    Ok(ExitStatus::Success)
}

/// Action of the arguments.
#[derive(PartialEq, Eq)]
enum ChannelAction {
    /// Show the channel.
    Show,
    /// Set the channel.
    Set {
        channel: String,
        /// Also if it is not a known channel of the running release.
        explicit: bool,
    },
    /// Remove the channel.
    Clear,
}

impl ChannelAction {
    fn of(args: &ChannelArgs) -> Self {
        match &args.channel {
            Some(channel) => {
                Self::Set { channel: channel.clone(), explicit: args.allow_explicit_channel }
            }
            None if args.clear => Self::Clear,
            None => Self::Show,
        }
    }
}

/// Channel of a cluster.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChannelReport {
    /// Whether this is a dry run.
    dry_run: bool,
    /// Channel after the command.
    channel: Option<String>,
    /// Channel before the command.
    previous_channel: Option<String>,
    /// Whether the command changes the channel.
    changed: bool,
    /// Channels that contain the running release.
    channels: Vec<String>,
    /// Probable mistakes in the arguments.
    warnings: Vec<String>,
}

/// Decides how to change the channel.
fn decide(
    cluster_version: &ClusterVersion,
    action: &ChannelAction,
) -> anyhow::Result<Change<ChannelReport>> {
    let previous = cluster_version.spec.channel.clone().filter(|channel| !channel.is_empty());
    let status = cluster_version.status.as_ref();
    let available = status.map_or(&[][..], |status| &status.desired.channels);
    let channel = match action {
        ChannelAction::Show => previous.clone(),
        ChannelAction::Set { channel, .. } => Some(channel.clone()),
        ChannelAction::Clear => None,
    };
    let changed = channel != previous;
    let mut warnings = Vec::new();
    match action {
        ChannelAction::Set { channel, explicit } if changed => {
            warnings.extend(check_channel(channel, available, *explicit)?);
            warnings.extend(is_candidate(channel).then(|| candidate_warning(channel)));
        }
        ChannelAction::Clear if changed => {
            warnings.push("without a channel, the operator does not retrieve updates".to_owned());
        }
        _ => {}
    }
    let patch = changed.then(|| {
        json!({
            "metadata": { "resourceVersion": cluster_version.metadata.resource_version },
            "spec": { "channel": channel },
        })
    });
    let expected = channel.clone();
    Ok(Change {
        patch,
        verify: Box::new(move |result| {
            let stored = result.spec.channel.as_deref().filter(|channel| !channel.is_empty());
            ensure!(
                stored == expected.as_deref(),
                "the API server would not store the channel; nothing changed"
            );
            Ok(())
        }),
        outcome: ChannelReport {
            dry_run: false,
            channel,
            previous_channel: previous,
            changed,
            channels: available.to_vec(),
            warnings,
        },
    })
}

fn candidate_warning(channel: &str) -> String {
    format!("releases of {} are candidates and may never be supported", OneLine(channel))
}

/// Warning about an unknown channel, or a refusal unless the arguments allow it.
fn check_channel(
    channel: &str,
    available: &[String],
    explicit: bool,
) -> Result<Option<String>, Refused> {
    if available.iter().any(|known| known == channel) {
        return Ok(None);
    }
    let channel = OneLine(channel);
    if available.is_empty() {
        return Ok(Some(format!(
            "cannot verify channel {channel}: the channels of the running release are unknown"
        )));
    }
    let message = format!("{channel} is not a known channel of the running release");
    if explicit {
        return Ok(Some(message));
    }
    // A channel of another version is not a typo of one of this version.
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    let names = available.iter().map(String::as_str);
    let names = names.filter(|name| digits(name) == digits(channel.0));
    let meant = similar::most_similar(channel.0, names);
    let meant =
        meant.map_or_else(String::new, |meant| format!("did you mean {}? ", OneLine(meant)));
    let known = available.join(", ");
    Err(Refused::new(
        message,
        format!(
            "{meant}known channels: {}; to set another channel, add --allow-explicit-channel",
            OneLine(&known)
        ),
    ))
}

impl fmt::Display for ChannelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dry_run {
            f.write_str("Dry run, nothing changed. Without --dry-run:\n\n")?;
        }
        match &self.channel {
            Some(channel) => write!(f, "Channel: {}", OneLine(channel))?,
            None => f.write_str("No channel is set, so the operator does not retrieve updates")?,
        }
        match &self.previous_channel {
            Some(before) if self.changed => write!(f, " (previously: {})", OneLine(before))?,
            _ => {}
        }
        if !self.channels.is_empty() {
            let known = self.channels.join(", ");
            write!(f, "\nAvailable channels: {}", OneLine(&known))?;
        }
        if self.changed && self.channel.is_some() {
            f.write_str("\n\nThe operator retrieves the updates of this channel.")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
