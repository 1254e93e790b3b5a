//! Entering namespaces.

use std::fs;
use std::io;
use std::process::ExitCode;

use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

use super::channel::{Report, send};
use super::{Stage, again, socket};

pub(super) fn run(user: bool) -> io::Result<ExitCode> {
    let started = enter(user).and_then(|()| {
        // Standard input, output and error go on to it.
        let spawned = again(Stage::Supervise { first: true }).spawn();
        spawned.map_err(|error| format!("cannot start the init process: {error}"))
    });
    match started {
        Ok(mut first) => {
            // How it ended was said through the socket.
            let _ = first.wait()?;
            Ok(ExitCode::SUCCESS)
        }
        Err(message) => {
            send(socket()?, &Report::Refused { message })?;
            Ok(ExitCode::FAILURE)
        }
    }
}

fn enter(user: bool) -> Result<(), String> {
    if user {
        let (user_outside, group_outside) = (geteuid().as_raw(), getegid().as_raw());
        unshare(UnshareFlags::NEWUSER)
            .map_err(|error| format!("cannot create a user namespace: {error}"))?;
        map_user((0, user_outside), (0, group_outside))
            .map_err(|error| format!("cannot map users: {error}"))?;
    }
    let others =
        UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWUTS | UnshareFlags::NEWIPC;
    unshare(others).map_err(|error| format!("cannot create mount and PID namespaces: {error}"))
}

/// Makes one user and one group of a new namespace, the first numbers, out of one each of the
/// namespace around it.
pub(super) fn map_user(user: (u32, u32), group: (u32, u32)) -> io::Result<()> {
    let line = |(inside, outside)| format!("{inside} {outside} 1");
    // An ordinary user may map groups only where nobody can drop one.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", line(user))?;
    fs::write("/proc/self/gid_map", line(group))
}

#[expect(
    deprecated,
    reason = "unsafe only with the flag FILES, which is never set, and there is one thread"
)]
pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}
