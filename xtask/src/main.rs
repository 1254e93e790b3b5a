//! Development tasks: `cargo xtask TASK`.
//!
//! A task is a variant of `Task`. `cargo xtask check` checks the crates with changes in about a
//! minute, and `cargo xtask test` runs everything. `fairway-testbed` installs and starts the
//! services that the tests need.
//!
//! | module | content |
//! | --- | --- |
//! | `test`, `test_cluster`, `suite` | all checks and tests, their cluster, suites for two APIs |
//! | `check` | checks of the crates with changes |
//! | `soak`, `bench` | tests with more rounds, and measurements |
//! | `layers`, `purity` | layers of the workspace, and purity of core crates |
//! | `policy` | licences, sources and bans of dependencies |
//! | `prose` | phrases that the style guide rules out |
//! | `texts` | all texts for users as one document |
//! | `generated`, `removed_apis` | generated files |
//! | `image`, `platform` | image of the binary, and releases of the example platform |
//! | `services` | Kubernetes, registry and Prometheus that outlive the command |
//! | `threat_model` | a test that the threat model names existing tests |
//! | `cargo`, `metadata`, `lexer` | cargo commands, packages, and a lexer for Rust |

mod bench;
mod cargo;
mod check;
mod generated;
mod image;
mod layers;
mod lexer;
mod metadata;
mod platform;
mod policy;
mod prose;
mod purity;
mod removed_apis;
mod services;
mod soak;
mod suite;
mod test;
mod test_cluster;
mod texts;
#[cfg(test)]
mod threat_model;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Development tasks.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run all checks and tests (25 minutes from a fresh clone)
    ///
    /// Layers, licences, texts, format, lints, tests, cluster tests and generated files. Starts and
    /// stops the services that the tests need. With Kubernetes and the dependencies built, it takes
    /// 17 minutes.
    Test(test::Arguments),
    /// Check format, lints and tests of the crates with changes (a minute)
    ///
    /// Runs all tests of core crates, and the unit tests of others.
    Check(check::Arguments),
    /// Run lints beyond those of the compiler (seconds)
    #[command(subcommand)]
    Lint(Lint),
    /// Print every text for users as one document (seconds)
    Texts,
    /// Write the generated files: CRDs, reference pages, the table of removed APIs (seconds)
    Gen(generated::Arguments),
    /// Build an OCI image of the binary (9 minutes: a release build)
    ///
    /// Needs no container engine. The same binary always has the same digest.
    Image(image::Arguments),
    /// Build the releases of the example platform: images, signatures, graph-data (a release build)
    Platform(platform::Arguments),
    /// Measure durations, memory and requests as ratios to a baseline (minutes)
    Bench(bench::Arguments),
    /// Run the tests with many more inputs and rounds (hours)
    Soak(soak::Arguments),
    /// Start or stop a one-node Kubernetes on loopback
    #[command(subcommand)]
    Kube(services::KubeVerb),
    /// Start or stop an image registry on loopback
    #[command(subcommand)]
    Registry(services::RegistryVerb),
    /// Start or stop a Prometheus on loopback
    #[command(subcommand)]
    Prometheus(services::PrometheusVerb),
}

#[derive(Debug, Subcommand)]
enum Lint {
    /// Find phrases that docs/dev/style.md rules out
    Prose(prose::Arguments),
}

fn main() -> ExitCode {
    // The only TLS provider of the process: no other code installs one before this line.
    let _ = rustls::crypto::ring::default_provider().install_default();
    run(Arguments::parse().task).unwrap_or_else(|error| {
        print_error(&error);
        ExitCode::FAILURE
    })
}

fn run(task: Task) -> Result<ExitCode> {
    match task {
        Task::Test(arguments) => test::run(&arguments)?,
        Task::Check(arguments) => check::run(&arguments)?,
        Task::Lint(Lint::Prose(arguments)) => prose::run(&arguments)?,
        Task::Texts => texts::run()?,
        Task::Gen(arguments) => generated::run(&arguments)?,
        Task::Image(arguments) => image::run(&arguments)?,
        Task::Platform(arguments) => platform::run(&arguments)?,
        Task::Bench(arguments) => bench::run(&arguments)?,
        Task::Soak(arguments) => soak::run(&arguments)?,
        Task::Kube(verb) => return services::run_kube(&verb),
        Task::Registry(verb) => return services::run_registry(&verb),
        Task::Prometheus(verb) => return services::run_prometheus(verb),
    }
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::print_stderr, reason = "a task prints to the terminal")]
fn print_error(error: &anyhow::Error) {
    eprintln!("error: {error}");
    for cause in error.chain().skip(1) {
        eprintln!("  caused by: {cause}");
    }
}
