//! The state of an update as administrators read it.

mod health;
mod nodes;

use std::fmt;

use fairway_insight::status::{
    Assessment, Change, Completed, ControlPlane, Doubt, Estimate, PendingResource,
    PendingResourceKind, Request, Updating, Way,
};
use fairway_insight::{Span, Status};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::insight::Details;
use crate::foreign_text::{OneLine, lines};

/// What is waited for fits on a screen; the rest is counted.
const FEW_WAITS: usize = 5;

/// Names on one line; the others are counted.
const FEW_NAMES: usize = 3;

/// What others say at length is cut here; `--details` shows it all.
const MUCH: usize = 160;

/// Status of an update, with its text output.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct Shown<'a> {
    pub(super) status: &'a Status,
    #[serde(skip)]
    pub(super) details: Details,
    /// Whether an update was watched until now.
    #[serde(skip)]
    pub(super) watched: bool,
}

impl fmt::Display for Shown<'_> {
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

impl Shown<'_> {
    fn write_idle(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.status.last_completed_update {
            Some(reached) if self.watched => write_reached(f, reached)?,
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
        let groups: Vec<&[PendingResource]> = waits.chunk_by(is_alike).collect();
        let shown = if in_full { groups.len() } else { groups.len().min(FEW_WAITS) };
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
        write!(f, ", duration {}", Span(seconds))?;
    }
    f.write_str(".")
}

/// The end that somebody has waited for.
fn write_reached(f: &mut fmt::Formatter<'_>, reached: &Completed) -> fmt::Result {
    write!(f, "The cluster is updated to {}", OneLine(&reached.version))?;
    match reached.duration_seconds {
        Some(seconds) => write!(f, ", duration {}.", Span(seconds)),
        None => f.write_str("."),
    }
}

fn write_updating(f: &mut fmt::Formatter<'_>, updating: &Updating) -> fmt::Result {
    write_way(f, &updating.way)?;
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
        write!(f, "\n  Duration: {}", Span(seconds))?;
    }
    updating.estimate.as_ref().map_or(Ok(()), |estimate| write_estimate(f, estimate))
}

fn write_way(f: &mut fmt::Formatter<'_>, way: &Way) -> fmt::Result {
    let target = OneLine(&way.target);
    let from = OneLine(way.from.as_deref().unwrap_or_default());
    match way.change {
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

fn write_request(f: &mut fmt::Formatter<'_>, request: &Request) -> fmt::Result {
    let name = OneLine(request.name());
    if request.refused {
        return write!(f, "An update to {name} is requested, but the operator refuses it.");
    }
    write!(f, "An update to {name} is requested and has not started.")
}

/// Whether two things are waited for in the same way, so that it is said once.
fn is_alike(one: &PendingResource, other: &PendingResource) -> bool {
    let told = |wait: &PendingResource| (wait.kind, wait.reason.clone(), wait.message.clone());
    told(one) == told(other)
        && (one.inspect_command == other.inspect_command || one.kind == PendingResourceKind::Node)
}

/// Things that are waited for in the same way.
fn write_wait(f: &mut fmt::Formatter<'_>, group: &[PendingResource], in_full: bool) -> fmt::Result {
    let Some(first) = group.first() else { return Ok(()) };
    let (one, several) = match first.kind {
        PendingResourceKind::Release => ("release", "releases"),
        PendingResourceKind::Operator => ("operator", "operators"),
        PendingResourceKind::ClusterVersion => ("ClusterVersion", "operators"),
        PendingResourceKind::Pool => ("pool", "pools"),
        PendingResourceKind::Node => ("node", "nodes"),
    };
    let shown = if in_full { group.len() } else { group.len().min(FEW_NAMES) };
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
        Some(seconds) if seconds > 0 => write!(f, ", for {}", Span(seconds))?,
        Some(_) => f.write_str(", just now")?,
        None => {}
    }
    if let Some(message) = &first.message {
        // Why a release is refused stands at the end of what is said about it.
        write_said(f, message, "    ", in_full || first.kind == PendingResourceKind::Release)?;
    }
    write!(f, "\n    $ {}", OneLine(&first.inspect_command))
}

/// What others say: all lines of it, or as much of the first as is needed to know it.
fn write_said(f: &mut fmt::Formatter<'_>, said: &str, indent: &str, in_full: bool) -> fmt::Result {
    for line in lines(said).take(if in_full { usize::MAX } else { 1 }) {
        let line = line.to_string();
        if !in_full && line.chars().count() > MUCH {
            let start: String = line.chars().take(MUCH).collect();
            write!(f, "\n{indent}{start}…")?;
        } else {
            write!(f, "\n{indent}{line}")?;
        }
    }
    Ok(())
}
