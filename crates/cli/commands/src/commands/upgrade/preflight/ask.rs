//! `--mode=preflight`: a preflight is asked for.

use std::time::Duration;

use super::super::request::wish::Target;
use super::again;
use super::follow::{Until, Wait};
use super::outcome::{self, Action, Outcome};
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
    let waiting = &request.waiting;
    let patience = Patience {
        answer: waiting.timeout,
        result: waiting.for_preflight(),
        no_wait: waiting.no_wait,
    };
    let outcome = block_on(async {
        let cluster = Cluster::connect(&args.source.cluster).await?;
        ask(&cluster, &wish, patience, printer).await
    })?;
    output::report(printer.stdout(), args.output.output, outcome::KIND, &outcome)?;
    Ok(patience.exit_status(&outcome))
}

/// What is waited for after a preflight was asked for, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// That the operator has seen it.
    pub(super) answer: Duration,
    /// That all checks have ended once, if anybody waits for that.
    pub(super) result: Option<Duration>,
    /// Nothing is waited for.
    pub(super) no_wait: bool,
}

impl Patience {
    /// How the command ends that has waited like that.
    pub(super) fn exit_status(self, outcome: &Outcome) -> ExitStatus {
        match self.result {
            Some(_) => outcome.exit_status_of_all(),
            None => outcome.exit_status_of_the_request(),
        }
    }
}

/// Asks a cluster for a preflight; once more, if it is asked for and all of it was looked at.
pub(super) async fn ask(
    cluster: &Cluster,
    wish: &Wish,
    patience: Patience,
    printer: &Printer,
) -> anyhow::Result<Outcome> {
    let mut plan = write::request(cluster, wish).await?;
    let is_repeated = plan.is_through;
    if is_repeated {
        plan = again::ask(cluster, wish, &plan.update, patience.answer).await?;
    }
    printer.warnings(&plan.warnings);
    let update = plan.update.clone();
    let mut outcome = Outcome::of(plan);
    if is_repeated {
        outcome.action = Action::RequestedAgain;
    }
    if patience.no_wait {
        return Ok(outcome);
    }
    let (until, patience) = match patience.result {
        Some(patience) => (Until::Done, patience),
        None => (Until::Seen, patience.answer),
    };
    let wait = Wait { cluster, printer, update: &update, until, patience };
    let (report, ended) = wait.follow().await?;
    Ok(outcome.followed(report, ended))
}

/// The preflight that the arguments ask for.
pub(super) fn wish(args: &RequestArgs, for_a_while: bool) -> anyhow::Result<Wish> {
    let nameless = || WrongUsage("a preflight requires --to, --to-image or --to-latest".to_owned());
    let target = Target::of(args)?.ok_or_else(nameless)?;
    Ok(Wish { target, force: args.force, for_a_while })
}
