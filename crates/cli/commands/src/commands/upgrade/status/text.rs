//! Text of the status of an update.

use std::fmt;

use fairway_insight::request::PendingRequest;
use fairway_insight::status::{
    Assessment, Change, Completed, ControlPlane, Doubt, Estimate, Impact, Insight, Level,
    PendingResource, PendingResourceKind, Updating, VersionChange,
};
use fairway_insight::{DurationText, Status};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::insight::Details;
use crate::foreign_text::{OneLine, lines};

/// Pending resources; the others are counted.
const MAX_WAITS: usize = 5;

/// Names per line; the others are counted.
const MAX_NAMES: usize = 3;

/// Length of messages without `--details`.
const MAX_MESSAGE_LENGTH: usize = 160;

/// Status of an update.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct StatusText<'a> {
    pub(super) status: &'a Status,
    #[serde(skip)]
    pub(super) details: Details,
    /// Whether the command watched the update until now.
    #[serde(skip)]
    pub(super) watched: bool,
}

impl fmt::Display for StatusText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(control_plane) = &self.status.control_plane else { return self.write_idle(f) };
        match control_plane {
            ControlPlane::Completed(completed) => write_completed(f, completed)?,
            ControlPlane::Updating(updating) => write_updating(f, updating)?,
        }
        if let Some(quiet) = self.status.quiet_for() {
            write!(f, "\n  No progress for {quiet}.")?;
        }
        if let Some(request) = &self.status.requested {
            write!(f, "\n\n")?;
            write_request(f, request)?;
        }
        self.write_waits(f)?;
        self.write_nodes(f, control_plane)?;
        self.write_health(f)
    }
}

impl StatusText<'_> {
    fn write_idle(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.status.last_completed_update {
            Some(completed) if self.watched => write_completed_update(f, completed)?,
            _ => f.write_str("The cluster is not updating.")?,
        }
        if let Some(request) = &self.status.requested {
            write!(f, "\n\n")?;
            write_request(f, request)?;
        }
        self.write_waits(f)
    }

    fn write_waits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waits = &self.status.pending_resources;
        if waits.is_empty() {
            return Ok(());
        }
        let in_full = self.details.has(Details::Operators);
        let groups: Vec<&[PendingResource]> = waits.chunk_by(is_same_wait).collect();
        let shown = if in_full { groups.len() } else { groups.len().min(MAX_WAITS) };
        f.write_str("\n\nWaiting for")?;
        for group in &groups[..shown] {
            write_wait(f, group, in_full)?;
        }
        match groups[shown..].iter().map(|group| group.len()).sum() {
            0 => Ok(()),
            more => write!(f, "\n  {more} more: use --details=operators to show them"),
        }
    }
}

fn write_completed(f: &mut fmt::Formatter<'_>, completed: &Completed) -> fmt::Result {
    write!(f, "The control plane is updated to {}", OneLine(&completed.version))?;
    if let Some(at) = completed.completed_at {
        write!(f, ", completed at {at}")?;
    }
    if let Some(seconds) = completed.duration_seconds {
        write!(f, ", duration {}", DurationText(seconds))?;
    }
    f.write_str(".")
}

/// Writes the end of a watched update.
fn write_completed_update(f: &mut fmt::Formatter<'_>, completed: &Completed) -> fmt::Result {
    write!(f, "The cluster is updated to {}", OneLine(&completed.version))?;
    match completed.duration_seconds {
        Some(seconds) => write!(f, ", duration {}.", DurationText(seconds)),
        None => f.write_str("."),
    }
}

fn write_updating(f: &mut fmt::Formatter<'_>, updating: &Updating) -> fmt::Result {
    write_change(f, &updating.version_change)?;
    let assessment = match updating.assessment {
        Assessment::Progressing => "in progress",
        Assessment::Slow => "in progress, slower than expected",
        Assessment::Stalled => "stalled",
    };
    let counts = updating.operators;
    write!(f, ": {assessment}.")?;
    write!(
        f,
        "\n  {}% complete; {} operators: {} updated, {} updating, {} waiting",
        updating.percent, counts.total, counts.updated, counts.updating, counts.waiting
    )?;
    let health = updating.health;
    write!(f, "\n  Operators: {} healthy", health.healthy)?;
    for (number, word) in [(health.unavailable, "unavailable"), (health.degraded, "degraded")] {
        if number > 0 {
            write!(f, ", {number} {word}")?;
        }
    }
    if let Some(seconds) = updating.duration_seconds {
        write!(f, "\n  Duration: {}", DurationText(seconds))?;
    }
    updating.estimate.as_ref().map_or(Ok(()), |estimate| write_estimate(f, estimate))
}

fn write_change(f: &mut fmt::Formatter<'_>, change: &VersionChange) -> fmt::Result {
    let target = OneLine(&change.target);
    let from = OneLine(change.from.as_deref().unwrap_or_default());
    match change.change {
        Change::Install => write!(f, "Installation of {target}"),
        Change::Update => write!(f, "Update to {target} from {from}"),
        Change::UpdateFromIncomplete => {
            write!(f, "Update to {target} from {from}, which never completed")
        }
        Change::MultiArch => write!(f, "Migration of {target} to multiple architectures"),
    }
}

