//! Processes by PID and start time, so that a reused PID is not mistaken for the process.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::command::run;

/// A process of this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    /// The PID.
    pub pid: u32,
    /// The start time in clock ticks since boot.
    start_time: u64,
}

/// Clock ticks per second, `USER_HZ` of Linux.
const TICKS_PER_SECOND: u32 = 100;

/// Fields of `/proc/<pid>/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    state: char,
    parent: u32,
    processor_ticks: u32,
    start_time: u64,
}

impl Process {
    /// The process that has this PID now.
    pub(crate) fn find(pid: u32) -> Result<Self> {
        let stat = stat(pid).with_context(|| format!("process {pid} has exited"))?;
        Ok(Self { pid, start_time: stat.start_time })
    }

    /// Whether the process runs. A zombie does not.
    pub fn is_alive(self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.start_time == self.start_time && stat.state != 'Z')
    }

    /// The first child.
    pub fn child(self) -> Option<Self> {
        let pids = fs::read_dir("/proc")
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| stat(*pid).is_some_and(|stat| stat.parent == self.pid))
            .min()
            .and_then(|pid| Self::find(pid).ok())
    }

    /// The name of the command.
    pub(crate) fn name(self) -> String {
        fs::read_to_string(format!("/proc/{}/comm", self.pid)).unwrap_or_default().trim().to_owned()
    }

    /// Sends SIGKILL. Does nothing if the process has ended.
    pub(crate) fn kill(self) -> Result<()> {
        if !self.is_alive() {
            return Ok(());
        }
        // The builtin of the shell: a host may lack the command `kill`.
        let result = run(
            Command::new("sh").args(["-c", "kill -KILL \"$1\"", "sh", &self.pid.to_string()]),
            Duration::from_secs(10),
        );
        if self.is_alive() { result.map(drop) } else { Ok(()) }
    }
}

/// The resident memory of a process.
pub fn resident_bytes(pid: u32) -> Result<u64> {
    memory(pid, "VmRSS:")
}

/// The peak resident memory of a process.
pub fn peak_bytes(pid: u32) -> Result<u64> {
    memory(pid, "VmHWM:")
}

fn memory(pid: u32, field: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))
        .with_context(|| format!("process {pid} has exited"))?;
    let kib = status.lines().find_map(|line| line.strip_prefix(field)?.strip_suffix("kB"));
    let kib: u64 = kib.context("cannot read the memory usage of the process")?.trim().parse()?;
    Ok(kib * 1024)
}

/// The CPU time of all threads of a process.
pub fn processor_time(pid: u32) -> Result<Duration> {
    let stat = stat(pid).with_context(|| format!("process {pid} has exited"))?;
    Ok(Duration::from_secs(1) * stat.processor_ticks / TICKS_PER_SECOND)
}

fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn ticks(field: &str) -> Option<u32> {
    field.parse().ok()
}

/// The second field, the command in parentheses, may contain any character.
fn parse_stat(text: &str) -> Option<Stat> {
    let (_, after_name) = text.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    Some(Stat {
        state: fields.next()?.chars().next()?,
        parent: fields.next()?.parse().ok()?,
        processor_ticks: ticks(fields.nth(9)?)?.checked_add(ticks(fields.next()?)?)?,
        start_time: fields.nth(6)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_stat_with_parentheses_in_the_command_succeeds() {
        let text = "77 (a) b) S 12 77 77 0 -1 4194560 1 0 0 0 71 12 0 0 20 0 1 0 4711 1 1 1";
        let stat = Stat { state: 'S', parent: 12, processor_ticks: 83, start_time: 4711 };
        assert_eq!(parse_stat(text), Some(stat));
    }

    #[test]
    fn is_alive_with_another_start_time_is_false() {
        let me = Process::find(std::process::id()).unwrap();
        assert!(me.is_alive());
        assert!(processor_time(me.pid).is_ok());
        assert!(peak_bytes(me.pid).unwrap() > 0 && resident_bytes(me.pid).unwrap() > 0);
        assert!(!Process { start_time: me.start_time + 1, ..me }.is_alive());
    }

    #[test]
    fn is_alive_of_zombie_is_false() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::find(child.id()).unwrap();
        process.kill().unwrap();
        crate::wait::until("the child to end", Duration::from_secs(5), || {
            Ok((!process.is_alive()).then_some(()))
        })
        .unwrap();
        child.wait().unwrap();
    }
}
