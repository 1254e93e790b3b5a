//! `fairway upgrade accept`: which risks the administrator takes.

mod effect;
mod outcome;
mod plan;
mod wish;

use fairway_api::ClusterVersion;
use serde_json::Value;

use super::change::{self, Change};
use crate::args::upgrade::AcceptArgs;
use crate::cluster::{Cluster, block_on};
use crate::errors::CannotTell;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::{clock, output};
use outcome::Outcome;
use plan::Plan;
use wish::Wish;

pub(super) fn run(args: &AcceptArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let now = clock::now();
    let mut wish = Wish::of(args, now)?;
    let plan = block_on(async {
        let cluster = Cluster::connect(&args.cluster).await?;
        if wish.accepts_something() {
            wish.by(cluster.user().await);
        }
        change::make(&cluster, args.dry_run, |object| Plan::of(object, &wish, now)).await
    })?;
    let dry_run = args.dry_run && plan.patch.is_some();
    let outcome = Outcome { dry_run, ..plan.outcome };
    printer.warnings(&outcome.warnings);
    output::report(printer.stdout(), args.output.output, "UpgradeAccept", &outcome)?;
    Ok(outcome.exit_status())
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
        message: "this cluster does not keep accepted risks: its definition of ClusterVersion is \
                  too old; nothing was changed"
            .to_owned(),
        hint: "`fairway crds | kubectl apply -f -` installs the present definition".to_owned(),
    }
}

#[cfg(test)]
mod tests;
