//! Leadership in a process that is stopped, and on a host whose clocks jump. The clocks of this host
//! are never set: the other process runs under `faketime`, or in a time namespace.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fairway_clock::ClockReading;
use fairway_election::Leadership;
use fairway_fixtures::skip;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

/// Set for the process that holds a Lease.
const LEASE_SECONDS: &str = "FAIRWAY_TEST_LEASE_SECONDS";

/// Output of that process, before its state.
const STATE: &str = "clocks-test: ";

/// Holds a Lease, and reports whether it does for each line of its input. Without the variable, it
/// only checks that a new Lease is held.
#[tokio::test]
async fn new_lease_is_held() -> Result<()> {
    let Ok(seconds) = std::env::var(LEASE_SECONDS) else {
        let (_term, leadership) = Leadership::until(Instant::now() + Duration::from_mins(1));
        assert!(leadership.is_held());
        return Ok(());
    };
    let lasts = Duration::from_secs(seconds.parse()?);
    let (_term, leadership) = Leadership::until(Instant::now() + lasts);
    for line in std::io::stdin().lines() {
        line?;
        let is_written = leadership.write(async {}).await.is_ok();
        let boot = ClockReading::now().boot.as_secs();
        println!("\n{STATE}{is_written} {boot}");
    }
    Ok(())
}

/// Another process that holds a Lease.
struct Holder {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Holder {
    /// Starts this test binary below a command.
    fn start(mut wrapper: Command, lease: Duration) -> Result<Self> {
        let mut child = wrapper
            .args(["--exact", "new_lease_is_held", "--nocapture"])
            .env(LEASE_SECONDS, lease.as_secs().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the holder")?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        Ok(Self { child, input, output })
    }

    /// Whether it may write, and the seconds since the boot of its host.
    fn state(&mut self) -> Result<(bool, u64)> {
        writeln!(self.input)?;
        let mut line = String::new();
        while self.output.read_line(&mut line)? > 0 {
            if let Some((written, boot)) =
                line.trim().strip_prefix(STATE).and_then(|state| state.split_once(' '))
            {
                return Ok((written.parse()?, boot.parse()?));
            }
            line.clear();
        }
        anyhow::bail!("the holder has ended")
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?).context("a process ID")?;
        Ok(kill_process(pid, signal)?)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn this_binary() -> Result<Command> {
    Ok(Command::new(std::env::current_exe()?))
}

/// Waits for a time of this process, which a stopped one does not see.
fn pass(time: Duration) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(fairway_clock::pause(time));
    Ok(())
}

#[test]
fn write_of_stopped_process_is_refused() -> Result<()> {
    let lease = Duration::from_secs(4);
    let mut holder = Holder::start(this_binary()?, lease)?;
    ensure!(holder.state()?.0, "it holds the Lease");
    holder.signal(Signal::STOP)?;
    pass(lease)?;
    holder.signal(Signal::CONT)?;
    ensure!(!holder.state()?.0, "it writes after its Lease");
    Ok(())
}

#[test]
fn boot_time_counts_suspension() -> Result<()> {
    const SUSPENDED: u64 = 10_000;
    let offset = SUSPENDED.to_string();
    let wrapper = || -> Result<Command> {
        let mut command = Command::new("unshare");
        command.args(["--time", "--boottime", &offset, "--"]).arg(std::env::current_exe()?);
        Ok(command)
    };
    let namespace =
        Command::new("unshare").args(["--time", "--boottime", &offset, "true"]).output();
    if !namespace.is_ok_and(|output| output.status.success()) {
        skip::test("time namespaces need root and Linux 5.6");
        return Ok(());
    }
    let (mut here, mut there) = (
        Holder::start(this_binary()?, Duration::from_mins(10))?,
        Holder::start(wrapper()?, Duration::from_mins(10))?,
    );
    // The suspension is in this clock, and not in the monotonic one.
    let difference = there.state()?.1.abs_diff(here.state()?.1);
    ensure!((SUSPENDED - 60..SUSPENDED + 60).contains(&difference), "{difference}");
    Ok(())
}

/// Debian's library, which `faketime` loads.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

#[test]
fn write_after_wall_clock_jump_is_refused() -> Result<()> {
    if !Path::new(FAKETIME).exists() {
        skip::test("libfaketime is missing: apt-get install faketime");
        return Ok(());
    }
    for (jump, is_held) in [("+0", true), ("-3600", true), ("+50", true), ("+3600", false)] {
        let directory = tempfile::tempdir()?;
        let time = directory.path().join("time");
        std::fs::write(&time, "+0")?;
        let mut command = this_binary()?;
        command
            .env("LD_PRELOAD", FAKETIME)
            .env("FAKETIME_TIMESTAMP_FILE", &time)
            .env("FAKETIME_NO_CACHE", "1")
            .env("DONT_FAKE_MONOTONIC", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        let mut holder = Holder::start(command, Duration::from_mins(10))?;
        ensure!(holder.state()?.0, "{jump}: it holds the Lease");
        std::fs::write(&time, jump)?;
        ensure!(holder.state()?.0 == is_held, "{jump}");
    }
    Ok(())
}
