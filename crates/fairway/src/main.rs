//! Safe updates for Kubernetes platforms.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairway_cli::run(std::env::args_os())
}
