//! `cargo xtask soak`: the tests with more rounds, for a night rather than for a change.

use anyhow::{Result, bail};
use fairway_fixtures::environment;

use crate::ground::Ground;
use crate::test::{self, Selection, Tier};

/// How many inputs each property is tried on; the test command tries 256.
const CASES: &str = "20000";

/// How often what may go wrong only sometimes is done; the test command does it once or twice.
const ROUNDS: &str = "100";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only tests whose name contains this
    filter: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let variables =
        vec![("PROPTEST_CASES", CASES.into()), (environment::SOAK_ROUNDS, ROUNDS.into())];
    let filter = arguments.filter.as_deref();
    let selection = Selection { filter, soak: true, ..Selection::default() };
    test::run_tests(Tier::Everywhere, &variables, &selection, None)?;
    match Ground::find()? {
        Ok(ground) => ground.run(variables, filter, true).map(drop),
        Err(why) => bail!("the cluster tests cannot run here: {why}"),
    }
}
