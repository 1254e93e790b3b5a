//! Feeders that feed nothing.

use super::{Context, Finding, Rule};
use crate::data::{Channel, Feeder, Pattern, Severity};
use crate::lint::source::Source;

pub(super) static RULE: Rule = Rule { id: "feeder", summary: "Invalid feeder of a channel" };

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let fed = context.data.channels.iter().filter_map(|channel| {
        Some((channel, channel.feeder.as_ref()?, context.source(&channel.file)?))
    });
    fed.flat_map(|(channel, feeder, source)| {
        let problems = [name(context, channel, feeder), filter(channel, feeder), delay(feeder)];
        problems.into_iter().flatten().filter_map(|problem| finding(source, problem))
    })
    .collect()
}

/// What is wrong, and with which property of the feeder.
struct Problem {
    key: &'static str,
    severity: Severity,
    message: String,
}

fn finding(source: &Source<'_>, problem: Problem) -> Option<Finding> {
    let (key, feeder) = source.tree.entry("feeder")?;
    let span = feeder.get(problem.key).map_or(&key.span, |value| &value.span).clone();
    Some(source.finding(&RULE, problem.severity, span, problem.message))
}

/// A feeder is a channel, or a family of channels: `stable` means all whose names begin like that.
fn name(context: &Context<'_>, channel: &Channel, feeder: &Feeder) -> Option<Problem> {
    let message = match &feeder.name {
        None => "a feeder needs the `name` of a channel".to_owned(),
        Some(name) if *name == channel.name => "a channel cannot feed itself".to_owned(),
        Some(name) if has_channel(context, name) => return None,
        Some(name) => format!("channel {name} does not exist"),
    };
    Some(Problem { key: "name", severity: Severity::Warning, message })
}

fn has_channel(context: &Context<'_>, name: &str) -> bool {
    let is_in_family =
        |channel: &str| channel.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
    let mut names = context.data.channels.iter().map(|channel| channel.name.as_str());
    names.any(|known| known == name || is_in_family(known))
}

fn filter(channel: &Channel, feeder: &Feeder) -> Option<Problem> {
    let text = feeder.filter.as_ref()?;
    let (severity, message) = match Pattern::parse(text) {
        Err(why) => (Severity::Error, format!("not a valid regular expression: {why}")),
        Ok(pattern) => {
            let mut versions = channel.versions.iter().map(|listed| listed.version.to_string());
            if channel.versions.is_empty() || versions.any(|version| pattern.matches(&version)) {
                return None;
            }
            (
                Severity::Warning,
                format!("no version of {} matches the filter the filter", channel.name),
            )
        }
    };
    Some(Problem { key: "filter", severity, message })
}

fn delay(feeder: &Feeder) -> Option<Problem> {
    let delay = feeder.delay.as_ref().filter(|delay| !is_duration(delay))?;
    let message = format!("{delay:?} is not an ISO 8601 duration such as PT48H or P1W");
    Some(Problem { key: "delay", severity: Severity::Error, message })
}

/// `P`, then years, months, weeks and days, then `T` and hours, minutes and seconds; each once, in
/// this order, and at least one of them.
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
