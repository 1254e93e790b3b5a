//! `fairway upgrade compare`: preflight results of several releases, side by side.

use std::collections::BTreeSet;
use std::fmt;

use fairway_insight::fleet::PreflightResult;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::release::{ReleaseReference, RequestTarget};
use super::super::report::text::Age;
use super::outcome::PreflightRequestState;
use super::records::PreflightRecords;
use super::report::{PreflightFinding, PreflightReport, PreflightRun, PreflightState};
use super::request::PreflightRequest;
use super::temporary::TemporaryPreflight;
use crate::args::upgrade_preflight::{CompareArgs, ReleaseChoice};
use crate::cluster::block_on;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output::{self, TypedReport};
use crate::printer::Printer;
use crate::source::Source;
use crate::table::Table;

impl TypedReport for Comparison {
    const KIND: &'static str = "PreflightComparison";
}

pub(in super::super) fn run(args: &CompareArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let comparison = block_on(async {
        let source = Source::open(&args.source).await?;
        let comparison = read(&source, &args.releases).await?;
        let Source::Live(cluster) = &source else { return Ok(comparison) };
        if !args.run || comparison.missing().next().is_none() {
            return Ok(comparison);
        }
        let missing: Vec<ReleaseReference> = comparison.missing().cloned().collect();
        let mut preflight = TemporaryPreflight::new(cluster, printer, true)?;
        let ran = run_each(&mut preflight, missing, args).await;
        // The results are read before the last request is withdrawn.
        let comparison = read(&source, &args.releases).await;
        let restored = preflight.restore().await;
        ran?;
        restored?;
        comparison
    })?;
    output::report(printer.stdout(), args.output.output, &comparison)?;
    Ok(comparison.exit_status())
}

async fn read(source: &Source, releases: &[ReleaseChoice]) -> anyhow::Result<Comparison> {
    let object = source.cluster_version().await?;
    let records = PreflightRecords::of_source(source).await;
    let now = source.observation_time_of(&object).await?.now();
    let state = PreflightState { cluster_version: &object, records: &records, now };
    let can_run = matches!(source, Source::Live(_));
    Ok(Comparison { can_run, ..Comparison::new(state, releases) })
}

/// Runs preflights one after the other, until another client changes the request.
async fn run_each(
    preflight: &mut TemporaryPreflight<'_>,
    targets: Vec<ReleaseReference>,
    args: &CompareArgs,
) -> anyhow::Result<()> {
    for target in targets {
        let target = RequestTarget::from(target);
        let request = PreflightRequest::new(target, true);
        let outcome = preflight.run(&request, args.wait).await?;
        if outcome.request_state == PreflightRequestState::Superseded {
            break;
        }
    }
    Ok(())
}

/// Preflight results of several releases.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Comparison {
    /// Reports on the releases, in the order of the arguments.
    targets: Vec<PreflightReport>,
    /// Whether preflights can be run: a recorded cluster runs none.
    #[serde(skip)]
    can_run: bool,
}

impl Comparison {
    fn new(state: PreflightState<'_>, releases: &[ReleaseChoice]) -> Self {
        let report = |release| state.report(Some(ReleaseReference::from(release)));
        Self { targets: releases.iter().map(report).collect(), can_run: true }
    }

    /// Releases without complete results.
    fn missing(&self) -> impl Iterator<Item = &ReleaseReference> {
        let missing = self.targets.iter().filter(|report| {
            use PreflightResult::{Findings, FindingsAccepted, NoFindings};
            !matches!(report.result, NoFindings | FindingsAccepted | Findings)
        });
        missing.filter_map(|report| report.target.as_ref())
    }

    /// Whether running the missing preflights would complete the comparison.
    fn needs_run(&self) -> bool {
        let is_unsupported =
            |report: &PreflightReport| report.result == PreflightResult::Unsupported;
        let is_missing = self.missing().next().is_some();
        self.can_run && is_missing && !self.targets.iter().any(is_unsupported)
    }

    /// Worst exit status: findings, then missing results.
    fn exit_status(&self) -> ExitStatus {
        let statuses = || self.targets.iter().map(PreflightReport::exit_status);
        let worst = [ExitStatus::Refused, ExitStatus::Unknown].into_iter();
        worst
            .into_iter()
            .find(|worst| statuses().any(|it| it == *worst))
            .unwrap_or(ExitStatus::Success)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Table(self.releases()))?;
        let findings = self.findings();
        if findings.len() > 1 {
            write!(f, "\n\n{}", Table(findings))?;
        }
        if self.needs_run() {
            f.write_str("\n\nAdd --run to run the missing preflights.")?;
        }
        Ok(())
    }
}

impl Comparison {
    /// Table with a row for each release.
    fn releases(&self) -> Vec<Vec<String>> {
        let head = ["RELEASE", "CHECKED", "AGE", "RESULT"].map(str::to_owned).to_vec();
        let row = |report: &PreflightReport| {
            let run = report.run.as_ref();
            let age = run.and_then(|run| run.age_seconds);
            vec![
                name(report),
                run.map_or_else(|| "–".to_owned(), PreflightRun::progress),
                age.map_or_else(|| "–".to_owned(), |age| Age(age).to_string()),
                report.headline(),
            ]
        };
        std::iter::once(head).chain(self.targets.iter().map(row)).collect()
    }

    /// Table with a row for each finding and a column for each release.
    fn findings(&self) -> Vec<Vec<String>> {
        let names: BTreeSet<&str> = self
            .targets
            .iter()
            .flat_map(|report| &report.findings)
            .map(|finding| finding.name.as_str())
            .collect();
        let head = std::iter::once("FINDING".to_owned()).chain(self.targets.iter().map(name));
        let row = |finding: &str| {
            let cell = |report: &PreflightReport| cell(report, finding);
            let cells = self.targets.iter().map(cell);
            std::iter::once(OneLine(finding).to_string()).chain(cells).collect()
        };
        std::iter::once(head.collect()).chain(names.into_iter().map(row)).collect()
    }
}

fn name(report: &PreflightReport) -> String {
    OneLine(report.target.as_ref().map_or("", ReleaseReference::name)).to_string()
}

fn cell(report: &PreflightReport, name: &str) -> String {
    let found = report.findings.iter().find(|finding| finding.name == name);
    found.map_or_else(|| "–".to_owned(), severity_text)
}

fn severity_text(finding: &PreflightFinding) -> String {
    let severity = finding.severity.map_or_else(|| "found".to_owned(), |it| it.to_string());
    match finding {
        _ if finding.is_accepted() => format!("{severity}, accepted"),
        _ if finding.is_inconclusive() => format!("{severity}, inconclusive"),
        _ => severity,
    }
}

#[cfg(test)]
mod tests;
