//! The project's chores.

mod bench;
mod cargo;
mod detached;
mod generated;
mod ground;
mod image;
mod kube;
mod services;
mod soak;
mod test;

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
    /// Everything that has to hold before a change is done (ten minutes from nothing)
    ///
    /// The formatter, the lints, the tests that run everywhere, the tests that need a cluster,
    /// and whether generated files are current. Starts what the tests need and stops it again.
    /// Once Kubernetes and the dependencies are built, it takes two minutes.
    Test(test::Arguments),
    /// Write the generated files: CRDs and reference pages (seconds)
    Gen(generated::Arguments),
    /// Make an OCI image of the program and what it needs (minutes: a release build)
    ///
    /// No container engine is needed. The same binary gives the same digest.
    Image(image::Arguments),
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

fn main() -> Result<ExitCode> {
    // The one TLS provider of the process; nobody else can have installed one before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match Arguments::parse().chore {
        Chore::Test(arguments) => test::run(&arguments).map(|()| ExitCode::SUCCESS),
        Chore::Gen(arguments) => generated::run(&arguments).map(|()| ExitCode::SUCCESS),
        Chore::Image(arguments) => image::run(&arguments).map(|()| ExitCode::SUCCESS),
        Chore::Bench(arguments) => bench::run(&arguments).map(|()| ExitCode::SUCCESS),
        Chore::Soak(arguments) => soak::run(&arguments).map(|()| ExitCode::SUCCESS),
        Chore::Kube(verb) => kube::run(&verb),
        Chore::Registry(verb) => services::run_registry(&verb),
        Chore::Prometheus(verb) => services::run_prometheus(verb),
    }
}
