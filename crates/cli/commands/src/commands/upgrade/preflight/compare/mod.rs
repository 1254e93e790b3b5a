//! `fairway upgrade compare`: what several releases say about this cluster, side by side.

mod text;

use schemars::JsonSchema;
use serde::Serialize;

use super::super::request::outcome::Named;
use super::super::request::wish::Target;
use super::errand::{self, Errand};
use super::records::Records;
use super::report::{Look, Report, Verdict};
use super::request::Wish;
use crate::args::upgrade_preflight::{CompareArgs, ReleaseChoice};
use crate::cluster::block_on;
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};
use crate::source::Source;

/// What documents of it are called.
const KIND: &str = "PreflightComparison";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<Comparison>(KIND)
}

pub(in super::super) fn run(args: &CompareArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let comparison = block_on(async {
        let source = Source::open(&args.source).await?;
        let comparison = look(&source, &args.releases).await?;
        let Source::Live(cluster) = &source else { return Ok(comparison) };
        if !args.run || comparison.missing().next().is_none() {
            return Ok(comparison);
        }
        let missing: Vec<Named> = comparison.missing().cloned().collect();
        let mut errand = Errand::begin(cluster, printer, true)?;
        let ran = run_each(&mut errand, missing, args).await;
        // What was found is looked at before anything is withdrawn.
        let comparison = look(&source, &args.releases).await;
        let ended = errand.end().await;
        ran?;
        ended?;
        comparison
    })?;
    output::report(printer.stdout(), args.output.output, KIND, &comparison)?;
    Ok(comparison.exit_status())
}

async fn look(source: &Source, releases: &[ReleaseChoice]) -> anyhow::Result<Comparison> {
    let object = source.cluster_version().await?;
    let (records, moment) = (Records::of_source(source).await, source.moment_of(&object).await?);
    let look = Look { cluster_version: &object, records: &records, now: moment.now() };
    let can_run = matches!(source, Source::Live(_));
    Ok(Comparison { can_run, ..Comparison::of(look, releases) })
}

/// Runs them one after the other, for as long as nobody asks for something else.
async fn run_each(
    errand: &mut Errand<'_>,
    targets: Vec<Named>,
    args: &CompareArgs,
) -> anyhow::Result<()> {
    for target in targets {
        let target = match target {
            Named { image: Some(image), version } => Target::Image { image, version },
            Named { version, .. } => Target::Version(version.unwrap_or_default()),
        };
        let wish = Wish { target, force: false, for_a_while: true };
        let outcome = errand.run(&wish, args.wait).await?;
        if errand::is_over(&outcome) {
            break;
        }
    }
    Ok(())
}

/// Preflight results of several releases.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Comparison {
    /// Reports on the releases, in the order of the arguments.
    targets: Vec<Report>,
    /// Whether preflights can be run: a recorded cluster runs none.
    #[serde(skip)]
    can_run: bool,
}

impl Comparison {
    fn of(look: Look<'_>, releases: &[ReleaseChoice]) -> Self {
        let report = |release| look.report(Some(Named::from(release)));
        Self { targets: releases.iter().map(report).collect(), can_run: true }
    }

    /// The releases that do not have complete results.
    fn missing(&self) -> impl Iterator<Item = &Named> {
        let missing = self.targets.iter().filter(|report| {
            let told = [Verdict::NoFindings, Verdict::FindingsAccepted, Verdict::Findings];
            !told.contains(&report.result)
        });
        missing.filter_map(|report| report.target.as_ref())
    }

    /// Whether running what is missing would tell more.
    fn wants_a_run(&self) -> bool {
        let is_unsupported = |report: &Report| report.result == Verdict::Unsupported;
        let is_missing = self.missing().next().is_some();
        self.can_run && is_missing && !self.targets.iter().any(is_unsupported)
    }

    /// What is known to be wrong comes before what is not known.
    fn exit_status(&self) -> ExitStatus {
        let statuses = || self.targets.iter().map(Report::exit_status);
        let worst = [ExitStatus::Refused, ExitStatus::Unknown].into_iter();
        worst
            .into_iter()
            .find(|worst| statuses().any(|it| it == *worst))
            .unwrap_or(ExitStatus::Success)
    }
}

#[cfg(test)]
mod tests;
