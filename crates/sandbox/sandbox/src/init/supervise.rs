//! The supervisor of a container's program.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, wait,
};

use super::protocol::{ContainerReport, ContainerRequest, ContainerSpec, receive, send};
use super::{Stage, plain, socket, socket_pair, stage_command};

/// Interval of reaping orphans.
const REAP_INTERVAL: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// Offset of signal numbers in exit codes.
const SIGNAL_EXIT_BASE: i32 = 128;

/// Runs a container until its program or the sandbox exits. `first` tells whether this is PID 1, so
/// that the kernel kills the remaining processes.
pub(super) fn run(first: bool) -> io::Result<ExitCode> {
    let sandbox = socket()?;
    let Some(plan) = receive::<ContainerSpec>(&sandbox)? else { return Ok(ExitCode::SUCCESS) };
    if !first {
        plain::adopt_orphans()?;
    }
    let outcome = Container::start(&plan).and_then(|container| container.watch(&sandbox));
    if !first {
        plain::kill_descendants();
    }
    let report = outcome.unwrap_or_else(|error| {
        let message = format!("cannot supervise the container: {error}");
        Some(ContainerReport::Refused { message })
    });
    if let Some(report) = report {
        send(&sandbox, &report)?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Container {
    process: Pid,
    handle: OwnedFd,
    /// Socket to the process before exec; exec closes it.
    reports: Option<UnixStream>,
    pid: Option<i32>,
}

impl Container {
    fn start(plan: &ContainerSpec) -> io::Result<Self> {
        let (reports, theirs) = socket_pair()?;
        let child = stage_command(Stage::Exec).stdin(theirs).spawn()?;
        send(&reports, plan)?;
        let process = Pid::from_child(&child);
        let handle = pidfd_open(process, PidfdFlags::empty())?;
        Ok(Self { process, handle, reports: Some(reports), pid: None })
    }

    /// The last report; `None` if the sandbox is gone.
    fn watch(mut self, sandbox: &UnixStream) -> io::Result<Option<ContainerReport>> {
        loop {
            let ready = self.wait(sandbox)?;
            if ready.reports
                && let Some(last) = self.receive_report(sandbox)?
            {
                return Ok(Some(last));
            }
            if let Some(code) = self.reap() {
                return self.last_report(sandbox, code).map(Some);
            }
            if ready.sandbox {
                match receive(sandbox) {
                    Ok(Some(ContainerRequest::Signal(number))) => self.signal(number),
                    Ok(None) | Err(_) => return Ok(None),
                }
            }
        }
    }

    fn wait(&self, sandbox: &UnixStream) -> io::Result<Ready> {
        let reports = self.reports.as_ref().map_or_else(|| sandbox.as_fd(), AsFd::as_fd);
        let mut events = [
            PollFd::new(sandbox, PollFlags::IN),
            PollFd::from_borrowed_fd(reports, PollFlags::IN),
            // Only to wake up: `reap` reads the exit status.
            PollFd::new(&self.handle, PollFlags::IN),
        ];
        match poll(&mut events, Some(&REAP_INTERVAL)) {
            Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
            polled => polled?,
        };
        let is_ready = |event: &PollFd<'_>| !event.revents().is_empty();
        Ok(Ready {
            sandbox: is_ready(&events[0]),
            reports: self.reports.is_some() && is_ready(&events[1]),
        })
    }

    /// Handles a report of the process before exec.
    fn receive_report(&mut self, sandbox: &UnixStream) -> io::Result<Option<ContainerReport>> {
        let Some(reports) = &self.reports else { return Ok(None) };
        match receive(reports)? {
            Some(ContainerReport::Running { process }) => self.pid = Some(process),
            Some(last) => return Ok(Some(last)),
            None => {
                self.reports = None;
                if let Some(process) = self.pid {
                    send(sandbox, &ContainerReport::Running { process })?;
                }
            }
        }
        Ok(None)
    }

    /// The last report: an error before exec, or the exit code.
    fn last_report(&mut self, sandbox: &UnixStream, code: i32) -> io::Result<ContainerReport> {
        while self.reports.is_some() {
            if let Some(last) = self.receive_report(sandbox)? {
                return Ok(last);
            }
        }
        Ok(ContainerReport::Ended { code })
    }

    fn signal(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            // The process may have exited already.
            let _ = kill_process(self.process, signal);
        }
    }

    /// Reaps exited processes, including orphans. Returns the exit code of the program, if it
    /// exited.
    fn reap(&self) -> Option<i32> {
        while let Ok(Some((process, status))) = wait(WaitOptions::NOHANG) {
            if process == self.process {
                return Some(code(status));
            }
        }
        None
    }
}

#[derive(Default)]
struct Ready {
    sandbox: bool,
    reports: bool,
}

fn code(status: WaitStatus) -> i32 {
    let signalled = status.terminating_signal().map(|signal| SIGNAL_EXIT_BASE + signal);
    status.exit_status().or(signalled).unwrap_or(SIGNAL_EXIT_BASE)
}
