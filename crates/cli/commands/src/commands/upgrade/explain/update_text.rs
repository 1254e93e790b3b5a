//! Text of the explanation of an update.

use std::fmt;

use fairway_insight::Explanation;
use fairway_insight::explain::{ExplainedUpdate, Offer, RiskOfUpdate, UpdateBlocker};
use fairway_insight::plan::NotOffered;
use fairway_risk::RiskSource;

use super::super::report::text::{AcceptanceSuffix, Age};
use super::text::{Sources, exposure, write_indented};
use crate::foreign_text::OneLine;

pub(super) fn write(
    f: &mut fmt::Formatter<'_>,
    update: &ExplainedUpdate,
    explanation: &Explanation,
) -> fmt::Result {
    write_offer(f, update, explanation.current.as_deref())?;
    write_release(f, update)?;
    write_risks(f, &update.risks)?;
    match update.offer {
        _ if update.blockers.is_empty() => {}
        Offer::NotOffered => f.write_str("\n\nReasons:")?,
        _ => f.write_str("\n\nOther issues:")?,
    }
    update
        .blockers
        .iter()
        .try_for_each(|blocker| write!(f, "\n  {}", BlockerText { blocker, update }))?;
    let is_version_known = explanation.current.is_some();
    if update.offer == Offer::NotOffered && is_version_known && !is_older(update) {
        let to = OneLine(&update.version);
        write!(f, "\n\nTo find an upgrade path, run `fairway upgrade plan --to={to}`.")?;
    }
    Ok(())
}

fn write_offer(
    f: &mut fmt::Formatter<'_>,
    update: &ExplainedUpdate,
    current: Option<&str>,
) -> fmt::Result {
    let (to, from) = (OneLine(&update.version), OneLine(current.unwrap_or("an unknown version")));
    match update.offer {
        Offer::Current => {
            return write!(f, "{to} is the current or the desired version of this cluster.");
        }
        Offer::NotOffered => write!(f, "{to}: not available from {from}")?,
        Offer::Unconditional => {
            let not = if update.blockers.is_empty() { "" } else { "not " };
            write!(f, "{to}: {not}recommended, available from {from} without conditions")?;
        }
        Offer::Conditional if !has_conditions(update) => {
            write!(f, "{to}: available from {from}, conditional on risks of this cluster")?;
        }
        Offer::Conditional => {
            write!(f, "{to}: available from {from}, conditional on its risks")?;
        }
    }
    let Some(recommended) = &update.recommended_condition else { return Ok(()) };
    let (status, reason) = (OneLine(&recommended.status), OneLine(&recommended.reason));
    write!(f, "\nRecommended={status} for this cluster: {reason}")?;
    match recommended.age_seconds {
        Some(age) => write!(f, ", since {}", Age(age)),
        None => Ok(()),
    }
}

/// Whether the update service publishes a risk of the update.
fn has_conditions(update: &ExplainedUpdate) -> bool {
    update.risks.iter().any(|risk| risk.sources.contains(&RiskSource::Graph))
}

/// Whether the target is older, so that a plan finds no path.
fn is_older(update: &ExplainedUpdate) -> bool {
    update.blockers.contains(&UpdateBlocker::NoPath(NotOffered::Older))
}

fn write_release(f: &mut fmt::Formatter<'_>, update: &ExplainedUpdate) -> fmt::Result {
    let upstream = update.upstream.as_deref().unwrap_or("default of the operator");
    let channel = update.channel.as_deref().unwrap_or("none");
    write!(f, "\n\nChannel: {}\nUpdate service: {}", OneLine(channel), OneLine(upstream))?;
    if !update.channels.is_empty() {
        write!(f, "\nChannels of the release: {}", OneLine(&update.channels.join(", ")))?;
    }
    if let Some(image) = &update.image {
        write!(f, "\nImage: {}", OneLine(image))?;
    }
    if let Some(url) = &update.url {
        write!(f, "\nRelease URL: {}", OneLine(url))?;
    }
    Ok(())
}

