//! Work on the data of a platform that is measured in a process of its own, whose memory and time
//! are those of the work.
#![expect(clippy::print_stdout, reason = "a job tells its cost")]

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fairway_fixtures::environment::DATA;
use fairway_fixtures::measure::median;
use fairway_fixtures::platform::Platform;

use crate::process::{peak_bytes, processor_time};

/// Names the job that a process was started for.
const VARIABLE: &str = "FAIRWAY_BENCH_JOB";

/// Each job takes about a second; the median of this many settles.
const RUNS: usize = 5;

/// Some work.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// What it is called.
    pub name: &'static str,
    /// What is done.
    pub work: fn(&Platform) -> Result<()>,
}

/// What a process needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The time of all its threads on a processor.
    pub processor: Duration,
    /// The most memory it had at any time.
    pub peak_bytes: u64,
}

impl Job {
    /// What the work costs, in several processes: the median time, and the most memory.
    pub fn cost(&self, platform: &Platform) -> Result<Cost> {
        let costs: Vec<Cost> = (0..RUNS).map(|_| self.once(platform)).collect::<Result<_>>()?;
        Ok(Cost {
            processor: median(costs.iter().map(|cost| cost.processor).collect()),
            peak_bytes: costs.iter().map(|cost| cost.peak_bytes).max().unwrap_or_default(),
        })
    }

    fn once(&self, platform: &Platform) -> Result<Cost> {
        let mut process = Command::new(std::env::current_exe()?);
        // What was generated once is not generated again.
        process.env(VARIABLE, self.name).env(DATA, platform.directory());
        let output = process.stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "{} failed ({})", self.name, output.status);
        parse(&String::from_utf8(output.stdout)?)
    }
}

/// Does the job that this process was started for; `false` if it was started for none.
pub fn do_own(jobs: &[Job]) -> Result<bool> {
    let Ok(name) = std::env::var(VARIABLE) else { return Ok(false) };
    let job = jobs.iter().find(|job| job.name == name).context("unknown job")?;
    (job.work)(&Platform::find()?)?;
    let own = std::process::id();
    println!("{} {}", processor_time(own)?.as_millis(), peak_bytes(own)?);
    Ok(true)
}

/// Reads what a process said of itself at its end: milliseconds and bytes.
fn parse(said: &str) -> Result<Cost> {
    let (milliseconds, peak_bytes) = said.trim().split_once(' ').context("no output")?;
    let processor = Duration::from_millis(milliseconds.parse()?);
    Ok(Cost { processor, peak_bytes: peak_bytes.parse()? })
}
