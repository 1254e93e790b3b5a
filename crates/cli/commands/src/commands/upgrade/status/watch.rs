//! Watching an update until it is over.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use fairway_insight::Status;
use fairway_insight::status::ControlPlane;
use tokio::time::{Instant, interval, timeout_at};

use super::{ask, exit_status, print, warn};
use crate::args::insight::StatusArgs;
use crate::args::report::ReportFormat;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::source::Source;

/// How often it is looked. An update takes an hour, and each look reads every node.
const LOOK: Duration = Duration::from_secs(5);

/// How often in a row a look may fail: while the control plane updates, its API servers restart.
const FAILURES: usize = 60;

pub(super) async fn run(args: &StatusArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let source = Source::open(&args.source).await?;
    let watching = watch(&source, args, printer);
    let Some(patience) = args.timeout else { return watching.await };
    match timeout_at(Instant::now() + patience, watching).await {
        Ok(ended) => ended,
        Err(_) => Ok(ExitStatus::TimedOut),
    }
}

async fn watch(
    source: &Source,
    args: &StatusArgs,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let (mut looks, mut failures) = (interval(LOOK), 0);
    let (mut told, mut was_updating): (Option<String>, bool) = (None, false);
    loop {
        looks.tick().await;
        let (mut status, alerts) = match ask(source).await {
            Ok(answer) => answer,
            // Whoever names no cluster at the beginning is not going to.
            Err(error) if told.is_none() || failures >= FAILURES => return Err(error),
            Err(_) => {
                failures += 1;
                continue;
            }
        };
        failures = 0;
        let news = news(&status);
        if told.as_ref() != Some(&news) {
            match (&told, args.output.output) {
                (None, _) => warn(&alerts, printer),
                (Some(_), ReportFormat::Text) => writeln!(printer.stdout())?,
                (Some(_), ReportFormat::Yaml) => writeln!(printer.stdout(), "---")?,
                (Some(_), ReportFormat::Json) => {}
            }
            print(&mut status, was_updating, args, printer)?;
            told = Some(news);
        }
        was_updating |= status.updating;
        if !status.updating && status.requested.is_none() {
            return Ok(exit_status(&status));
        }
    }
}

/// What is worth telling again when it changes: everything but the time that passes.
pub(super) fn news(status: &Status) -> String {
    let mut news = String::new();
    match &status.control_plane {
        None => news.push_str("idle"),
        Some(ControlPlane::Completed(completed)) => news.push_str(&completed.version),
        Some(ControlPlane::Updating(updating)) => {
            let (assessment, counts) = (updating.assessment, updating.operators);
            let _ = write!(news, "{} {assessment:?} {counts:?}", updating.way.target);
        }
    }
    if let Some(requested) = &status.requested {
        let (name, seen, reason) = (requested.name(), requested.spec_observed, &requested.reason);
        let _ = write!(news, "\n{name} {seen} {} {reason:?}", requested.refused);
    }
    for wait in &status.pending_resources {
        let _ = write!(news, "\n{} {:?} {:?}", wait.name, wait.reason, wait.message);
    }
    for node in &status.nodes {
        let _ = write!(news, "\n{} {:?} {:?}", node.name, node.assessment, node.phase);
    }
    for insight in &status.insights {
        let _ = write!(news, "\n{:?} {}", insight.level, insight.summary);
    }
    news
}
