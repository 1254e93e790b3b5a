//! `--status-preflight`: what was found so far.

use super::super::request::outcome::Named;
use super::super::request::wish::Target;
use super::follow;
use super::records::Records;
use super::report::{Look, Report};
use crate::args::upgrade::UpgradeArgs;
use crate::cluster::block_on;
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};
use crate::source::Source;

/// What documents of it are called.
const KIND: &str = "PreflightReport";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<Report>(KIND)
}

pub(super) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let named = match Target::of(&args.request)? {
        Some(Target::Version(version)) => Some(Named { version: Some(version), image: None }),
        Some(Target::Image { image, version }) => Some(Named { version, image: Some(image) }),
        Some(Target::Latest) | None => None,
    };
    let (object, records, moment) = block_on(async {
        let source = Source::open(&args.source).await?;
        let object = match &source {
            Source::Live(cluster) => follow::seen(cluster, printer).await?,
            Source::Recorded(_) => source.cluster_version().await?,
        };
        let (records, moment) =
            (Records::of_source(&source).await, source.moment_of(&object).await?);
        Ok((object, records, moment))
    })?;
    let look = Look { cluster_version: &object, records: &records, now: moment.now() };
    let report = look.report(named.or_else(|| look.usual_target()));
    output::report(printer.stdout(), args.output.output, KIND, &report)?;
    Ok(report.exit_status())
}
