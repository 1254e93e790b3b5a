//! `cargo xtask platform`: the releases of the example platform.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::cargo;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Use this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,

    /// Write images, signatures and graph-data to this directory instead of target/platform
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Also push the images, such as to 127.0.0.1:5000/platform
    #[arg(long, value_name = "REPOSITORY")]
    push: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => cargo::build_release()?,
    };
    let out = arguments.out.clone().unwrap_or_else(|| cargo::root().join("target/platform"));
    // The binary builds releases of itself.
    let mut command = Command::new(binary);
    command.arg("example-platform").arg("--dir").arg(out);
    command.args(arguments.push.iter().map(|repository| format!("--push={repository}")));
    cargo::run(&mut command)
}
