//! Whatever breaks and whenever, an update comes to the same end.

use std::ops::Range;
use std::time::Duration;

use anyhow::Result;
use fairway_api::cluster_version::UpdateState;
use fairway_testkit::environment::SOAK_ROUNDS;

use crate::components::SLOWNESS;
use crate::dice::Dice;
use crate::platform::{LEVELS, version};
use crate::trouble::Trouble;
use crate::world::World;

/// How often something breaks in the test command; a soak says how often.
const TROUBLES: usize = 8;

/// When something breaks, from the last time. No update is through so soon, for it waits for the
/// components one after the other: something happens in each.
fn moments() -> Range<Duration> {
    Duration::ZERO..SLOWNESS.start * u32::try_from(LEVELS.len()).unwrap_or(1)
}

/// How many connections to the registry break in each update.
const CUTS: Range<u64> = 1..4;

/// How many bytes a registry says before: the image of a release has some kilobytes.
const BEFORE_THE_CUT: Range<u64> = 0..4000;

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
async fn update_through(
    world: &mut World,
    troubles: &[Trouble],
    dice: &mut Dice,
) -> Result<usize> {
    let wanted = std::env::var(SOAK_ROUNDS).ok().map(|rounds| rounds.parse()).transpose()?;
    let mut left = wanted.unwrap_or(TROUBLES);
    let mut updates = 0;
    while left > 0 {
        updates += 1;
        if troubles.len() > 1 {
            (0..dice.among(CUTS)).for_each(|_| world.line.cut_after(dice.among(BEFORE_THE_CUT)));
        }
        world.ask(updates).await?;
        while left > 0 {
            world.operator.work(dice.time(&moments())).await?;
            if world.has_completed(updates).await {
                break;
            }
            let trouble = dice.pick(troubles);
            trouble.happen(&world.cluster, &mut world.operator, dice).await?;
            left -= 1;
        }
        world.until_completed(updates).await?;
    }
    Ok(updates)
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
