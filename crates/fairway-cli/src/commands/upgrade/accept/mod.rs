//! `fairway upgrade accept`: which risks the administrator takes.

mod effect;
mod outcome;
mod plan;
mod stored;
mod wish;

use anyhow::anyhow;

use crate::args::upgrade::AcceptArgs;
use crate::cluster::{Changed, Cluster, Earnest, block_on};
use crate::errors::{CannotTell, WithHint};
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::{clock, output};
use outcome::Outcome;
use plan::Plan;
use wish::Wish;

/// How often somebody else may be faster. The operator writes seldom, and people even more so.
const ATTEMPTS: usize = 5;

pub(super) fn run(args: &AcceptArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let now = clock::now();
    let mut wish = Wish::of(args, now)?;
    let outcome = block_on(async {
        let cluster = Cluster::connect(&args.cluster).await?;
        if wish.accepts_something() {
            wish.by(cluster.user().await);
        }
        fulfil(&cluster, &wish, args.dry_run, now).await
    })?;
    printer.warnings(&outcome.warnings);
    output::report(printer.stdout(), args.output.output, "UpgradeAccept", &outcome)?;
    Ok(ExitStatus::Yes)
}

/// Reads, decides and writes, until nobody else writes in between.
async fn fulfil(
    cluster: &Cluster,
    wish: &Wish,
    dry_run: bool,
    now: jiff::Timestamp,
) -> anyhow::Result<Outcome> {
    for _ in 0..ATTEMPTS {
        let plan = Plan::of(&cluster.cluster_version().await?, wish, now)?;
        let Some(patch) = &plan.patch else { return Ok(plan.outcome) };
        // Tried first: a server whose definition is older drops the names without a word.
        match cluster.patch_cluster_version(patch, Earnest::Try).await? {
            Changed::Conflict => continue,
            Changed::Done(result) if !plan.is_kept_in(&result) => return Err(not_kept().into()),
            Changed::Done(_) if dry_run => return Ok(Outcome { dry_run, ..plan.outcome }),
            Changed::Done(_) => {}
        }
        match cluster.patch_cluster_version(patch, Earnest::Make).await? {
            Changed::Conflict => {}
            Changed::Done(_) => return Ok(plan.outcome),
        }
    }
    Err(anyhow!("each time, somebody else had changed it in between").context(WithHint {
        message: format!("cannot change ClusterVersion in {ATTEMPTS} attempts"),
        hint:
            "try again; `kubectl get clusterversion version -o yaml --show-managed-fields` tells \
               who writes to it"
                .to_owned(),
    }))
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