fn write_estimate(f: &mut fmt::Formatter<'_>, estimate: &Estimate) -> fmt::Result {
    let why = match estimate.doubt {
        None => {
            return match estimate.remaining.strip_prefix('<') {
                Some(limit) => write!(f, "\n  Time remaining: less than {limit}"),
                None => write!(f, "\n  Time remaining: about {}", estimate.remaining),
            };
        }
        Some(Doubt::MultiArch) => "depends on the number of nodes",
        Some(Doubt::Overdue) => "slower than expected",
        Some(Doubt::Blocked) => "the update is blocked",
        Some(Doubt::Quiet) => "no recent progress",
        Some(Doubt::NothingToCompareWith) => "just started, no previous update to compare",
    };
    write!(f, "\n  Time remaining: unknown ({why})")
}

fn write_request(f: &mut fmt::Formatter<'_>, request: &PendingRequest) -> fmt::Result {
    let name = OneLine(request.name());
    if request.refused {
        return write!(f, "An update to {name} is requested, but the operator refuses it.");
    }
    write!(f, "An update to {name} is requested and has not started.")
}

/// Whether two pending resources share one text.
fn is_same_wait(one: &PendingResource, other: &PendingResource) -> bool {
    let key = |wait: &PendingResource| (wait.kind, wait.reason.clone(), wait.message.clone());
    key(one) == key(other)
        && (one.inspect_command == other.inspect_command || one.kind == PendingResourceKind::Node)
}

/// Writes pending resources with one text.
fn write_wait(f: &mut fmt::Formatter<'_>, group: &[PendingResource], in_full: bool) -> fmt::Result {
    let Some(first) = group.first() else { return Ok(()) };
    let (one, several) = match first.kind {
        PendingResourceKind::Release => ("release", "releases"),
        PendingResourceKind::Operator => ("operator", "operators"),
        PendingResourceKind::ClusterVersion => ("ClusterVersion", "operators"),
        PendingResourceKind::Pool => ("pool", "pools"),
        PendingResourceKind::Node => ("node", "nodes"),
    };
    let shown = if in_full { group.len() } else { group.len().min(MAX_NAMES) };
    let names: Vec<&str> = group[..shown].iter().map(|wait| wait.name.as_str()).collect();
    let kind = if group.len() == 1 { one } else { several };
    write!(f, "\n  {kind} {}", OneLine(&names.join(", ")))?;
    if group.len() > shown {
        write!(f, " and {} more", group.len() - shown)?;
    }
    if let Some(reason) = &first.reason {
        write!(f, " ({})", OneLine(reason))?;
    }
    match first.age_seconds {
        Some(seconds) if seconds > 0 => write!(f, ", for {}", DurationText(seconds))?,
        Some(_) => f.write_str(", just now")?,
        None => {}
    }
    if let Some(message) = &first.message {
        // The cause of a refusal is at the end of its message.
        write_message(f, message, "    ", in_full || first.kind == PendingResourceKind::Release)?;
    }
    write!(f, "\n    $ {}", OneLine(&first.inspect_command))
}

/// Writes a message: all lines, or the start of the first.
pub(super) fn write_message(
    f: &mut fmt::Formatter<'_>,
    message: &str,
    indent: &str,
    in_full: bool,
) -> fmt::Result {
    for line in lines(message).take(if in_full { usize::MAX } else { 1 }) {
        let line = line.to_string();
        if !in_full && line.chars().count() > MAX_MESSAGE_LENGTH {
            let start: String = line.chars().take(MAX_MESSAGE_LENGTH).collect();
            write!(f, "\n{indent}{start}…")?;
        } else {
            write!(f, "\n{indent}{line}")?;
        }
    }
    Ok(())
}

impl StatusText<'_> {
    fn write_health(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_full = self.details.has(Details::Health);
        let insights = &self.status.insights;
        f.write_str("\n\nHealth")?;
        if insights.is_empty() {
            f.write_str("\n  No known issues.")?;
        }
        for insight in insights {
            write_insight(f, insight, in_full)?;
        }
        if !insights.is_empty() && !in_full {
            f.write_str("\n  Use --details=health for explanations and remediation.")?;
        }
        match &self.status.alerts.message {
            None => Ok(()),
            Some(why) => write!(f, "\n  Alerts are unknown: {}.", OneLine(why)),
        }
    }
}

fn write_insight(f: &mut fmt::Formatter<'_>, insight: &Insight, in_full: bool) -> fmt::Result {
    let level = match insight.level {
        Level::Warning => "Warning",
        Level::Error => "Error",
        Level::Critical => "Critical",
    };
    write!(f, "\n  {level}: {}", OneLine(&insight.summary))?;
    let since = insight.age_seconds.filter(|seconds| *seconds > 0);
    match (impact(insight), since) {
        (None, None) => {}
        (None, Some(seconds)) => write!(f, "\n    for {}", DurationText(seconds))?,
        (Some(impact), None) => write!(f, "\n    {impact}")?,
        (Some(impact), Some(seconds)) => {
            write!(f, "\n    for {}; {impact}", DurationText(seconds))?;
        }
    }
    if in_full {
        write_message(f, &insight.description, "    ", true)?;
        for resource in &insight.resources {
            write!(f, "\n    {}", OneLine(resource))?;
        }
        write!(f, "\n    {}", OneLine(&insight.reference))?;
    }
    Ok(())
}

fn impact(insight: &Insight) -> Option<&'static str> {
    match insight.impact {
        Impact::None | Impact::Unknown => None,
        Impact::ApiAvailability => Some("API availability may be reduced"),
        Impact::UpdateSpeed => Some("the update takes longer"),
        Impact::UpdateStalled if insight.transient => {
            Some("usual at first; if it persists, the update is stalled")
        }
        Impact::UpdateStalled => Some("the update is stalled"),
    }
}
