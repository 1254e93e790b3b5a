//! `fairway graph latest`: the latest version in a channel.

use std::fmt;

use fairway_api::Version;
use fairway_graph::Scope;
use fairway_graph::analysis::latest;
use schemars::JsonSchema;
use serde::Serialize;

use super::input;
use super::view::View;
use crate::args::graph::LatestArgs;
use crate::errors::CannotTell;
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

impl TypedReport for LatestRelease<'_> {
    const KIND: &'static str = "GraphLatest";
}

pub(crate) fn run(args: &LatestArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let graph = input::graph(&args.input, printer)?;
    let view = View::select(graph, args.input.arch.as_deref(), Some(&args.channel))?;
    let Some(id) = latest(&view.graph, Scope::default()) else {
        return Err(CannotTell::new(
            format!("no release in {}", view.title()),
            "select another architecture with --arch",
        )
        .into());
    };
    let node = view.graph.node(id);
    let found = LatestRelease {
        channel: &args.channel,
        release: &node.version,
        image: node.release.as_ref().map(|release| release.payload.as_str()),
    };
    output::report(printer.stdout(), args.output.output, &found)?;
    Ok(ExitStatus::Success)
}

/// Latest release of a channel.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LatestRelease<'a> {
    /// Name of the channel.
    channel: &'a str,
    /// Version of the release.
    release: &'a Version,
    /// Image of the release.
    image: Option<&'a str>,
}

impl fmt::Display for LatestRelease<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.release)
    }
}
