//! `fairway graph`: tools for maintainers of update graphs.
//!
//! | module | content |
//! | --- | --- |
//! | `input` | input of graphs: releases, graph-data, Cincinnati JSON |
//! | `view` | the selected part of a graph |
//! | `build`, `show` | the graph as JSON, text or image |
//! | `lint` | findings about graph-data |
//! | `path`, `why` | upgrade paths, and explanations of an update |
//! | `channels`, `latest` | channels of a version, and the latest version of a channel |
//! | `diff` | changes between two graphs |

mod build;
mod channels;
mod diff;
pub(in crate::commands) mod input;
mod latest;
mod lint;
mod path;
mod show;
pub(in crate::commands) mod view;
mod why;

use crate::args::graph::GraphCommand;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::schema::{self, Shape};

/// The schemas of its documents.
pub(super) fn shapes() -> [Shape; 6] {
    [
        schema::of::<channels::Channels<'_>>(),
        schema::of::<diff::Difference>(),
        schema::of::<latest::LatestRelease<'_>>(),
        schema::of::<fairway_graph::lint::print::Document<'_>>(),
        schema::of::<path::GraphPaths<'_>>(),
        schema::of::<fairway_graph::analysis::UpdateExplanation>(),
    ]
}

pub(crate) fn run(command: &GraphCommand, printer: &Printer) -> anyhow::Result<ExitStatus> {
    match command {
        GraphCommand::Build(args) => build::run(args, printer),
        GraphCommand::Lint(args) => lint::run(args, printer),
        GraphCommand::Show(args) => show::run(args, printer),
        GraphCommand::Path(args) => path::run(args, printer),
        GraphCommand::Why(args) => why::run(args, printer),
        GraphCommand::Diff(args) => diff::run(args, printer),
        GraphCommand::Channels(args) => channels::run(args, printer),
        GraphCommand::Latest(args) => latest::run(args, printer),
    }
}
