//! `--clear-preflight`: a preflight is asked for no more.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::super::change;
use super::super::request::outcome::Named;
use super::withdrawal::Plan;
use crate::args::upgrade::UpgradeArgs;
use crate::cluster::{Cluster, block_on};
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};

/// What documents of it are called.
const KIND: &str = "PreflightWithdrawal";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<Outcome>(KIND)
}

pub(super) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let (keep_results, dry_run) = (args.preflight.keep_results, args.request.dry_run);
    let plan = block_on(async {
        let cluster = Cluster::connect(&args.source.cluster).await?;
        change::make(&cluster, dry_run, |object| Plan::clear(object, keep_results)).await
    })?;
    let outcome = Outcome::of(plan, keep_results, dry_run);
    output::report(printer.stdout(), args.output.output, KIND, &outcome)?;
    Ok(ExitStatus::Success)
}

/// Withdrawal of a preflight request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    /// Whether this is a dry run.
    dry_run: bool,
    /// Target release of the withdrawn preflight, `null` if none was requested.
    withdrawn: Option<Named>,
    /// Whether the operator keeps the results of the preflight.
    results_kept: bool,
    /// Requested update, which is left unchanged.
    update: Option<Named>,
    /// Names of all accepted risks: `spec.desiredUpdate.acceptRisks`.
    accept_risks: Vec<String>,
}

impl Outcome {
    pub(super) fn of(plan: Plan, keep_results: bool, dry_run: bool) -> Self {
        let names = plan.left.accept_risks.iter().map(|risk| risk.name.clone());
        Self {
            dry_run: dry_run && plan.changes_something(),
            accept_risks: names.collect(),
            withdrawn: plan.target,
            results_kept: keep_results,
            update: plan.update,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dry_run {
            f.write_str("Dry run, nothing changed. Without --dry-run:\n\n")?;
        }
        match &self.withdrawn {
            None => f.write_str("No preflight is requested")?,
            Some(target) => {
                let kept = if self.results_kept { "; its results are kept" } else { "" };
                write!(f, "Withdrew the preflight of {}{kept}", OneLine(target.name()))?;
            }
        }
        match (&self.update, &self.withdrawn) {
            (Some(update), Some(_)) => write!(
                f,
                "\nThe update in progress to {} is requested again",
                OneLine(update.name())
            ),
            (Some(update), None) => {
                write!(f, "; the request to update to {} is unchanged", OneLine(update.name()))
            }
            (None, _) => Ok(()),
        }
    }
}
