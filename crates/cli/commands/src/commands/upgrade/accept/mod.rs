//! `fairway upgrade accept`: which risks the administrator takes.

mod document;
mod effect;
mod outcome;
mod plan;
mod wish;

use std::path::{Path, PathBuf};

use fairway_api::ClusterVersion;
use jiff::Timestamp;
use serde_json::Value;

use super::change::{self, Change};
use super::offline;
use super::stored::Others;
use crate::args::upgrade::AcceptArgs;
use crate::cluster::block_on;
use crate::errors::{CannotTell, WrongUsage};
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::schema::{self, Shape};
use crate::source::Source;
use crate::{input, output};
use document::AcceptedRisks;
use outcome::Outcome;
use plan::Plan;
use wish::Wish;

/// What documents of it are called.
const KIND: &str = "RiskAcceptance";

/// The shapes of those documents, and of those that others read again.
pub(super) fn shapes() -> [Shape; 2] {
    [schema::of::<Outcome>(KIND), document::shape()]
}

pub(super) fn run(args: &AcceptArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    if args.export {
        return export(args, printer);
    }
    offline::check_change(&args.source, !args.dry_run)?;
    check_input(args)?;
    let recorded = Source::recorded(&args.source)?;
    let now = match &recorded {
        Some(source) => block_on(present(source))?,
        None => fairway_clock::now(),
    };
    let mut wish = match &args.import {
        Some(path) => import(path, args.replace, now, printer)?,
        None => Wish::of(args, now)?,
    };
    let plan = block_on(async {
        let source = match recorded {
            Some(source) => source,
            None => Source::open(&args.source).await?,
        };
        if let Source::Live(cluster) = &source
            && wish.accepts_something()
        {
            wish.by(cluster.user().await.as_deref());
        }
        change::make_or_tell(&source, args.dry_run, |object| Plan::of(object, &wish, now)).await
    })?;
    let dry_run = args.dry_run && plan.patch.is_some();
    let outcome = Outcome { dry_run, ..plan.outcome };
    printer.warnings(&outcome.warnings);
    output::report(printer.stdout(), args.output.output, KIND, &outcome)?;
    Ok(outcome.exit_status())
}

/// Refuses to take two things from standard input.
fn check_input(args: &AcceptArgs) -> Result<(), WrongUsage> {
    let files = &args.source.recorded.from_file;
    let reads = |path: &PathBuf| input::is_stdin(path);
    if args.import.as_ref().is_some_and(reads) && files.iter().any(reads) {
        return Err(WrongUsage(
            "--from-file and --import cannot both read standard input".to_owned(),
        ));
    }
    Ok(())
}

/// The time at which terms count for a recorded cluster: its own.
async fn present(source: &Source) -> anyhow::Result<Timestamp> {
    let version = source.cluster_version().await?;
    Ok(source.moment_of(&version).await?.now())
}

/// Prints what is accepted, for other clusters.
fn export(args: &AcceptArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let object = block_on(async { Source::open(&args.source).await?.cluster_version().await })?;
    AcceptedRisks::of(&object)?.write(printer.stdout(), args.output.output)?;
    Ok(ExitStatus::Success)
}

/// What a file says that was thought through elsewhere.
fn import(path: &Path, replace: bool, now: Timestamp, printer: &Printer) -> anyhow::Result<Wish> {
    let (accept, over) = AcceptedRisks::read(path)?.valid(now);
    printer.warnings(&over);
    Ok(Wish::imported(accept, if replace { Others::Go } else { Others::Stay }))
}

impl Change for Plan {
    fn patch(&self) -> Option<&Value> {
        self.patch.as_ref()
    }

    /// A server whose definition is older drops the names without a word.
    fn check(&self, result: &ClusterVersion) -> anyhow::Result<()> {
        if self.is_kept_in(result) { Ok(()) } else { Err(not_kept().into()) }
    }
}

fn not_kept() -> CannotTell {
    CannotTell {
        message: "this cluster does not store accepted risks: its ClusterVersion CRD is too old; \
                  nothing changed"
            .to_owned(),
        hint: "install the current CRD with `fairway crds | kubectl apply -f -`".to_owned(),
    }
}

#[cfg(test)]
mod tests;
