//! `fairway upgrade plan`: by which updates a cluster gets where somebody wants it.

mod atlas;
mod look;
mod metrics;
mod operators;
mod survey;
mod text;

use fairway_insight::plan::{Goal, Lanes, Limitation, Outlook, Plan, Verdict};
use fairway_risk::Outcomes;

use crate::args::plan::PlanArgs;
use crate::cluster::block_on;
use crate::errors::CannotTell;
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};
use crate::source::Source;
use atlas::Atlas;
use look::Look;
use metrics::Answers;
use text::Shown;

/// What documents of it are called.
const KIND: &str = "UpgradePlan";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<Shown<'_>>(KIND)
}

pub(super) fn run(args: &PlanArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let mut plan = block_on(Box::pin(plan(args, printer)))?;
    if args.output.output.is_document() {
        for command in plan.commands_mut() {
            *command = printer.as_typed(command);
        }
    }
    output::report(printer.stdout(), args.output.output, KIND, &Shown(&plan))?;
    Ok(match plan.verdict() {
        Verdict::Yes => ExitStatus::Success,
        Verdict::No => ExitStatus::Refused,
        Verdict::CannotTell => ExitStatus::Unknown,
    })
}

/// Plans, asks what would tell more about updates on the way, and plans again with that.
async fn plan(args: &PlanArgs, printer: &Printer) -> anyhow::Result<Plan> {
    let source = Source::open(&args.source).await?;
    let look = Look::at(&source).await?;
    let atlas = Atlas::of(args, &source, &look, printer).await?;
    let lanes = lanes(&look, &args.channels, &args.to);
    let with = |outcomes: &Outcomes| {
        let outlook = Outlook { outcomes, ..look.outlook() };
        let planned = atlas.with_chart(|chart| Plan::of(&outlook, chart, &lanes, &args.to));
        planned.map_err(|error| CannotTell {
            message: error.to_string(),
            hint: "run `fairway upgrade` to show the state of ClusterVersion".to_owned(),
        })
    };
    let mut plan = with(&Outcomes::new())?;
    let mut gaps = look.gaps.clone();
    gaps.extend(atlas.gap());
    match metrics::ask(args.metrics.as_deref(), &source, &plan.open_queries, look.now()).await? {
        Ok(Answers { outcomes, .. }) if outcomes.is_empty() => {}
        Ok(Answers { outcomes, samples }) => {
            plan = Plan { metrics_source: samples, ..with(&outcomes)? };
        }
        Err(why) => gaps.push(Limitation::Queries { message: why }),
    }
    plan.limitations.extend(gaps);
    Ok(plan)
}

/// The channels that a plan may use.
fn lanes(look: &Look, also: &[String], goal: &Goal) -> Lanes {
    let channel = look.cluster_version.spec.channel.as_deref();
    Lanes::new(channel.filter(|channel| !channel.is_empty()), also, goal)
}

#[cfg(test)]
mod tests;
