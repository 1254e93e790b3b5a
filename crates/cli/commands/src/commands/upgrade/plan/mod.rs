//! `fairway upgrade plan`: upgrade paths to a version.

mod cluster_state;
mod graph_source;
mod metrics;
mod text;

use fairway_insight::Verdict;
use fairway_insight::plan::{ChannelSet, ClusterState, Goal, Limitation, Plan};
use fairway_risk::QueryOutcomes;

use crate::args::plan::PlanArgs;
use crate::cluster::block_on;
use crate::errors::CannotTell;
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;
use crate::source::Source;
use cluster_state::ClusterInput;
use graph_source::LoadedGraph;
use metrics::QueryResults;
pub(super) use text::PlanText;

impl TypedReport for PlanText<'_> {
    const KIND: &'static str = "UpgradePlan";
}

pub(super) fn run(args: &PlanArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let mut plan = block_on(Box::pin(plan(args, printer)))?;
    if args.output.output.is_document() {
        for command in plan.commands_mut() {
            *command = printer.as_typed(command);
        }
    }
    output::report(printer.stdout(), args.output.output, &PlanText(&plan))?;
    Ok(match plan.verdict() {
        Verdict::Yes => ExitStatus::Success,
        Verdict::No => ExitStatus::Refused,
        Verdict::Unknown => ExitStatus::Unknown,
    })
}

/// Plans, evaluates the queries that decide the exposure to risks of the paths, and plans again
/// with the results.
async fn plan(args: &PlanArgs, printer: &Printer) -> anyhow::Result<Plan> {
    let source = Source::open(&args.source).await?;
    let cluster = ClusterInput::read(&source).await?;
    let graph = LoadedGraph::of(args, &source, &cluster, printer).await?;
    let channel_set = channel_set(&cluster, &args.channels, &args.to);
    let plan_with = |outcomes: &QueryOutcomes| {
        let state = ClusterState { outcomes, ..cluster.state() };
        let planned = graph.with_input(|input| Plan::new(&state, input, &channel_set, &args.to));
        planned.map_err(|error| {
            CannotTell::new(
                error.to_string(),
                "run `fairway upgrade` to show the state of ClusterVersion",
            )
        })
    };
    let mut plan = plan_with(&QueryOutcomes::new())?;
    let mut limitations = cluster.limitations.clone();
    limitations.extend(graph.limitation());
    match metrics::evaluate_queries(
        args.metrics.as_deref(),
        &source,
        &plan.open_queries,
        cluster.now(),
    )
    .await?
    {
        Ok(QueryResults { outcomes, .. }) if outcomes.is_empty() => {}
        Ok(QueryResults { outcomes, samples }) => {
            plan = Plan { metrics_source: samples, ..plan_with(&outcomes)? };
        }
        Err(why) => limitations.push(Limitation::Queries { message: why }),
    }
    plan.limitations.extend(limitations);
    Ok(plan)
}

/// Channels that a plan may use.
fn channel_set(cluster: &ClusterInput, also: &[String], goal: &Goal) -> ChannelSet {
    let channel = cluster.cluster_version.spec.channel.as_deref();
    ChannelSet::new(channel.filter(|channel| !channel.is_empty()), also, goal)
}

#[cfg(test)]
mod tests;
