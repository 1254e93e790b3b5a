//! `fairway graph why`: explains why an update is available, conditional or blocked.

use fairway_graph::Scope;
use fairway_graph::analysis::{UpdateExplanation, UpdateState};
use fairway_graph::build::GraphBuilder;

use super::{input, view};
use crate::args::graph::EdgeArgs;
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

impl TypedReport for UpdateExplanation {
    const KIND: &'static str = "GraphEdge";
}

pub(crate) fn run(args: &EdgeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let data = input::data(&args.view.input, printer)?.unwrap_or_default();
    let declared = input::source(&args.view.input, printer)?;
    let draft = GraphBuilder::new(declared, &data);
    let architecture = view::usual(draft.graph(), args.view.input.arch.as_deref())?;
    let scope = Scope { architecture, channel: args.view.channel.as_deref() };
    view::check_scope(draft.graph(), scope)?;
    let why = draft
        .explain(&args.from, &args.to, scope)
        .map_err(|error| view::explain(draft.graph(), scope, &error))?;
    output::report(printer.stdout(), args.output.output, &why)?;
    Ok(match why.verdict {
        UpdateState::Recommended | UpdateState::Conditional { .. } => ExitStatus::Success,
        _ => ExitStatus::Refused,
    })
}
