//! The commands, a module each.
//!
//! | module | content |
//! | --- | --- |
//! | `upgrade` | updates of a cluster |
//! | `fleet` | reports and preflights of several clusters |
//! | `install` | installation of the operator |
//! | `graph` | tools for maintainers of update graphs |
//! | `release` | tools for release images |
//! | `olm` | OLM operators and the versions that they support |
//! | `operator`, `update_service`, `olm_guard`, `preflight` | long-running processes |
//! | `prepare_results`, `probe` | the init container of the operator, and exec probes |
//! | `sandbox` | a sandbox, with the example platform and a tour |
//! | `example_platform`, `example_operator`, `example_check` | the example platform |
//! | `crds`, `completion`, `man`, `reference` | generated files |
//! | `registry` | images of registries and layouts, which several commands read |
//! | `stop_signals` | signals that stop a long-running process |

mod completion;
mod crds;
#[cfg(feature = "sandbox")]
mod example_check;
#[cfg(feature = "sandbox")]
mod example_operator;
#[cfg(feature = "sandbox")]
mod example_platform;
mod fleet;
mod graph;
mod install;
mod man;
mod olm;
mod olm_guard;
mod operator;
mod preflight;
mod prepare_results;
mod probe;
mod reference;
mod registry;
mod release;
#[cfg(feature = "sandbox")]
mod sandbox;
mod stop_signals;
mod update_service;
mod upgrade;

use crate::args::Command;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::schema::{self, Shape};

/// The schemas of all documents.
pub(crate) fn shapes() -> Vec<Shape> {
    let mut shapes = upgrade::shapes();
    shapes.extend(fleet::shapes());
    shapes.extend(graph::shapes());
    shapes.extend(olm::shapes());
    shapes.extend(release::shapes());
    shapes.push(schema::of::<install::Report>());
    shapes.push(schema::of::<preflight::Report<'_>>());
    shapes.push(schema::of::<Failure>());
    shapes
}

/// Runs a command.
pub(crate) fn run(command: Command, printer: &Printer) -> anyhow::Result<ExitStatus> {
    match command {
        #[cfg(feature = "sandbox")]
        Command::Sandbox(args) => sandbox::run(&args, printer),
        Command::Graph(args) => graph::run(&args.command, printer),
        Command::UpdateService(args) => update_service::run(&args, printer),
        Command::Upgrade(args) => upgrade::run(&args, printer),
        Command::Fleet(args) => fleet::run(&args.command, printer),
        Command::Install(args) => install::run(&args, printer),
        Command::Operator(args) => operator::run(&args, printer),
        Command::OlmGuard(args) => olm_guard::run(&args, printer),
        Command::Preflight(args) => preflight::run(&args, printer),
        Command::Olm(args) => olm::run(&args.command, printer),
        Command::Release(args) => release::run(&args.command, printer),
        Command::Crds(args) => crds::run(args, printer),
        Command::Completion(args) => completion::run(&args, printer),
        Command::Man(args) => man::run(&args, printer),
        #[cfg(feature = "sandbox")]
        Command::ExampleOperator(args) => example_operator::run(&args),
        #[cfg(feature = "sandbox")]
        Command::ExampleCheck(args) => example_check::run(args),
        #[cfg(feature = "sandbox")]
        Command::ExamplePlatform(args) => example_platform::run(&args, printer),
        Command::PrepareResults(args) => prepare_results::run(&args, printer),
        Command::Probe(args) => probe::run(&args),
        Command::Reference(args) => reference::run(&args, printer),
    }
}
