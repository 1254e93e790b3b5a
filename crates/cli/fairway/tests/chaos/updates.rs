//! Updates with faults, compared with the same updates without.

use std::ops::Range;
use std::time::Duration;

use anyhow::Result;
use fairway_api::cluster_version::UpdateState;
use fairway_testkit::environment::SOAK_ROUNDS;

use crate::components::REPORT_DELAY;
use crate::fault::Fault;
use crate::platform::ChaosPlatform;
use crate::random::Random;
use crate::release::{MAPS, version};

/// Number of faults in the test command. A soak has more.
const DEFAULT_FAULTS: usize = 8;

/// Maximum number of `ConfigMap`s that are written before the next fault: a few faults for each update.
const MAX_MAPS_BETWEEN_FAULTS: usize = MAPS / 4;

/// Delay of a fault after a write: before the next write, or while a component delays its report.
const FAULT_DELAYS: [Range<Duration>; 2] =
    [Duration::ZERO..Duration::from_millis(30), Duration::ZERO..REPORT_DELAY.end];

#[tokio::test(flavor = "multi_thread")]
async fn updates_with_killed_operator_reach_the_same_state() -> Result<()> {
    let mut random = Random::from_environment()?;
    let platform = ChaosPlatform::start(&mut random).await?;
    updates_reach_the_same_state(platform, &[Fault::Kill], random).await
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_with_all_faults_reach_the_same_state() -> Result<()> {
    let mut random = Random::from_environment()?;
    let platform = ChaosPlatform::start(&mut random).await?;
    let faults = Fault::all(&platform.cluster);
    updates_reach_the_same_state(platform, &faults, random).await
}

async fn updates_reach_the_same_state(
    mut platform: ChaosPlatform,
    faults: &[Fault],
    mut random: Random,
) -> Result<()> {
    let updates = update_with_faults(&mut platform, faults, &mut random).await?;
    let with_faults = platform.final_state().await?;
    // Both platforms need the ClusterVersion of the cluster.
    drop(platform);
    let completed = |number| (version(number), UpdateState::Completed);
    assert_eq!(with_faults.history, (0..=updates).rev().map(completed).collect::<Vec<_>>());

    let platform = ChaosPlatform::start(&mut random).await?;
    for number in 1..=updates {
        platform.request(number).await?;
        platform.wait_until_completed(number).await?;
    }
    assert_eq!(with_faults, platform.final_state().await?);
    Ok(())
}

/// Updates until all faults are injected. Returns the number of updates.
#[expect(clippy::print_stdout, reason = "a failed test has to name its faults")]
async fn update_with_faults(
    platform: &mut ChaosPlatform,
    faults: &[Fault],
    random: &mut Random,
) -> Result<usize> {
    let rounds = std::env::var(SOAK_ROUNDS).ok().map(|rounds| rounds.parse()).transpose()?;
    let mut left = rounds.unwrap_or(DEFAULT_FAULTS);
    let mut updates = 0;
    while left > 0 {
        updates += 1;
        platform.request(updates).await?;
        while left > 0 && platform.monitor.written(updates) < MAPS {
            wait_for_next_fault(platform, updates, random).await?;
            let fault = random.pick(faults);
            println!("{fault:?} at: {}", platform.progress().await);
            fault.inject(platform, random).await?;
            left -= 1;
        }
        platform.wait_until_completed(updates).await?;
    }
    Ok(updates)
}

/// Waits until more of a release is applied, and then for a random delay.
async fn wait_for_next_fault(
    platform: &mut ChaosPlatform,
    number: usize,
    random: &mut Random,
) -> Result<()> {
    let count = platform.monitor.written(number) + random.below(MAX_MAPS_BETWEEN_FAULTS);
    platform.wait_until_written(number, count.min(MAPS)).await?;
    let delay = random.pick(&FAULT_DELAYS);
    platform.operator.run_for(random.duration(&delay)).await
}
