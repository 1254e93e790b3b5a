//! `cargo xtask soak`: the tests with many more rounds.

use anyhow::{Result, bail};
use fairway_fixtures::environment;

use crate::test::{self, Selection, Tier};
use crate::test_cluster::TestCluster;

/// Inputs for each property test; the test command has 256.
const CASES: &str = "20000";

/// Rounds of tests for races; the test command has one or two.
const ROUNDS: &str = "100";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run only tests whose name contains this text
    filter: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let variables =
        vec![("PROPTEST_CASES", CASES.into()), (environment::SOAK_ROUNDS, ROUNDS.into())];
    let filter = arguments.filter.as_deref();
    let selection = Selection { filter, soak: true, ..Selection::default() };
    test::run_tests(Tier::Everywhere, &variables, &selection, None)?;
    match TestCluster::find()? {
        Ok(cluster) => cluster.run(variables, filter, true).map(drop),
        Err(why) => bail!("the cluster tests cannot run here: {why}"),
    }
}
