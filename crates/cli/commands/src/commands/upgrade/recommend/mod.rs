//! `fairway upgrade recommend`: which updates there are, and what speaks against them.

mod quiet;
mod text;

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_insight::recommend::{Question, Verdict};
use fairway_insight::{Alerts, Moment, Recommendation};
use futures::try_join;
use jiff::Timestamp;

use super::status::warn;
use super::{notes, risks};
use crate::args::insight::RecommendArgs;
use crate::args::report::ReportFormat;
use crate::args::source::SourceArgs;
use crate::cluster::block_on;
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};
use crate::source::Source;
use text::Shown;

/// What documents of it are called.
const KIND: &str = "UpgradeRecommendation";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<Shown<'_>>(KIND)
}

pub(super) fn run(args: &RecommendArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let (version, components, alerts, moment) = block_on(Box::pin(look(&args.source)))?;
    let accept = args.accept.iter().map(|name| name.trim().to_owned()).collect();
    let question = Question { version: args.version.clone(), accept };
    let report = Recommendation::of(&version, &alerts, &question, moment.now());
    let status = match report.verdict() {
        Verdict::Yes => ExitStatus::Success,
        Verdict::No if was_looked_at(&version, &question, moment.now()) => ExitStatus::NewRisks,
        Verdict::No => ExitStatus::Refused,
        Verdict::CannotTell => ExitStatus::Unknown,
    };
    if let Some(version) = question.version.as_ref().filter(|_| is_quiet(args, printer)) {
        return quiet::answer(&report, version, status);
    }
    warn(&alerts, printer);
    let mut notes = notes::of(&components, &version);
    if let Some(version) = &question.version {
        notes.retain(|note| note.is_about(&version.to_string()));
    }
    let shown = Shown { report: &report, notes, in_full: args.show_outdated_releases };
    output::report(printer.stdout(), args.output.output, KIND, &shown)?;
    Ok(status)
}

/// Whether somebody has looked at what speaks against the update and accepted something, with this
/// question or in the cluster: what speaks against it still is new.
fn was_looked_at(cluster_version: &ClusterVersion, question: &Question, now: Timestamp) -> bool {
    let in_the_cluster = question.version.as_ref().is_some_and(|version| {
        let acceptance = risks::acceptance(cluster_version);
        risks::any_accepted_for(&acceptance, &version.to_string(), now)
    });
    in_the_cluster || !question.accept.is_empty()
}

/// Whether the exit code is the answer. Whoever asks for a document wants it all the same.
fn is_quiet(args: &RecommendArgs, printer: &Printer) -> bool {
    printer.is_quiet() && matches!(args.output.output, ReportFormat::Text)
}

/// What tells which updates there are, and when.
async fn look(
    args: &SourceArgs,
) -> anyhow::Result<(ClusterVersion, Vec<ClusterOperator>, Alerts, Moment)> {
    let source = Source::open(args).await?;
    let alerts = async { Ok(source.alerts().await) };
    let (version, components, alerts) =
        try_join!(source.cluster_version(), source.components(), alerts)?;
    let moment = source.moment(&version, &components);
    Ok((version, components, alerts, moment))
}

#[cfg(test)]
mod tests;
