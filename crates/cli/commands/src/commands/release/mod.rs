//! `fairway release`: tools for release images.
//!
//! | module | content |
//! | --- | --- |
//! | `new` | builder of a release image |
//! | `info`, `graph` | description of a release, and its task graph |
//! | `extract`, `diff` | files of a release, and changes between two releases |
//! | `lint` | errors and warnings about manifests |
//! | `sign`, `verify`, `signing` | signatures of a release |
//! | `input`, `directory` | releases from registries, OCI layouts and directories |

mod diff;
mod directory;
mod extract;
mod graph;
mod info;
pub(super) mod input;
pub(super) mod lint;
mod new;
mod sign;
mod signing;
mod verify;

use crate::args::release::ReleaseCommand;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::schema::{self, Shape};

/// The schemas of its documents.
pub(super) fn shapes() -> [Shape; 7] {
    [
        schema::of::<diff::Difference>(),
        schema::of::<extract::Extracted>(),
        schema::of::<info::Info>(),
        schema::of::<lint::Lint>(),
        schema::of::<new::BuiltRelease>(),
        schema::of::<sign::Report>(),
        schema::of::<verify::Report>(),
    ]
}

pub(crate) fn run(command: &ReleaseCommand, printer: &Printer) -> anyhow::Result<ExitStatus> {
    match command {
        ReleaseCommand::New(args) => new::run(args, printer),
        ReleaseCommand::Info(args) => info::run(args, printer),
        ReleaseCommand::Lint(args) => lint::run(args, printer),
        ReleaseCommand::Sign(args) => sign::run(args, printer),
        ReleaseCommand::Verify(args) => verify::run(args, printer),
        ReleaseCommand::Extract(args) => extract::run(args, printer),
        ReleaseCommand::Diff(args) => diff::run(args, printer),
    }
}
