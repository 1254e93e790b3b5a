//! `fairway upgrade explain`: why a risk is what it is, and why a version is offered or not.

mod graph;
mod text;

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_insight::Explanation;
use fairway_insight::explain::{self, Explained, Known, Notes, Subject};
use fairway_insight::recommend::Verdict;
use fairway_risk::evaluations::{CONFIG_MAP, Evaluations, KEY};
use futures::join;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;

use super::similar;
use crate::args::explain::ExplainArgs;
use crate::args::source::SourceArgs;
use crate::cluster::kind::CONFIG_MAPS;
use crate::cluster::{OPERATOR_NAMESPACE, block_on};
use crate::errors::CannotTell;
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};
use crate::source::Source;
use text::Shown;

/// What documents of it are called.
const KIND: &str = "UpgradeExplanation";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<Shown<'_>>(KIND)
}

pub(super) fn run(args: &ExplainArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let seen = block_on(Box::pin(look(&args.source)))?;
    let graph = match (&args.subject.0, &args.graph) {
        (Subject::Update(version), Some(path)) => {
            graph::not_offered(path, version, &seen, printer)?
        }
        (Subject::Risk(_), _) | (_, None) => None,
    };
    let Seen { version, components, notes, now } = &seen;
    let known = Known { version, components, notes, graph: graph.as_ref() };
    let explanation = Explanation::of(&args.subject.0, &known, *now);
    if let (Subject::Risk(name), Explained::Risk(risk)) = (&args.subject.0, &explanation.subject)
        && !risk.is_known()
    {
        return Err(unheard_of(name, version).into());
    }
    let shown = Shown { explanation: &explanation };
    output::report(printer.stdout(), args.output.output, KIND, &shown)?;
    Ok(match explanation.verdict() {
        Verdict::Yes => ExitStatus::Success,
        Verdict::No => ExitStatus::Refused,
        Verdict::CannotTell => ExitStatus::Unknown,
    })
}

/// What there is to explain with.
struct Seen {
    version: ClusterVersion,
    components: Vec<ClusterOperator>,
    notes: Notes,
    now: Timestamp,
}

async fn look(args: &SourceArgs) -> anyhow::Result<Seen> {
    let source = Source::open(args).await?;
    let (version, components, notes) =
        join!(source.cluster_version(), source.components(), notes(&source));
    let (version, components) = (version?, components?);
    let now = source.moment(&version, &components).now();
    let now = match (&source, args.recorded.at) {
        // It was written down after the last thing that happened in it.
        (Source::Recorded(_), None) => notes.latest().map_or(now, |latest| now.max(latest)),
        (Source::Recorded(_), Some(_)) | (Source::Live(_), _) => now,
    };
    Ok(Seen { version, components, notes, now })
}

/// What the operator has noted about queries. Whoever may not read it is told all the rest.
async fn notes(source: &Source) -> Notes {
    let wanted = CONFIG_MAPS.all().within(OPERATOR_NAMESPACE);
    let found = match source.one::<ConfigMap>(wanted, CONFIG_MAP).await {
        Ok(found) => found,
        Err(error) => return Notes::Unreadable(error.root_cause().to_string()),
    };
    let json = found.and_then(|found| found.data?.remove(KEY));
    match json.as_deref().map(Evaluations::read) {
        None => Notes::NotThere,
        Some(Ok(evaluations)) => Notes::Known(evaluations),
        Some(Err(error)) => Notes::Unreadable(format!(
            "cannot read the evaluations in ConfigMap {OPERATOR_NAMESPACE}/{CONFIG_MAP}: {error}"
        )),
    }
}

fn unheard_of(name: &str, version: &ClusterVersion) -> CannotTell {
    let names = explain::names(version);
    let later = "run `fairway upgrade plan --to=VERSION` for the risks of later updates";
    let hint = match similar::most_like(name, names.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None if names.is_empty() => format!("no available update has risks; {later}"),
        None => format!(
            "run `fairway upgrade --include-not-recommended` to list updates with risks; {later}"
        ),
    };
    let message =
        format!("no available update has a risk named {name:?}, and no such risk is accepted");
    CannotTell { message, hint }
}

#[cfg(test)]
mod tests;
