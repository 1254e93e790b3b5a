//! `fairway graph channels`: the channels of a version.

use std::collections::BTreeSet;
use std::fmt;

use fairway_api::Version;
use fairway_graph::analysis::{UpgradePathError, channels};
use schemars::JsonSchema;
use serde::Serialize;

use super::input;
use super::view::View;
use crate::args::graph::ChannelsArgs;
use crate::args::report::ReportFormat;
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

impl TypedReport for Channels<'_> {
    const KIND: &'static str = "GraphChannels";
}

pub(crate) fn run(args: &ChannelsArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let graph = input::graph(&args.input, printer)?;
    let view = View::select(graph, args.input.arch.as_deref(), None)?;
    let version = &args.version;
    if view.graph.find(version).next().is_none() {
        return Err(view.explain(&UpgradePathError::Unknown(version.to_string())).into());
    }
    let found = Channels { release: version, channels: channels(&view.graph, version) };
    if found.channels.is_empty() {
        printer.note(format_args!("{version} is in no channel"));
        if matches!(args.output.output, ReportFormat::Text) {
            return Ok(ExitStatus::Success);
        }
    }
    output::report(printer.stdout(), args.output.output, &found)?;
    Ok(ExitStatus::Success)
}

/// Channels of a release.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Channels<'a> {
    /// Version of the release.
    release: &'a Version,
    /// Channels that contain the release.
    channels: BTreeSet<&'a str>,
}

impl fmt::Display for Channels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.channels.iter().copied().collect();
        f.write_str(&names.join("\n"))
    }
}
