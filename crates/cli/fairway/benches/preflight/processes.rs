//! How much memory the processes of a preflight hold. The nodes of all test clusters are this
//! machine.

use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use fairway_example::images::CHECK_PROGRAM;
use fairway_testkit::measure::Figure;
use fairway_testkit::testbed::process::peak_bytes;

/// Short, beside the life of a check.
const LOOK: Duration = Duration::from_millis(20);

/// The most memory that was seen, by whose it is.
type Seen = BTreeMap<Whose, u64>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Run,
    Check(String),
}

/// Somebody who looks at all processes again and again.
pub(crate) struct Peaks {
    stop: Sender<()>,
    looking: JoinHandle<Seen>,
}

impl Peaks {
    pub(crate) fn watch() -> Self {
        let (stop, stopped) = channel();
        let looking = std::thread::spawn(move || {
            let mut seen = Seen::new();
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                look(&mut seen);
            }
            seen
        });
        Self { stop, looking }
    }

    /// What the run held at its peak, and what each check did.
    pub(crate) fn end(self) -> (Figure, Vec<(String, Figure)>) {
        drop(self.stop);
        let mut seen = self.looking.join().unwrap_or_default();
        let run = Figure::Bytes(seen.remove(&Whose::Run).unwrap_or_default());
        let checks = seen.into_iter().filter_map(|(whose, peak)| match whose {
            Whose::Check(check) => Some((check, Figure::Bytes(peak))),
            Whose::Run => None,
        });
        (run, checks.collect())
    }
}

fn look(seen: &mut Seen) {
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // It may have ended since.
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if let (Some(pid), Some(whose)) = (pid, whose(&line))
            && let Ok(peak) = peak_bytes(pid)
        {
            let most = seen.entry(whose).or_default();
            *most = peak.max(*most);
        }
    }
}

/// Whose a process is, by its command line.
fn whose(line: &[u8]) -> Option<Whose> {
    let line = String::from_utf8_lossy(line);
    let mut words = line.split('\0');
    match (words.next()?, words.next()?) {
        (CHECK_PROGRAM, component) => Some(Whose::Check(component.to_owned())),
        (_, "preflight") if words.any(|word| word.starts_with("--run=")) => Some(Whose::Run),
        _ => None,
    }
}
