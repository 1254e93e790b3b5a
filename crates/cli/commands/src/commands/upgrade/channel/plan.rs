//! What is to be written, and what comes of it.

use std::fmt;

use anyhow::ensure;
use fairway_api::ClusterVersion;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::change::Change;
use super::super::request::unusual::is_candidate;
use super::super::similar;
use crate::args::upgrade::ChannelArgs;
use crate::errors::Refused;
use crate::foreign_text::OneLine;

/// What the administrator wants.
pub(super) enum Wish {
    /// To see the channel.
    See,
    /// This one.
    Choose {
        channel: String,
        /// Even if the running release is not known to be in it.
        explicit: bool,
    },
    /// None.
    Clear,
}

impl Wish {
    pub(super) fn of(args: &ChannelArgs) -> Self {
        match &args.channel {
            Some(channel) => {
                Self::Choose { channel: channel.clone(), explicit: args.allow_explicit_channel }
            }
            None if args.clear => Self::Clear,
            None => Self::See,
        }
    }
}

/// What is to be written, and what comes of it.
pub(super) struct Plan {
    patch: Option<Value>,
    pub(super) outcome: Outcome,
}

/// Channel of a cluster.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    /// Whether this is a dry run.
    pub(super) dry_run: bool,
    /// Channel after the command.
    pub(super) channel: Option<String>,
    /// Channel before the command.
    pub(super) previous_channel: Option<String>,
    /// Whether the command changes the channel.
    pub(super) changed: bool,
    /// Channels that contain the running release.
    pub(super) channels: Vec<String>,
    /// Probable mistakes in the arguments.
    pub(super) warnings: Vec<String>,
}

impl Plan {
    /// What the wish means for a ClusterVersion.
    pub(super) fn of(cluster_version: &ClusterVersion, wish: &Wish) -> anyhow::Result<Self> {
        let before = cluster_version.spec.channel.clone().filter(|channel| !channel.is_empty());
        let status = cluster_version.status.as_ref();
        let available = status.map_or(&[][..], |status| &status.desired.channels);
        let channel = match wish {
            Wish::See => before.clone(),
            Wish::Choose { channel, .. } => Some(channel.clone()),
            Wish::Clear => None,
        };
        let changed = channel != before;
        let mut warnings = Vec::new();
        match wish {
            Wish::Choose { channel, explicit } if changed => {
                warnings.extend(doubt(channel, available, *explicit)?);
                warnings.extend(is_candidate(channel).then(|| tried_out(channel)));
            }
            Wish::Clear if changed => {
                warnings
                    .push("without a channel, the operator does not retrieve updates".to_owned());
            }
            _ => {}
        }
        let patch = changed.then(|| {
            json!({
                "metadata": { "resourceVersion": cluster_version.metadata.resource_version },
                "spec": { "channel": channel },
            })
        });
        let available_channels = available.to_vec();
        let outcome = Outcome {
            dry_run: false,
            channel,
            previous_channel: before,
            changed,
            channels: available_channels,
            warnings,
        };
        Ok(Self { patch, outcome })
    }
}

impl Change for Plan {
    fn patch(&self) -> Option<&Value> {
        self.patch.as_ref()
    }

    fn check(&self, result: &ClusterVersion) -> anyhow::Result<()> {
        let kept = result.spec.channel.as_deref().filter(|channel| !channel.is_empty());
        ensure!(
            kept == self.outcome.channel.as_deref(),
            "the API server would not store the channel; nothing changed"
        );
        Ok(())
    }
}

fn tried_out(channel: &str) -> String {
    format!("releases of {} are candidates and may never be supported", OneLine(channel))
}

/// What speaks against a channel: it is refused, unless somebody means it.
fn doubt(channel: &str, available: &[String], explicit: bool) -> Result<Option<String>, Refused> {
    if available.iter().any(|known| known == channel) {
        return Ok(None);
    }
    let channel = OneLine(channel);
    if available.is_empty() {
        return Ok(Some(format!(
            "channel {channel} is not verified: the channels of the running release are unknown"
        )));
    }
    let message = format!("{channel} is not a known channel of the running release");
    if explicit {
        return Ok(Some(message));
    }
    // Whoever names another version has not mistyped this one.
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    let names = available.iter().map(String::as_str);
    let names = names.filter(|name| digits(name) == digits(channel.0));
    let meant = similar::most_like(channel.0, names);
    let meant =
        meant.map_or_else(String::new, |meant| format!("did you mean {}? ", OneLine(meant)));
    let known = available.join(", ");
    Err(Refused {
        message,
        hint: format!(
            "{meant}known channels: {}; to set another channel, add --allow-explicit-channel",
            OneLine(&known)
        ),
    })
}

impl fmt::Display for Outcome {
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
