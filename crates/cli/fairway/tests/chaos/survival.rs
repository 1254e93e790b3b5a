//! Whatever breaks and whenever, an update comes to the same end.

use std::ops::Range;
use std::time::Duration;

use anyhow::Result;
use fairway_api::cluster_version::UpdateState;
use fairway_testkit::environment::SOAK_ROUNDS;

use crate::components::SLOWNESS;
use crate::dice::Dice;
use crate::platform::{MAPS, version};
use crate::trouble::Trouble;
use crate::world::World;

/// How often something breaks in the test command; a soak says how often.
const TROUBLES: usize = 8;

/// How many maps are written at most until something breaks: a few times in every update.
const MAPS_BETWEEN: usize = MAPS / 4;

/// How long after that: before the next one is written, or while a component takes its time.
const AFTER_A_MAP: [Range<Duration>; 2] =
    [Duration::ZERO..Duration::from_millis(30), Duration::ZERO..SLOWNESS.end];

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_is_killed_at_any_moment_goes_on() -> Result<()> {
    let mut dice = Dice::take()?;
    let mut world = World::install(&mut dice).await?;
    let updates = update_through(&mut world, &[Trouble::Kill], &mut dice).await?;
    ends_as_without_trouble(world, updates, &mut dice).await
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_around_an_operator_may_break() -> Result<()> {
    let mut dice = Dice::take()?;
    let mut world = World::install(&mut dice).await?;
    let troubles = Trouble::all(&world.cluster);
    let updates = update_through(&mut world, &troubles, &mut dice).await?;
    ends_as_without_trouble(world, updates, &mut dice).await
}

/// Updates again and again until enough has broken; how many updates that took.
#[expect(clippy::print_stdout, reason = "whoever sees a test fail wants to know what broke")]
async fn update_through(world: &mut World, troubles: &[Trouble], dice: &mut Dice) -> Result<usize> {
    let wanted = std::env::var(SOAK_ROUNDS).ok().map(|rounds| rounds.parse()).transpose()?;
    let mut left = wanted.unwrap_or(TROUBLES);
    let mut updates = 0;
    while left > 0 {
        updates += 1;
        world.ask(updates).await?;
        while left > 0 && world.witness.written(updates) < MAPS {
            a_moment(world, updates, dice).await?;
            let trouble = dice.pick(troubles);
            println!("{trouble:?}, while told: {}", world.progress().await);
            trouble.happen(world, dice).await?;
            left -= 1;
        }
        world.until_completed(updates).await?;
    }
    Ok(updates)
}

/// Waits until some more of a release is in the cluster, and then for a while.
async fn a_moment(world: &mut World, number: usize, dice: &mut Dice) -> Result<()> {
    let enough = world.witness.written(number) + dice.below(MAPS_BETWEEN);
    world.until_written(number, enough.min(MAPS)).await?;
    let after = dice.pick(&AFTER_A_MAP);
    world.operator.work(dice.time(&after)).await
}

/// Compares a world with one in which nothing broke.
async fn ends_as_without_trouble(world: World, updates: usize, dice: &mut Dice) -> Result<()> {
    let troubled = world.outcome().await?;
    // There is one ClusterVersion in a cluster, and one world at a time has it.
    drop(world);
    let completed = |number| (version(number), UpdateState::Completed);
    assert_eq!(troubled.history, (0..=updates).rev().map(completed).collect::<Vec<_>>());

    let calm = World::install(dice).await?;
    for number in 1..=updates {
        calm.ask(number).await?;
        calm.until_completed(number).await?;
    }
    assert_eq!(troubled, calm.outcome().await?);
    Ok(())
}
