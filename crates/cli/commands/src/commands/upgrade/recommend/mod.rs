//! `fairway upgrade recommend`: available updates and the issues before an update.

mod text;

use fairway_api::{ClusterOperator, ClusterVersion, Version};
use fairway_insight::recommend::{CANNOT_RETRIEVE_UPDATES, RecommendQuery, RecommendResult};
use fairway_insight::{Alerts, ObservationTime, Recommendation, Verdict};
use futures::try_join;
use jiff::Timestamp;

use super::status::warn;
use super::{notes, risks};
use crate::args::insight::RecommendArgs;
use crate::args::report::ReportFormat;
use crate::args::source::SourceArgs;
use crate::cluster::block_on;
use crate::errors::{CannotTell, Refused, Unaccepted};
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output::{self, TypedReport};
use crate::printer::Printer;
use crate::source::Source;
pub(super) use text::RecommendationText;

impl TypedReport for RecommendationText<'_> {
    const KIND: &'static str = "UpgradeRecommendation";
}

pub(super) fn run(args: &RecommendArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let (version, components, alerts, observation) = block_on(Box::pin(read(&args.source)))?;
    let accept = args.accept.iter().map(|name| name.trim().to_owned()).collect();
    let query = RecommendQuery { version: args.version.clone(), accept };
    let report = Recommendation::of(&version, &alerts, &query, observation.now());
    let status = match report.verdict() {
        Verdict::Yes => ExitStatus::Success,
        Verdict::No if has_accepted_issues(&version, &query, observation.now()) => {
            ExitStatus::NewRisks
        }
        Verdict::No => ExitStatus::Refused,
        Verdict::Unknown => ExitStatus::Unknown,
    };
    if let Some(version) = query.version.as_ref().filter(|_| is_quiet(args, printer)) {
        return quiet_result(&report, version, status);
    }
    warn(&alerts, printer);
    let mut notes = notes::read(&components, &version);
    if let Some(version) = &query.version {
        notes.retain(|note| note.is_about(&version.to_string()));
    }
    let text = RecommendationText { report: &report, notes, in_full: args.show_outdated_releases };
    output::report(printer.stdout(), args.output.output, &text)?;
    Ok(status)
}

/// Whether issues or risks are accepted, by the arguments or in the cluster. Further issues are new to
/// the administrator then.
fn has_accepted_issues(
    cluster_version: &ClusterVersion,
    query: &RecommendQuery,
    now: Timestamp,
) -> bool {
    let in_cluster = query.version.as_ref().is_some_and(|version| {
        let acceptance = risks::acceptance(cluster_version);
        risks::any_accepted_for(&acceptance, &version.to_string(), now)
    });
    in_cluster || !query.accept.is_empty()
}

/// Whether the exit code is the only output. `--output` still prints a document.
fn is_quiet(args: &RecommendArgs, printer: &Printer) -> bool {
    printer.is_quiet() && matches!(args.output.output, ReportFormat::Text)
}

/// Objects and alerts of the cluster.
async fn read(
    args: &SourceArgs,
) -> anyhow::Result<(ClusterVersion, Vec<ClusterOperator>, Alerts, ObservationTime)> {
    let source = Source::open(args).await?;
    let alerts = async { Ok(source.alerts().await) };
    let (version, components, alerts) =
        try_join!(source.cluster_version(), source.components(), alerts)?;
    let observation = source.observation_time(&version, &components);
    Ok((version, components, alerts, observation))
}

/// Result for `--quiet`: an error with the reason, or nothing.
fn quiet_result(
    report: &Recommendation,
    version: &Version,
    status: ExitStatus,
) -> anyhow::Result<ExitStatus> {
    let (message, hint) = why_not(report, version);
    match status {
        ExitStatus::Refused => Err(Refused::new(message, hint).into()),
        ExitStatus::NewRisks => Err(Unaccepted { message, hint, risks: Vec::new(), status }.into()),
        ExitStatus::Unknown => Err(CannotTell::new(message, hint).into()),
        status => Ok(status),
    }
}

/// Why the update is not recommended, and a hint.
fn why_not(report: &Recommendation, version: &Version) -> (String, String) {
    let details = format!("run `fairway upgrade recommend --version={version}` for details");
    match (&report.result, &report.alerts.message) {
        (RecommendResult::One { not_offered_message: Some(why), .. }, _) => {
            let is_known = !report.issues.iter().any(|it| it.name == CANNOT_RETRIEVE_UPDATES);
            let hint = if is_known {
                "run `fairway upgrade recommend --show-outdated-releases` to list available updates"
            } else {
                "run `fairway upgrade` for the reason"
            };
            (OneLine(why).to_string(), hint.to_owned())
        }
        _ if !report.unaccepted.is_empty() => {
            let names = report.unaccepted.join(",");
            let names = OneLine(&names);
            (format!("the update to {version} has unaccepted issues: {names}"), details)
        }
        (_, why) => {
            let why = why.as_deref().unwrap_or("no reason given");
            (format!("the alerts are unknown: {}", OneLine(why)), details)
        }
    }
}

#[cfg(test)]
mod tests;
