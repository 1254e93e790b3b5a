//! `fairway upgrade` without anything to do: the report.

use futures::try_join;

use super::notes;
use super::report::Report;
use crate::args::upgrade::UpgradeArgs;
use crate::cluster::block_on;
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};
use crate::source::Source;

/// What documents of it are called.
const KIND: &str = "UpgradeReport";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<Report>(KIND)
}

pub(super) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let (cluster_version, components, moment) = block_on(async {
        let source = Source::open(&args.source).await?;
        let (version, components) = try_join!(source.cluster_version(), source.components())?;
        let moment = source.moment(&version, &components);
        Ok((version, components, moment))
    })?;
    let report = Report::of(&cluster_version, moment.now())
        .with_notes(notes::of(&components, &cluster_version))
        .in_full(args.include_not_recommended);
    output::report(printer.stdout(), args.output.output, KIND, &report)?;
    Ok(if report.updates_retrieved() { ExitStatus::Success } else { ExitStatus::Unknown })
}
