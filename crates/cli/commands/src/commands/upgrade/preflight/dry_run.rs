//! `--to … --dry-run`: what the release says, and no request is left.

use super::ask::wish;
use super::errand::Errand;
use super::outcome::{self, Outcome, RequestState};
use crate::args::upgrade::UpgradeArgs;
use crate::cluster::{Cluster, block_on};
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;

pub(super) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let wish = wish(&args.request, true)?;
    let outcome = block_on(async {
        let cluster = Cluster::connect(&args.source.cluster).await?;
        let mut errand = Errand::begin(&cluster, printer, args.preflight.keep_results)?;
        let ran = errand.run(&wish, args.request.waiting.for_dry_run()).await;
        let fate = errand.end().await;
        let outcome = ran?;
        let request_state = match outcome.request_state {
            RequestState::Superseded => RequestState::Superseded,
            _ => fate?,
        };
        anyhow::Ok(Outcome { request_state, ..outcome }.withdrawn())
    })?;
    output::report(printer.stdout(), args.output.output, outcome::KIND, &outcome)?;
    Ok(outcome.exit_status_of_all())
}
