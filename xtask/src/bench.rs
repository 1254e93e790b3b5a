//! `cargo xtask bench`: what takes how long, compared with something in the same run.

use anyhow::Result;

use crate::cargo::{self, cargo};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only measurements whose name contains this
    filter: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut bench = cargo(["bench", "--workspace", "--benches"]);
    bench.arg("--").args(&arguments.filter);
    cargo::run(&mut bench)
}
