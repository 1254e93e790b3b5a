//! `cargo xtask bench`: measurements beside a baseline in the same run.
#![expect(clippy::print_stdout, reason = "tasks print to the terminal")]

use anyhow::Result;

use crate::cargo::{self, cargo};
use crate::test_cluster::{self, TestCluster};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run only measurements whose name contains this text
    filter: Option<String>,
}

/// The bench that runs in the sandbox and on Kubernetes.
const ON_KUBERNETES: &str = "preflight";

/// The allocator of the images, which affects memory.
const ALLOCATOR: &str = "--features=fairway/jemalloc";

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut bench = cargo(["bench", "--workspace", "--benches", ALLOCATOR]);
    bench.arg("--").args(&arguments.filter);
    cargo::run(&mut bench)?;
    let filter = arguments.filter.as_deref().unwrap_or_default();
    if ON_KUBERNETES.contains(filter) { on_kubernetes() } else { Ok(()) }
}

fn on_kubernetes() -> Result<()> {
    match TestCluster::find()? {
        Ok(TestCluster::Debian) => test_cluster::with_node(|node| {
            let mut bench =
                cargo(["bench", "--package", "fairway", "--bench", ON_KUBERNETES, ALLOCATOR]);
            cargo::run(bench.envs(node.variables()))
        }),
        Ok(_) => {
            println!("\nSKIPPED: {ON_KUBERNETES} on Kubernetes: it needs its own cluster");
            Ok(())
        }
        Err(why) => {
            println!("\nSKIPPED: {ON_KUBERNETES} on Kubernetes: {why}");
            Ok(())
        }
    }
}
