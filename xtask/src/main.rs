//! The project's chores.

mod bench;
mod cargo;
mod check;
mod detached;
mod generated;
mod ground;
mod image;
mod kube;
mod layers;
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
mod texts;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// The project's chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

// One variant a chore, one line each below.
#[derive(Debug, Subcommand)]
enum Chore {
    /// Everything that has to hold before a change is done (half an hour from nothing)
    ///
    /// The formatter, the lints, the tests that run everywhere, the tests that need a cluster,
    /// and whether generated files are current. Starts what the tests need and stops it again.
    /// Once Kubernetes and the dependencies are built, it takes some twenty minutes.
    Test(test::Arguments),
    /// Format, lints and tests of the crates with changes (a minute)
    ///
    /// All tests of core crates, and the unit tests of others.
    Check(check::Arguments),
    /// Check what the compiler does not (seconds)
    #[command(subcommand)]
    Lint(Lint),
    /// Print every text for users as one document (seconds)
    Texts,
    /// Write the generated files: CRDs, reference pages, the table of removed APIs (seconds)
    Gen(generated::Arguments),
    /// Make an OCI image of the program and what it needs (minutes: a release build)
    ///
    /// No container engine is needed. The same binary gives the same digest.
    Image(image::Arguments),
    /// Make the releases of the example platform: images, signatures, graph-data (a release build)
    Platform(platform::Arguments),
    /// Measure what takes how long, beside something in the same run (minutes)
    Bench(bench::Arguments),
    /// Run the tests with many more inputs and rounds (hours)
    Soak(soak::Arguments),
    /// A real one-node Kubernetes on loopback
    #[command(subcommand)]
    Kube(kube::Verb),
    /// An image registry on loopback
    #[command(subcommand)]
    Registry(services::RegistryVerb),
    /// A Prometheus on loopback
    #[command(subcommand)]
    Prometheus(services::PrometheusVerb),
}

#[derive(Debug, Subcommand)]
enum Lint {
    /// Phrases that docs/dev/style.md rules out
    Prose(prose::Arguments),
}

fn main() -> ExitCode {
    // The one TLS provider of the process; nobody else can have installed one before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    run(Arguments::parse().chore).unwrap_or_else(|error| {
        complain(&error);
        ExitCode::FAILURE
    })
}

fn run(chore: Chore) -> Result<ExitCode> {
    match chore {
        Chore::Test(arguments) => test::run(&arguments)?,
        Chore::Check(arguments) => check::run(&arguments)?,
        Chore::Lint(Lint::Prose(arguments)) => prose::run(&arguments)?,
        Chore::Texts => texts::run()?,
        Chore::Gen(arguments) => generated::run(&arguments)?,
        Chore::Image(arguments) => image::run(&arguments)?,
        Chore::Platform(arguments) => platform::run(&arguments)?,
        Chore::Bench(arguments) => bench::run(&arguments)?,
        Chore::Soak(arguments) => soak::run(&arguments)?,
        Chore::Kube(verb) => return kube::run(&verb),
        Chore::Registry(verb) => return services::run_registry(&verb),
        Chore::Prometheus(verb) => return services::run_prometheus(verb),
    }
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::print_stderr, reason = "a chore talks to the terminal")]
fn complain(error: &anyhow::Error) {
    eprintln!("error: {error}");
    for cause in error.chain().skip(1) {
        eprintln!("  caused by: {cause}");
    }
}
