//! Rules about channels: feeders and tombstones.

use fairway_api::Version;

use super::{LintContext, LintFinding, LintRule};
use crate::data::{Channel, Feeder, Severity, VersionPattern};
use crate::lint::yaml::YamlFile;

pub(super) static FEEDER: LintRule =
    LintRule { id: "feeder", summary: "Invalid feeder of a channel" };

pub(super) fn feeders(context: &LintContext<'_>) -> Vec<LintFinding> {
    let fed = context.data.channels.iter().filter_map(|channel| {
        Some((channel, channel.feeder.as_ref()?, context.file(&channel.file)?))
    });
    fed.flat_map(|(channel, feeder, source)| {
        let problems = [
            feeder_name(context, channel, feeder),
            feeder_filter(channel, feeder),
            feeder_delay(feeder),
        ];
        problems.into_iter().flatten().filter_map(|problem| feeder_finding(source, problem))
    })
    .collect()
}

/// A problem with one field of a feeder.
struct FeederProblem {
    key: &'static str,
    severity: Severity,
    message: String,
}

fn feeder_finding(source: &YamlFile<'_>, problem: FeederProblem) -> Option<LintFinding> {
    let (key, feeder) = source.tree.entry("feeder")?;
    let span = feeder.get(problem.key).map_or(&key.span, |value| &value.span).clone();
    Some(source.finding(&FEEDER, problem.severity, span, problem.message))
}

/// A feeder is a channel or a prefix: `stable` selects all channels that start with `stable-`.
fn feeder_name(
    context: &LintContext<'_>,
    channel: &Channel,
    feeder: &Feeder,
) -> Option<FeederProblem> {
    let message = match &feeder.name {
        None => "a feeder needs the `name` of a channel".to_owned(),
        Some(name) if *name == channel.name => "a channel cannot feed itself".to_owned(),
        Some(name) if has_channel(context, name) => return None,
        Some(name) => format!("channel {name} does not exist"),
    };
    Some(FeederProblem { key: "name", severity: Severity::Warning, message })
}

fn has_channel(context: &LintContext<'_>, name: &str) -> bool {
    let is_in_family =
        |channel: &str| channel.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
    let mut names = context.data.channels.iter().map(|channel| channel.name.as_str());
    names.any(|known| known == name || is_in_family(known))
}

fn feeder_filter(channel: &Channel, feeder: &Feeder) -> Option<FeederProblem> {
    let text = feeder.filter.as_ref()?;
    let (severity, message) = match VersionPattern::parse(text) {
        Err(why) => (Severity::Error, format!("not a valid regular expression: {why}")),
        Ok(pattern) => {
            let mut versions = channel.versions.iter().map(|listed| listed.version.to_string());
            if channel.versions.is_empty() || versions.any(|version| pattern.matches(&version)) {
                return None;
            }
            (Severity::Warning, format!("no version of {} matches the filter", channel.name))
        }
    };
    Some(FeederProblem { key: "filter", severity, message })
}

fn feeder_delay(feeder: &Feeder) -> Option<FeederProblem> {
    let delay = feeder.delay.as_ref().filter(|delay| !is_duration(delay))?;
    let message = format!("{delay:?} is not an ISO 8601 duration such as PT48H or P1W");
    Some(FeederProblem { key: "delay", severity: Severity::Error, message })
}

/// Whether a text is an ISO 8601 duration: `P`, then years, months, weeks, days, `T`, hours,
/// minutes and seconds, at least one of them.
fn is_duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P') else { return false };
    let (date, time) = rest.split_once('T').map_or((rest, None), |(date, time)| (date, Some(time)));
    let parts = |text: &str, units: &str| -> Option<usize> {
        let (mut rest, mut count) = (text, 0);
        for unit in units.chars() {
            let Some((number, after)) = rest.split_once(unit) else { continue };
            if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            (rest, count) = (after, count + 1);
        }
        rest.is_empty().then_some(count)
    };
    match (parts(date, "YMWD"), time.map(|time| parts(time, "HMS"))) {
        (Some(days), None) => days > 0,
        (Some(_), Some(Some(times))) => times > 0,
        _ => false,
    }
}

pub(super) static TOMBSTONE: LintRule = LintRule {
    id: "tombstone",
    summary: "Channel contains a version with a tombstone in its feeder",
};

pub(super) fn tombstones(context: &LintContext<'_>) -> Vec<LintFinding> {
    let channels = &context.data.channels;
    channels.iter().flat_map(|channel| promoted_tombstones(context, channel)).collect()
}

fn promoted_tombstones(context: &LintContext<'_>, channel: &Channel) -> Vec<LintFinding> {
    let feeders = all_feeders(&context.data.channels, channel);
    let held_back = |version: &Version| {
        feeders
            .iter()
            .find(|feeder| feeder.tombstones.iter().any(|held| is_same(&held.version, version)))
    };
    let listed = channel.versions.iter();
    listed
        .filter_map(|listed| {
            let feeder = held_back(&listed.version)?;
            let source = context.file(&channel.file)?;
            let span = source.item("versions", &listed.version.to_string())?;
            let message = format!("{} has a tombstone for {}", feeder.name, listed.version);
            Some(source.finding(&TOMBSTONE, Severity::Warning, span, message))
        })
        .collect()
}

/// The feeders of a channel, direct and indirect. A cycle ends the search.
fn all_feeders<'a>(channels: &'a [Channel], channel: &'a Channel) -> Vec<&'a Channel> {
    let mut found: Vec<&Channel> = Vec::new();
    let mut next = channel;
    while let Some(feeder) = direct_feeder(channels, next) {
        if feeder.name == channel.name || found.iter().any(|known| known.name == feeder.name) {
            break;
        }
        found.push(feeder);
        next = feeder;
    }
    found
}

fn direct_feeder<'a>(channels: &'a [Channel], channel: &Channel) -> Option<&'a Channel> {
    let name = channel.feeder.as_ref()?.name.as_ref()?;
    channels.iter().find(|other| other.name == *name)
}

/// Whether two versions are equal. A version without an architecture matches all.
fn is_same(one: &Version, other: &Version) -> bool {
    let any = one.build().is_empty() || other.build().is_empty();
    one == other && (any || one.build() == other.build())
}