fn write_risks(f: &mut fmt::Formatter<'_>, risks: &[RiskOfUpdate]) -> fmt::Result {
    if risks.is_empty() {
        return Ok(());
    }
    f.write_str("\n\nRisks:")?;
    for risk in risks {
        let effect = &risk.effect;
        let (name, sources) = (OneLine(&risk.name), Sources(&risk.sources));
        let accepted = AcceptanceSuffix(&effect.acceptance_state);
        write!(f, "\n  {name}: {}{accepted}; source: {sources}", exposure(effect.exposure))?;
        let condition = risk.applies_condition.as_ref().map(|applies| applies.message.as_str());
        for text in risk.message.as_deref().into_iter().chain(condition.filter(|_| !is_same(risk)))
        {
            write_indented(f, text, "    ")?;
        }
    }
    f.write_str("\n\nFor details of a risk, run `fairway upgrade explain RISK`.")
}

/// Whether the condition repeats the description of the risk.
fn is_same(risk: &RiskOfUpdate) -> bool {
    let condition = risk.applies_condition.as_ref().map(|applies| applies.message.trim());
    condition
        .zip(risk.message.as_deref())
        .is_some_and(|(condition, message)| message.trim() == condition)
}

/// Text of a blocker.
struct BlockerText<'a> {
    blocker: &'a UpdateBlocker,
    update: &'a ExplainedUpdate,
}

impl fmt::Display for BlockerText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.blocker {
            UpdateBlocker::NoChannel => f.write_str(
                "No channel is set, so the operator does not retrieve updates. Set one with \
                 `fairway upgrade channel CHANNEL`.",
            ),
            UpdateBlocker::UpdatesNotRetrieved { reason, message } => {
                f.write_str("The available updates are unknown")?;
                write_reason(f, reason.as_deref(), message.as_deref())
            }
            UpdateBlocker::NotUpgradeable { reason, message } => {
                f.write_str("Upgradeable=False blocks updates to later minor versions")?;
                write_reason(f, reason.as_deref(), message.as_deref())
            }
            UpdateBlocker::NoPath(why) => self.write_no_path(f, why),
            UpdateBlocker::NotListed { alternatives } if alternatives.is_empty() => f.write_str(
                "The update service has no update to that minor version in this channel.",
            ),
            UpdateBlocker::NotListed { alternatives } => write!(
                f,
                "Other updates to that minor version are available: {}.",
                OneLine(&alternatives.join(", "))
            ),
        }
    }
}

impl BlockerText<'_> {
    fn write_no_path(&self, f: &mut fmt::Formatter<'_>, why: &NotOffered) -> fmt::Result {
        match why {
            NotOffered::UnknownCurrentVersion => {
                f.write_str("The version of this cluster is not in the update graph.")
            }
            NotOffered::UnknownVersion => f.write_str("The update graph has no such release."),
            NotOffered::Older => f.write_str("It is older than the version of this cluster."),
            NotOffered::NotInChannel { channels } => {
                let channel = self.update.channel.as_deref().unwrap_or("the channel");
                let (channel, channels) = (OneLine(channel), channels.join(", "));
                write!(f, "It is not in {channel}, but in {}.", OneLine(&channels))
            }
            NotOffered::Tombstoned { channel, file } => {
                write!(f, "Removed from {} by graph-data: {}.", OneLine(channel), OneLine(file))
            }
            NotOffered::Blocked { causes } => {
                let causes: Vec<String> = causes.iter().map(ToString::to_string).collect();
                write!(f, "Blocked by graph-data: {}.", OneLine(&causes.join("; ")))
            }
            NotOffered::NoEdge { from_versions } if from_versions.is_empty() => {
                f.write_str("No update leads to it.")
            }
            NotOffered::NoEdge { from_versions } => {
                write!(
                    f,
                    "Updates to it start only from other versions, such as {}.",
                    OneLine(&from_versions.join(", "))
                )
            }
            NotOffered::Guard { minor_distance: Some(minors) } => {
                write!(
                    f,
                    "It is {minors} minor versions ahead, and an update can cross at most two."
                )
            }
            NotOffered::Guard { minor_distance: None } => f.write_str(
                "It has another major version, and no update leads to it from this version.",
            ),
        }
    }
}

fn write_reason(
    f: &mut fmt::Formatter<'_>,
    reason: Option<&str>,
    message: Option<&str>,
) -> fmt::Result {
    if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
        write!(f, " ({})", OneLine(reason))?;
    }
    match message.filter(|message| !message.is_empty()) {
        Some(message) => write!(f, ": {}", OneLine(message)),
        None => f.write_str("."),
    }
}
