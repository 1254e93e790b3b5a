//! `fairway upgrade status --watch`: prints the status until the update is over.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use fairway_insight::Status;
use fairway_insight::status::ControlPlane;
use tokio::time::{Instant, interval, timeout_at};

use super::{exit_status, print, read, warn};
use crate::args::insight::StatusArgs;
use crate::args::report::ReportFormat;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::source::Source;

/// Interval between polls. An update takes an hour, and each poll reads all nodes.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Failed polls in a row, 5 minutes: API servers restart during an update.
const MAX_FAILURES: usize = 60;

pub(super) async fn run(args: &StatusArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let source = Source::open(&args.source).await?;
    let watching = watch(&source, args, printer);
    let Some(timeout) = args.timeout else { return watching.await };
    match timeout_at(Instant::now() + timeout, watching).await {
        Ok(ended) => ended,
        Err(_) => Ok(ExitStatus::TimedOut),
    }
}

async fn watch(
    source: &Source,
    args: &StatusArgs,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let (mut ticks, mut failures) = (interval(POLL_INTERVAL), 0);
    let (mut shown, mut was_updating): (Option<String>, bool) = (None, false);
    loop {
        ticks.tick().await;
        let (mut status, alerts) = match read(source).await {
            Ok(status) => status,
            // A failure of the first poll is permanent, such as a wrong context.
            Err(error) if shown.is_none() || failures >= MAX_FAILURES => return Err(error),
            Err(_) => {
                failures += 1;
                continue;
            }
        };
        failures = 0;
        let fingerprint = fingerprint(&status);
        if shown.as_ref() != Some(&fingerprint) {
            match (&shown, args.output.output) {
                (None, _) => warn(&alerts, printer),
                (Some(_), ReportFormat::Text) => writeln!(printer.stdout())?,
                (Some(_), ReportFormat::Yaml) => writeln!(printer.stdout(), "---")?,
                (Some(_), ReportFormat::Json) => {}
            }
            print(&mut status, was_updating, args, printer)?;
            shown = Some(fingerprint);
        }
        was_updating |= status.updating;
        if !status.updating && status.requested.is_none() {
            return Ok(exit_status(&status));
        }
    }
}

/// Text that changes whenever the status should be printed again: everything except durations.
pub(super) fn fingerprint(status: &Status) -> String {
    let mut text = String::new();
    match &status.control_plane {
        None => text.push_str("idle"),
        Some(ControlPlane::Completed(completed)) => text.push_str(&completed.version),
        Some(ControlPlane::Updating(updating)) => {
            let (assessment, counts) = (updating.assessment, updating.operators);
            let _ = write!(text, "{} {assessment:?} {counts:?}", updating.version_change.target);
        }
    }
    if let Some(requested) = &status.requested {
        let (name, seen, reason) = (requested.name(), requested.spec_observed, &requested.reason);
        let _ = write!(text, "\n{name} {seen} {} {reason:?}", requested.refused);
    }
    for wait in &status.pending_resources {
        let _ = write!(text, "\n{} {:?} {:?}", wait.name, wait.reason, wait.message);
    }
    for node in &status.nodes {
        let _ = write!(text, "\n{} {:?} {:?}", node.name, node.assessment, node.phase);
    }
    for insight in &status.insights {
        let _ = write!(text, "\n{:?} {}", insight.level, insight.summary);
    }
    text
}
