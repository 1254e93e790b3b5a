//! `fairway upgrade --to` and the like: an update is asked for, or withdrawn.

mod answer;
mod checks;
mod choice;
mod confirmation;
mod follow;
mod image;
mod multi_arch;
pub(super) mod outcome;
mod plan;
mod rollback;
mod shown;
pub(super) mod unusual;
pub(super) mod wish;
mod withdrawal;

use std::time::Duration;

use super::change;
use super::preflight::requirement::Requirement;
use crate::args::cluster::ClusterArgs;
use crate::args::registry::AccessArgs;
use crate::args::report::ReportArgs;
use crate::args::upgrade::{RollbackArgs, UpgradeArgs};
use crate::args::waiting::WaitingArgs;
use crate::cluster::{Cluster, block_on};
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};
use confirmation::Confirmation;
use follow::{Until, Wait};
use outcome::Outcome;
use plan::Plan;
use wish::{UpdateWish, Wish};

/// What documents of it are called.
const KIND: &str = "UpgradeRequest";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<Outcome>(KIND)
}

pub(super) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let order = Order {
        printer,
        cluster: &args.source.cluster,
        registry: Some(&args.registry),
        waiting: &args.request.waiting,
        output: &args.output,
        dry_run: args.request.dry_run,
        yes: args.request.yes,
        require_preflight: args.preflight.require_preflight,
    };
    order.carry_out(Wish::of(&args.request)?)
}

/// Whoever goes back has named the step: nobody is asked whether it is meant.
pub(super) fn roll_back(args: &RollbackArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let order = Order {
        printer,
        cluster: &args.cluster,
        registry: None,
        waiting: &args.waiting,
        output: &args.output,
        dry_run: args.dry_run,
        yes: true,
        require_preflight: None,
    };
    order.carry_out(Wish::Rollback)
}

/// How something is asked for.
struct Order<'a> {
    printer: &'a Printer,
    cluster: &'a ClusterArgs,
    registry: Option<&'a AccessArgs>,
    waiting: &'a WaitingArgs,
    output: &'a ReportArgs,
    dry_run: bool,
    yes: bool,
    require_preflight: Option<Duration>,
}

impl Order<'_> {
    fn carry_out(&self, mut wish: Wish) -> anyhow::Result<ExitStatus> {
        let outcome = block_on(async {
            let cluster = Cluster::connect(self.cluster).await?;
            if let Wish::Update(wish) = &mut wish {
                self.find_out_more(&cluster, wish).await?;
            }
            let plan = self.write(&cluster, &wish).await?;
            self.follow(&cluster, plan).await
        })?;
        output::report(self.printer.stdout(), self.output.output, KIND, &outcome)?;
        Ok(outcome.exit_status())
    }

    /// Who wishes it, and what an image says that is not listed; where that matters.
    async fn find_out_more(&self, cluster: &Cluster, wish: &mut UpdateWish) -> anyhow::Result<()> {
        if wish.allow_not_recommended {
            wish.by = cluster.user().await;
        }
        let (Some(image), Some(access)) = (wish.unknown_image(), self.registry) else {
            return Ok(());
        };
        let status = cluster.cluster_version().await?.status.unwrap_or_default();
        if !choice::is_listed(&status, image) {
            let found = image::look_up(image, access, self.cluster.request_timeout).await;
            wish.looked_up = Some(found.map(Box::new));
        }
        Ok(())
    }

    /// Decides, has it confirmed, and writes it.
    async fn write(&self, cluster: &Cluster, wish: &Wish) -> anyhow::Result<Plan> {
        let now = fairway_clock::now();
        let requirement = match self.require_preflight {
            Some(max_age) => Some(Requirement::read(cluster, self.printer, max_age).await?),
            None => None,
        };
        let confirmation = Confirmation::new(self.printer, self.yes || self.dry_run);
        let decide = |object: &_| {
            let plan = Plan::of(object, wish, now)?;
            if let Some(requirement) = &requirement {
                requirement.check(object, &plan.update, now)?;
            }
            if plan.changes_something() {
                confirmation.obtain(&plan.outcome)?;
            }
            anyhow::Ok(plan)
        };
        let plan = change::make(cluster, self.dry_run, decide).await?;
        self.printer.warnings(&confirmation.not_told(&plan.outcome));
        Ok(plan)
    }

    /// Waits for what comes of it, for as long as somebody wants to.
    async fn follow(&self, cluster: &Cluster, plan: Plan) -> anyhow::Result<Outcome> {
        let dry_run = self.dry_run && plan.changes_something();
        let Plan { update, outcome, .. } = plan;
        let (until, patience) = match self.waiting.for_update() {
            Some(patience) => (Until::Complete, patience),
            None => (Until::Answered, self.waiting.timeout),
        };
        let is_of_interest = outcome.awaits_an_answer()
            || (until == Until::Complete && outcome.is_under_way() && update.names_a_release());
        if dry_run || self.waiting.no_wait || !is_of_interest {
            return Ok(Outcome { dry_run, ..outcome });
        }
        if until == Until::Answered {
            self.printer.note("Waiting for the operator…");
        }
        let wait = Wait { cluster, printer: self.printer, update: &update, until, patience };
        let (answer, in_time) = wait.follow().await?;
        Ok(Outcome { status: Some(answer), timed_out: !in_time, ..outcome })
    }
}

#[cfg(test)]
mod tests;
