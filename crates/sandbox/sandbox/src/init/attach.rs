//! Running one more program in a container.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitCode, ExitStatus};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};

use super::channel::{Report, receive, send};
use super::plan::{Attachment, Confinement, Plan};
use super::{r#become, plain, privileges, program, socket};

/// Runs until the program or the sandbox ends.
pub(super) fn run() -> io::Result<ExitCode> {
    let sandbox = socket()?;
    let Some(attachment) = receive::<Attachment>(&sandbox)? else { return Ok(ExitCode::SUCCESS) };
    match start(&attachment) {
        Ok(child) => {
            if let Some(status) = wait(child, &sandbox)? {
                send(&sandbox, &Report::Ended { code: code(status) })?;
            }
        }
        Err(message) => send(&sandbox, &Report::Refused { message })?,
    }
    Ok(ExitCode::SUCCESS)
}

fn start(attachment: &Attachment) -> Result<Child, String> {
    let plan = &attachment.plan;
    join(attachment).map_err(|error| format!("cannot enter the container: {error}"))?;
    let mut command = r#become::command(plan)?;
    let directory = match plan.confinement {
        Confinement::Plain => plain::outside(plan, &plan.working_directory),
        Confinement::Root | Confinement::User => plan.working_directory.clone(),
    };
    command.current_dir(directory).process_group(0);
    command.spawn().map_err(|error| program::failure(&plan.command[0], &error))
}

fn join(Attachment { process, plan }: &Attachment) -> io::Result<()> {
    if plan.confinement == Confinement::Plain {
        return Ok(());
    }
    let process = Pid::from_raw(*process).ok_or(io::ErrorKind::InvalidInput)?;
    let process = pidfd_open(process, PidfdFlags::empty())?;
    let mut spaces = ThreadNameSpaceType::MOUNT
        | ThreadNameSpaceType::PROCESS_ID
        | ThreadNameSpaceType::HOST_NAME_AND_NIS_DOMAIN_NAME
        | ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION;
    if plan.confinement == Confinement::User {
        spaces |= ThreadNameSpaceType::USER;
    }
    move_into_thread_name_spaces(process.as_fd(), spaces)?;
    // The user of an ordinary user's container came with its namespace.
    let plan = match plan.confinement {
        Confinement::User => &Plan { user: 0, group: 0, ..plan.clone() },
        _ => plan,
    };
    privileges::give_up(plan)
}

/// How it ended; `None` if the sandbox does not want to know any more.
fn wait(
    mut child: Child,
    sandbox: &std::os::unix::net::UnixStream,
) -> io::Result<Option<ExitStatus>> {
    let process = Pid::from_child(&child);
    let handle = pidfd_open(process, PidfdFlags::empty())?;
    let mut events = [PollFd::new(&handle, PollFlags::IN), PollFd::new(sandbox, PollFlags::IN)];
    while let Err(rustix::io::Errno::INTR) = poll(&mut events, None) {}
    if events[0].revents().is_empty() {
        // It may end at the same moment.
        let _ = rustix::process::kill_process_group(process, rustix::process::Signal::KILL);
        child.wait()?;
        return Ok(None);
    }
    child.wait().map(Some)
}

fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(128)
}
