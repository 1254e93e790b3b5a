//! Versions in a channel that were held back in the channels that feed it.

use fairway_api::Version;

use super::{Context, Finding, Rule};
use crate::data::{Channel, Severity};

pub(super) static RULE: Rule =
    Rule { id: "tombstone", summary: "Channel contains a version with a tombstone in its feeder" };

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let channels = &context.data.channels;
    channels.iter().flat_map(|channel| promoted(context, channel)).collect()
}

fn promoted(context: &Context<'_>, channel: &Channel) -> Vec<Finding> {
    let feeders = upstream(&context.data.channels, channel);
    let held_back = |version: &Version| {
        feeders
            .iter()
            .find(|feeder| feeder.tombstones.iter().any(|held| is_same(&held.version, version)))
    };
    let listed = channel.versions.iter();
    listed
        .filter_map(|listed| {
            let feeder = held_back(&listed.version)?;
            let source = context.source(&channel.file)?;
            let span = source.item("versions", &listed.version.to_string())?;
            let message = format!("{} has a tombstone for {}", feeder.name, listed.version);
            Some(source.finding(&RULE, Severity::Warning, span, message))
        })
        .collect()
}

/// The channels that feed a channel, the ones that feed those, and so on.
fn upstream<'a>(channels: &'a [Channel], channel: &'a Channel) -> Vec<&'a Channel> {
    let mut found: Vec<&Channel> = Vec::new();
    let mut next = channel;
    while let Some(feeder) = feeder(channels, next) {
        if feeder.name == channel.name || found.iter().any(|known| known.name == feeder.name) {
            break;
        }
        found.push(feeder);
        next = feeder;
    }
    found
}

fn feeder<'a>(channels: &'a [Channel], channel: &Channel) -> Option<&'a Channel> {
    let name = channel.feeder.as_ref()?.name.as_ref()?;
    channels.iter().find(|other| other.name == *name)
}

/// The same version; one without an architecture means all of them.
fn is_same(one: &Version, other: &Version) -> bool {
    let any = one.build().is_empty() || other.build().is_empty();
    one == other && (any || one.build() == other.build())
}
