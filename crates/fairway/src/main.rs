//! Safe updates for Kubernetes platforms.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The one TLS provider of the process; nobody else can have installed one before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    fairway_cli::run(std::env::args_os())
}
