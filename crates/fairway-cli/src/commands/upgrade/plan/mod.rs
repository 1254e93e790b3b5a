//! `fairway upgrade plan`: by which updates a cluster gets where somebody wants it.

mod atlas;
mod look;
mod metrics;
mod operators;
mod text;

use fairway_insight::plan::{Chart, Goal, Lanes, Outlook, Plan, Verdict};
use fairway_risk::Outcomes;

use crate::args::plan::PlanArgs;
use crate::cluster::block_on;
use crate::errors::CannotTell;
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::source::Source;
use atlas::Atlas;
use look::Look;
use metrics::Metrics;
use text::Shown;

pub(super) fn run(args: &PlanArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let (look, atlas) = block_on(Box::pin(async {
        let source = Source::open(&args.source).await?;
        let look = Look::at(&source).await?;
        let atlas = Atlas::of(args, &source, &look, printer).await?;
        anyhow::Ok((look, atlas))
    }))?;
    let metrics = args.metrics.as_deref().map(|path| Metrics::read(path, look.outlook().now));
    let metrics = metrics.transpose()?;
    let plan = atlas.with_chart(|chart| plan(args, &look, chart, metrics.as_ref()))?;
    output::report(printer.stdout(), args.output.output, "UpgradePlan", &Shown(&plan))?;
    Ok(match plan.verdict() {
        Verdict::Yes => ExitStatus::Yes,
        Verdict::No => ExitStatus::No,
        Verdict::CannotTell => ExitStatus::CannotTell,
    })
}

/// The channels that a plan may use.
fn lanes(look: &Look, also: &[String], goal: &Goal) -> Lanes {
    let channel = look.cluster_version.spec.channel.as_deref();
    Lanes::new(channel.filter(|channel| !channel.is_empty()), also, goal)
}

/// Plans, asks what would tell more about the ways, and plans again with that.
fn plan(
    args: &PlanArgs,
    look: &Look,
    chart: Chart<'_>,
    metrics: Option<&Metrics>,
) -> anyhow::Result<Plan> {
    let lanes = lanes(look, &args.channels, &args.to);
    let with = |outcomes: &Outcomes| {
        let outlook = Outlook { outcomes, ..look.outlook() };
        Plan::of(&outlook, chart, &lanes, &args.to).map_err(|error| CannotTell {
            message: error.to_string(),
            hint: "`fairway upgrade` shows what is known about it".to_owned(),
        })
    };
    let mut plan = with(&Outcomes::new())?;
    if let Some(metrics) = metrics {
        let asked = plan.open_queries.iter().map(|query| (query.clone(), metrics.outcome(query)));
        plan = with(&asked.collect())?;
    }
    plan.not_known.extend(look.gaps.iter().cloned());
    Ok(plan)
}

#[cfg(test)]
mod tests;
