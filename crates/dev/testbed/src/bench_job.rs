//! Work on the data of a platform in a separate process, to measure its memory and CPU time.
#![expect(clippy::print_stdout, reason = "a job prints its cost")]

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fairway_fixtures::environment::DATA;
use fairway_fixtures::measure::median;
use fairway_fixtures::platform::Platform;

use crate::process::{peak_bytes, processor_time};

/// The environment variable with the job of a process.
const VARIABLE: &str = "FAIRWAY_BENCH_JOB";

/// Enough for a stable median; each job takes about a second.
const RUNS: usize = 5;

/// Work to measure.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The name of the job.
    pub name: &'static str,
    /// The work.
    pub work: fn(&Platform) -> Result<()>,
}

/// Resource usage of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The CPU time of all threads.
    pub processor: Duration,
    /// The peak memory.
    pub peak_bytes: u64,
}

impl Job {
    /// Runs the work in several processes. Returns the median CPU time and the maximum memory.
    pub fn cost(&self, platform: &Platform) -> Result<Cost> {
        let costs: Vec<Cost> = (0..RUNS).map(|_| self.once(platform)).collect::<Result<_>>()?;
        Ok(Cost {
            processor: median(costs.iter().map(|cost| cost.processor).collect()),
            peak_bytes: costs.iter().map(|cost| cost.peak_bytes).max().unwrap_or_default(),
        })
    }

    fn once(&self, platform: &Platform) -> Result<Cost> {
        let mut process = Command::new(std::env::current_exe()?);
        // The processes share generated data.
        process.env(VARIABLE, self.name).env(DATA, platform.directory());
        let output = process.stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "{} failed ({})", self.name, output.status);
        parse(&String::from_utf8(output.stdout)?)
    }
}

/// Runs the job of this process. Returns `false` if it was not started for a job.
pub fn do_own(jobs: &[Job]) -> Result<bool> {
    let Ok(name) = std::env::var(VARIABLE) else { return Ok(false) };
    let job = jobs.iter().find(|job| job.name == name).context("unknown job")?;
    (job.work)(&Platform::find()?)?;
    let own = std::process::id();
    println!("{} {}", processor_time(own)?.as_millis(), peak_bytes(own)?);
    Ok(true)
}

/// Parses the output of a process: milliseconds and bytes.
fn parse(output: &str) -> Result<Cost> {
    let (milliseconds, peak_bytes) = output.trim().split_once(' ').context("no output")?;
    let processor = Duration::from_millis(milliseconds.parse()?);
    Ok(Cost { processor, peak_bytes: peak_bytes.parse()? })
}
