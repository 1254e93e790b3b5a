//! `fairway upgrade --to` and the like: an update is asked for, or withdrawn.

mod answer;
mod checks;
mod choice;
pub(super) mod outcome;
mod plan;
mod shown;
pub(super) mod wish;
mod withdrawal;

use std::time::Duration;

use tokio::time::{interval, timeout};

use super::change;
use super::preflight::requirement::Requirement;
use crate::args::upgrade::UpgradeArgs;
use crate::cluster::{Cluster, block_on};
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::{clock, output};
use answer::Answer;
use outcome::Outcome;
use plan::Plan;
use wish::Wish;

/// How often it is looked for the operator's answer. People wait for it.
const LOOK: Duration = Duration::from_millis(500);

pub(super) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let (now, request) = (clock::now(), &args.request);
    let mut wish = Wish::of(request)?;
    let outcome = block_on(async {
        let cluster = Cluster::connect(&args.source.cluster).await?;
        if let Wish::Update(wish) = &mut wish
            && wish.allow_not_recommended
        {
            wish.by = cluster.user().await;
        }
        let requirement = match args.preflight.require_preflight {
            Some(max_age) => Some(Requirement::read(&cluster, printer, max_age).await?),
            None => None,
        };
        let decide = |object: &_| {
            let plan = Plan::of(object, &wish, now)?;
            if let Some(requirement) = &requirement {
                requirement.check(object, &plan.update, now)?;
            }
            anyhow::Ok(plan)
        };
        let plan = change::make(&cluster, request.dry_run, decide).await?;
        let dry_run = request.dry_run && plan.changes_something();
        let awaits = plan.outcome.awaits_an_answer() && !dry_run && !request.no_wait;
        let answer = if awaits {
            printer.note("Waiting for the operator's answer…");
            Some(await_answer(&cluster, &plan, request.timeout).await?)
        } else {
            None
        };
        Ok(Outcome { dry_run, answer, ..plan.outcome })
    })?;
    printer.warnings(&outcome.warnings);
    output::report(printer.stdout(), args.output.output, "UpgradeRequest", &outcome)?;
    Ok(outcome.answer.as_ref().map_or(ExitStatus::Yes, Answer::exit_status))
}

/// Waits until the operator says yes or no; what it said last where that takes too long.
async fn await_answer(cluster: &Cluster, plan: &Plan, wait: Duration) -> anyhow::Result<Answer> {
    let mut latest = Answer::none();
    let mut looks = interval(LOOK);
    let asking = async {
        while !latest.is_final() {
            looks.tick().await;
            latest = Answer::of(&cluster.cluster_version().await?, &plan.update);
        }
        anyhow::Ok(())
    };
    match timeout(wait, asking).await {
        Ok(Err(error)) => Err(error),
        Ok(Ok(())) | Err(_) => Ok(latest),
    }
}

#[cfg(test)]
mod tests;
