//! `fairway upgrade channel`: where updates come from.

mod plan;

use crate::args::upgrade::ChannelArgs;
use crate::cluster::block_on;
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};
use crate::source::Source;

use super::{change, offline};
use plan::{Outcome, Plan, Wish};

/// What documents of it are called.
const KIND: &str = "UpgradeChannel";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<Outcome>(KIND)
}

pub(super) fn run(args: &ChannelArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let wish = Wish::of(args);
    offline::check_change(&args.source, !matches!(wish, Wish::See) && !args.dry_run)?;
    let plan = block_on(async {
        let source = Source::open(&args.source).await?;
        change::make_or_tell(&source, args.dry_run, |object| Plan::of(object, &wish)).await
    })?;
    let dry_run = args.dry_run && plan.outcome.changed;
    let outcome = Outcome { dry_run, ..plan.outcome };
    printer.warnings(&outcome.warnings);
    output::report(printer.stdout(), args.output.output, KIND, &outcome)?;
    Ok(ExitStatus::Success)
}

#[cfg(test)]
mod tests;
