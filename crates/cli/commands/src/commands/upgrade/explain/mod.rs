//! `fairway upgrade explain`: explanations of risks and updates.

mod text;
mod update_text;

use std::path::Path;

use fairway_api::{ClusterOperator, ClusterVersion, Version};
use fairway_graph::Scope;
use fairway_insight::explain::{self, ExplainInput, Explained, StoredEvaluations, Subject};
use fairway_insight::plan::{
    AdminGates, ChannelSet, ClusterState, Goal, GraphSource, NotOffered, Plan, PlanInput,
};
use fairway_insight::{Explanation, Verdict};
use fairway_risk::QueryOutcomes;
use fairway_risk::evaluations::{CONFIG_MAP, Evaluations, KEY};
use futures::join;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;

use super::similar;
use crate::args::explain::ExplainArgs;
use crate::args::source::SourceArgs;
use crate::cluster::kind::CONFIG_MAPS;
use crate::cluster::{OPERATOR_NAMESPACE, block_on};
use crate::commands::graph::{input, view};
use crate::errors::CannotTell;
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;
use crate::source::Source;
pub(super) use text::ExplanationText;

impl TypedReport for ExplanationText<'_> {
    const KIND: &'static str = "UpgradeExplanation";
}

pub(super) fn run(args: &ExplainArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let data = block_on(Box::pin(read(&args.source)))?;
    let graph = match (&args.subject.0, &args.graph) {
        (Subject::Update(version), Some(path)) => not_offered(path, version, &data, printer)?,
        (Subject::Risk(_), _) | (_, None) => None,
    };
    let ClusterData { version, components, evaluations, now } = &data;
    let input = ExplainInput { version, components, evaluations, graph: graph.as_ref() };
    let explanation = Explanation::of(&args.subject.0, &input, *now);
    if let (Subject::Risk(name), Explained::Risk(risk)) = (&args.subject.0, &explanation.subject)
        && !risk.is_known()
    {
        return Err(unknown_risk(name, version).into());
    }
    let text = ExplanationText { explanation: &explanation };
    output::report(printer.stdout(), args.output.output, &text)?;
    Ok(match explanation.verdict() {
        Verdict::Yes => ExitStatus::Success,
        Verdict::No => ExitStatus::Refused,
        Verdict::Unknown => ExitStatus::Unknown,
    })
}

/// Data of a cluster for an explanation.
struct ClusterData {
    version: ClusterVersion,
    components: Vec<ClusterOperator>,
    evaluations: StoredEvaluations,
    now: Timestamp,
}

async fn read(args: &SourceArgs) -> anyhow::Result<ClusterData> {
    let source = Source::open(args).await?;
    let (version, components, evaluations) =
        join!(source.cluster_version(), source.components(), evaluations(&source));
    let (version, components) = (version?, components?);
    let now = source.observation_time(&version, &components).now();
    let now = match (&source, args.recorded.at) {
        // A recording is not older than its latest evaluation.
        (Source::Recorded(_), None) => evaluations.latest().map_or(now, |latest| now.max(latest)),
        (Source::Recorded(_), Some(_)) | (Source::Live(_), _) => now,
    };
    Ok(ClusterData { version, components, evaluations, now })
}

/// Rule evaluations that the operator stores. Users who may not read them get the rest of the
/// explanation.
async fn evaluations(source: &Source) -> StoredEvaluations {
    let wanted = CONFIG_MAPS.all().within(OPERATOR_NAMESPACE);
    let found = match source.one::<ConfigMap>(wanted, CONFIG_MAP).await {
        Ok(found) => found,
        Err(error) => return StoredEvaluations::Unreadable(error.root_cause().to_string()),
    };
    let json = found.and_then(|found| found.data?.remove(KEY));
    match json.as_deref().map(Evaluations::read) {
        None => StoredEvaluations::Missing,
        Some(Ok(evaluations)) => StoredEvaluations::Known(evaluations),
        Some(Err(error)) => StoredEvaluations::Unreadable(format!(
            "cannot read the evaluations in ConfigMap {OPERATOR_NAMESPACE}/{CONFIG_MAP}: {error}"
        )),
    }
}

/// Why the update graph of a file does not offer a version, `None` if it does.
fn not_offered(
    path: &Path,
    version: &Version,
    data: &ClusterData,
    printer: &Printer,
) -> anyhow::Result<Option<NotOffered>> {
    let whole = input::wire_graph(path, printer)?;
    let architecture = view::usual(&whole, None)?;
    let graph = whole.within(Scope { architecture, channel: None });
    let graph_source = GraphSource::File { file: path.display().to_string() };
    let input = PlanInput { graph: &graph, graph_source: &graph_source, maintenance: None };
    let cluster = ClusterState {
        cluster_version: &data.version,
        components: &data.components,
        operators_error: None,
        gates: &AdminGates::default(),
        outcomes: &QueryOutcomes::new(),
        now: data.now,
    };
    let goal = Goal::Version(version.clone());
    let channel_set = ChannelSet::new(cluster.channel(), &[], &goal);
    let plan = Plan::new(&cluster, input, &channel_set, &goal);
    Ok(plan.ok().and_then(|plan| plan.not_offered))
}

fn unknown_risk(name: &str, version: &ClusterVersion) -> CannotTell {
    let names = explain::names(version);
    let later = "run `fairway upgrade plan --to=VERSION` for the risks of later updates";
    let hint = match similar::most_similar(name, names.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None if names.is_empty() => format!("no available update has risks; {later}"),
        None => format!(
            "run `fairway upgrade --include-not-recommended` to list updates with risks; {later}"
        ),
    };
    let message =
        format!("no available update has a risk named {name:?}, and no such risk is accepted");
    CannotTell::new(message, hint)
}

#[cfg(test)]
mod tests;
