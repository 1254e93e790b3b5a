//! The process that looks after a container's program.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, wait,
};

use super::channel::{Order, Report, receive, send};
use super::plan::Plan;
use super::{Stage, again, plain, socket, socket_pair};

/// How long a process that nobody waits for may stay as a mere entry in the table of processes.
const REAPING: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// What the program is told by `code`, where a signal ended it.
const SIGNALLED: i32 = 128;

/// Runs a container until its program or its sandbox ends. `first` is whether the kernel ends
/// everything else of the container afterwards.
pub(super) fn run(first: bool) -> io::Result<ExitCode> {
    let sandbox = socket()?;
    let Some(plan) = receive::<Plan>(&sandbox)? else { return Ok(ExitCode::SUCCESS) };
    if !first {
        plain::adopt_orphans()?;
    }
    let outcome = Container::start(&plan).and_then(|container| container.watch(&sandbox));
    if !first {
        plain::end_children();
    }
    let report = outcome.unwrap_or_else(|error| {
        let message = format!("cannot supervise the container: {error}");
        Some(Report::Refused { message })
    });
    if let Some(report) = report {
        send(&sandbox, &report)?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Container {
    process: Pid,
    handle: OwnedFd,
    /// What the process says before it is the program; closed when it is.
    reports: Option<UnixStream>,
    number: Option<i32>,
}

impl Container {
    fn start(plan: &Plan) -> io::Result<Self> {
        let (reports, theirs) = socket_pair()?;
        let child = again(Stage::Become).stdin(theirs).spawn()?;
        send(&reports, plan)?;
        let process = Pid::from_child(&child);
        let handle = pidfd_open(process, PidfdFlags::empty())?;
        Ok(Self { process, handle, reports: Some(reports), number: None })
    }

    /// The last report; none if there is nobody who would read it.
    fn watch(mut self, sandbox: &UnixStream) -> io::Result<Option<Report>> {
        loop {
            let ready = self.wait(sandbox)?;
            if ready.reports
                && let Some(last) = self.listen(sandbox)?
            {
                return Ok(Some(last));
            }
            if let Some(code) = self.reap() {
                return self.last_words(sandbox, code).map(Some);
            }
            if ready.sandbox {
                match receive(sandbox) {
                    Ok(Some(Order::Signal(number))) => self.signal(number),
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
            // Nothing is read from it: it wakes.
            PollFd::new(&self.handle, PollFlags::IN),
        ];
        match poll(&mut events, Some(&REAPING)) {
            Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
            polled => polled?,
        };
        let is_ready = |event: &PollFd<'_>| !event.revents().is_empty();
        Ok(Ready {
            sandbox: is_ready(&events[0]),
            reports: self.reports.is_some() && is_ready(&events[1]),
        })
    }

    /// Hears what the process says before it is the program.
    fn listen(&mut self, sandbox: &UnixStream) -> io::Result<Option<Report>> {
        let Some(reports) = &self.reports else { return Ok(None) };
        match receive(reports)? {
            Some(Report::Running { process }) => self.number = Some(process),
            Some(last) => return Ok(Some(last)),
            None => {
                self.reports = None;
                if let Some(process) = self.number {
                    send(sandbox, &Report::Running { process })?;
                }
            }
        }
        Ok(None)
    }

    /// The last report: what it said before it ended, or how it ended.
    fn last_words(&mut self, sandbox: &UnixStream, code: i32) -> io::Result<Report> {
        while self.reports.is_some() {
            if let Some(last) = self.listen(sandbox)? {
                return Ok(last);
            }
        }
        Ok(Report::Ended { code })
    }

    fn signal(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            // It may have ended in the meantime.
            let _ = kill_process(self.process, signal);
        }
    }

    /// Takes note of the end of processes, also of those whose parents have ended before. Returns
    /// how the program ended, if it is among them.
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
    let signalled = status.terminating_signal().map(|signal| SIGNALLED + signal);
    status.exit_status().or(signalled).unwrap_or(SIGNALLED)
}
