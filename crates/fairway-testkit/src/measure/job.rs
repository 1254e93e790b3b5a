//! Work on the data of a platform that is measured in a process of its own, whose memory and time
//! are those of the work.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::environment::DATA;
use crate::platform::Platform;

/// Names the job that a process was started for.
const VARIABLE: &str = "FAIRWAY_BENCH_JOB";

/// Each job takes about a second; the median of this many settles.
const RUNS: usize = 5;

/// Clock ticks in a second, as Linux counts them for programs on every machine.
const TICKS: u32 = 100;

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
            processor: super::median(costs.iter().map(|cost| cost.processor).collect()),
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
    let job = jobs.iter().find(|job| job.name == name).context("there is no such job")?;
    (job.work)(&Platform::find()?)?;
    println!("{}\n{}", fs::read_to_string("/proc/self/stat")?.trim(), peak_line()?);
    Ok(true)
}

fn peak_line() -> Result<String> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    Ok(line.context("the kernel does not tell the memory of a process")?.to_owned())
}

/// Reads what a process said of itself at its end, in the words of the kernel.
fn parse(said: &str) -> Result<Cost> {
    let (stat, peak) = said.trim_end().rsplit_once('\n').context("it said nothing")?;
    // The name of the command stands second, in parentheses, and may itself hold any character.
    let (_, after_name) = stat.rsplit_once(')').context("no name")?;
    let times: Vec<u32> =
        after_name.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    let kib = peak.trim_start_matches("VmHWM:").trim_end_matches("kB").trim();
    Ok(Cost {
        processor: Duration::from_secs(1) * times.iter().sum() / TICKS,
        peak_bytes: kib.parse::<u64>()? << 10,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_understood() {
        let said =
            "7 (a) b) R 1 7 7 0 -1 4194304 9 0 0 0 71 12 0 0 20 0 1 0 4 1 1\nVmHWM:\t 2048 kB\n";
        let cost = Cost { processor: Duration::from_millis(830), peak_bytes: 2 << 20 };
        assert_eq!(parse(said).unwrap(), cost);
        let own = format!(
            "{}\n{}",
            fs::read_to_string("/proc/self/stat").unwrap().trim(),
            peak_line().unwrap()
        );
        assert!(parse(&own).unwrap().peak_bytes > 0);
    }
}
