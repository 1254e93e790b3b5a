//! Namespaces, users and capabilities of a container.

use std::process::ExitCode;
use std::{fs, io};

use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{CapabilitySet, UnshareFlags};

use super::protocol::{Confinement, ContainerReport, ContainerSpec, send};
use super::{Stage, socket, stage_command};

pub(super) fn run(user: bool) -> io::Result<ExitCode> {
    let started = enter(user).and_then(|()| {
        // The child inherits standard input (the socket), output and error.
        let spawned = stage_command(Stage::Supervise { first: true }).spawn();
        spawned.map_err(|error| format!("cannot start the init process: {error}"))
    });
    match started {
        Ok(mut first) => {
            // The supervisor has reported the exit through the socket.
            let _ = first.wait()?;
            Ok(ExitCode::SUCCESS)
        }
        Err(message) => {
            send(socket()?, &ContainerReport::Refused { message })?;
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

/// Maps one user and one group between a new user namespace and its parent: (inside, outside).
pub(super) fn map_user(user: (u32, u32), group: (u32, u32)) -> io::Result<()> {
    let line = |(inside, host_path_of)| format!("{inside} {host_path_of} 1");
    // The kernel lets an unprivileged user map groups only if setgroups(2) is denied.
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

/// Drops privileges. Last step before the program: afterwards nothing can be mounted or mapped.
pub(super) fn drop_privileges(plan: &ContainerSpec) -> io::Result<()> {
    if let Some(kept) = &plan.capabilities {
        limit_capabilities(kept)?;
    }
    match plan.confinement {
        Confinement::Root => set_user(plan)?,
        // Only one user is mapped; a nested user namespace gives it the user ID of the container.
        Confinement::User if (plan.user, plan.group) != (0, 0) => {
            unshare(UnshareFlags::NEWUSER)?;
            map_user((plan.user, 0), (plan.group, 0))?;
        }
        Confinement::User | Confinement::Plain => {}
    }
    if plan.capabilities.is_some() {
        rustix::thread::set_no_new_privs(true)?;
    }
    Ok(())
}

fn set_user(plan: &ContainerSpec) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(plan.user), Gid::from_raw(plan.group));
    let groups: Vec<Gid> = plan.groups.iter().copied().map(Gid::from_raw).collect();
    rustix::thread::set_thread_groups(&groups)?;
    rustix::thread::set_thread_res_gid(group, group, group)?;
    Ok(rustix::thread::set_thread_res_uid(user, user, user)?)
}

/// Capabilities that are not in the bounding set are lost on exec.
fn limit_capabilities(kept: &[String]) -> io::Result<()> {
    let names = kept.iter().filter_map(|name| CapabilitySet::from_name(name));
    let kept: CapabilitySet = names.collect();
    for capability in CapabilitySet::all().difference(kept).iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // An older kernel does not have the capability.
            Err(rustix::io::Errno::INVAL) => {}
            removed => removed?,
        }
    }
    Ok(())
}
