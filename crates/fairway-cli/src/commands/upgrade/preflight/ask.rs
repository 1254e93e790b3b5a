//! `--mode=preflight`: a preflight is asked for.

use super::super::request::wish::Target;
use super::again;
use super::follow::{Until, Wait};
use super::outcome::{Action, Outcome};
use super::request::Wish;
use super::write;
use crate::args::upgrade::{RequestArgs, UpgradeArgs};
use crate::cluster::{Cluster, block_on};
use crate::errors::WrongUsage;
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;

pub(super) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let request = &args.request;
    let wish = wish(request, false)?;
    let (until, patience) = match args.preflight.wait {
        Some(patience) => (Until::Done, patience),
        None => (Until::Seen, request.timeout),
    };
    let outcome = block_on(async {
        let cluster = Cluster::connect(&args.source.cluster).await?;
        let mut plan = write::request(&cluster, &wish).await?;
        let is_repeated = plan.is_through;
        if is_repeated {
            plan = again::ask(&cluster, &wish, &plan.update, request.timeout).await?;
        }
        printer.warnings(&plan.warnings);
        let update = plan.update.clone();
        let mut outcome = Outcome::of(plan);
        if is_repeated {
            outcome.action = Action::RequestedAgain;
        }
        if request.no_wait {
            return Ok(outcome);
        }
        let wait = Wait { cluster: &cluster, printer, update: &update, until, patience };
        let (report, ended) = wait.follow().await?;
        Ok(outcome.followed(report, ended))
    })?;
    output::report(printer.stdout(), args.output.output, "PreflightRequest", &outcome)?;
    Ok(match until {
        Until::Done => outcome.exit_status_of_all(),
        Until::Seen => outcome.exit_status_of_the_request(),
    })
}

/// The preflight that the arguments ask for.
pub(super) fn wish(args: &RequestArgs, for_a_while: bool) -> anyhow::Result<Wish> {
    let nameless = || WrongUsage("a preflight needs --to, --to-image or --to-latest".to_owned());
    let target = Target::of(args)?.ok_or_else(nameless)?;
    Ok(Wish { target, force: args.force, for_a_while })
}
