//! The HTTP load generator `wrk`.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::Progress;
use crate::command::{find, run};
use crate::packages::{Purpose, ensure as ensure_packages};

/// `wrk` ends after its duration; a longer run has failed.
const GRACE_PERIOD: Duration = Duration::from_secs(20);

/// The load generator, with one thread: on two cores, the other one is for the server.
#[derive(Debug)]
pub struct Wrk {
    program: PathBuf,
}

/// Measurements of the clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Responses per second.
    pub per_second: f64,
    /// The median latency.
    pub p50: Duration,
    /// The 99th percentile of the latency.
    pub p99: Duration,
}

impl Wrk {
    /// Finds `wrk`, and installs it if it is missing.
    pub fn find(progress: Progress<'_>) -> Result<Self> {
        ensure_packages(&[Purpose::Load], progress)?;
        Ok(Self { program: find("wrk").context("wrk is not in PATH")? })
    }

    /// Sends requests for a duration. Fails on an error response.
    pub fn load(
        &self,
        url: &str,
        headers: &[(String, String)],
        connections: usize,
        time: Duration,
    ) -> Result<Load> {
        let mut wrk = Command::new(&self.program);
        wrk.args(["--latency", "-t1", &format!("-c{connections}")]);
        wrk.arg(format!("-d{}s", time.as_secs()));
        for (name, value) in headers {
            wrk.args(["-H", &format!("{name}: {value}")]);
        }
        parse(&run(wrk.arg(url), time + GRACE_PERIOD)?)
    }
}

fn parse(report: &str) -> Result<Load> {
    let after = |start: &str| {
        let line = report.lines().find_map(|line| line.trim().strip_prefix(start));
        line.map(str::trim).with_context(|| format!("no {start:?} in the output of wrk:\n{report}"))
    };
    for error in ["Socket errors:", "Non-2xx or 3xx responses:"] {
        ensure!(!report.contains(error), "the server failed:\n{report}");
    }
    Ok(Load {
        per_second: after("Requests/sec:")?.parse()?,
        p50: duration(after("50%")?)?,
        p99: duration(after("99%")?)?,
    })
}

/// A time such as `107.00us`, `2.41ms` or `1.20s`.
fn duration(text: &str) -> Result<Duration> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let seconds = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => anyhow::bail!("{text:?} is not a time"),
    };
    let amount: f64 = text[..text.len() - unit.len()].parse()?;
    Ok(Duration::try_from_secs_f64(amount * seconds)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Running 3s test @ http://127.0.0.1:8080/
  1 threads and 8 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   118.81us   64.03us   2.41ms   92.81%
    Req/Sec    64.33k     2.03k   68.05k    73.33%
  Latency Distribution
     50%  107.00us
     75%  131.00us
     90%  161.00us
     99%    1.29ms
  192024 requests in 3.00s, 23.99MB read
Requests/sec:  63998.99
Transfer/sec:      8.00MB
";

    #[test]
    fn parse_returns_rate_and_latencies() {
        let expected = Load {
            per_second: 63_998.99,
            p50: Duration::from_micros(107),
            p99: Duration::from_micros(1290),
        };
        assert_eq!(parse(REPORT).unwrap(), expected);
    }

    #[test]
    fn parse_of_failed_run_fails() {
        let failed = format!("{REPORT}  Non-2xx or 3xx responses: 3\n");
        assert!(parse(&failed).unwrap_err().to_string().starts_with("the server failed"));
        assert!(parse("unable to connect").is_err());
    }

    #[test]
    fn duration_without_known_unit_fails() {
        assert_eq!(duration("2.50s").unwrap(), Duration::from_millis(2500));
        assert_eq!(duration("1.00m").unwrap(), Duration::from_mins(1));
        assert!(duration("5").is_err() && duration("1.5h").is_err() && duration("").is_err());
    }
}
