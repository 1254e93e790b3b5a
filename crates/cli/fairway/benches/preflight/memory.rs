//! Memory of the processes of a preflight. The nodes of all test clusters run on this host.

use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use fairway_example::images::CHECK_PROGRAM;
use fairway_testkit::measure::Figure;
use fairway_testkit::testbed::process::peak_bytes;

/// Short compared with the duration of a check.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Peak memory of each process.
type PeakMemory = BTreeMap<PreflightProcess, u64>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum PreflightProcess {
    Run,
    Check(String),
}

/// Polls the memory of all processes.
pub(crate) struct PeakMonitor {
    stop: Sender<()>,
    polling: JoinHandle<PeakMemory>,
}

impl PeakMonitor {
    pub(crate) fn start() -> Self {
        let (stop, stopped) = channel();
        let polling = std::thread::spawn(move || {
            let mut peaks = PeakMemory::new();
            while stopped.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                poll(&mut peaks);
            }
            peaks
        });
        Self { stop, polling }
    }

    /// The peak memory of the run and of each check.
    pub(crate) fn end(self) -> (Figure, Vec<(String, Figure)>) {
        drop(self.stop);
        let mut peaks = self.polling.join().unwrap_or_default();
        let run = Figure::Bytes(peaks.remove(&PreflightProcess::Run).unwrap_or_default());
        let checks = peaks.into_iter().filter_map(|(process, peak)| match process {
            PreflightProcess::Check(check) => Some((check, Figure::Bytes(peak))),
            PreflightProcess::Run => None,
        });
        (run, checks.collect())
    }
}

fn poll(peaks: &mut PeakMemory) {
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // The process may have ended.
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if let (Some(pid), Some(process)) = (pid, identify(&line))
            && let Ok(peak) = peak_bytes(pid)
        {
            let maximum = peaks.entry(process).or_default();
            *maximum = peak.max(*maximum);
        }
    }
}

/// The role of a process, by its command line.
fn identify(line: &[u8]) -> Option<PreflightProcess> {
    let line = String::from_utf8_lossy(line);
    let mut words = line.split('\0');
    match (words.next()?, words.next()?) {
        (CHECK_PROGRAM, component) => Some(PreflightProcess::Check(component.to_owned())),
        (_, "preflight") if words.any(|word| word.starts_with("--run=")) => {
            Some(PreflightProcess::Run)
        }
        _ => None,
    }
}
