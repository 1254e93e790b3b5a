//! Giving up what a container must not have.

use std::io;

use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitySet, UnshareFlags};

use super::confine::{map_user, unshare};
use super::plan::{Confinement, Plan};

/// The last thing before the program: from here on nothing can be mounted or mapped.
pub(super) fn give_up(plan: &Plan) -> io::Result<()> {
    if let Some(kept) = &plan.capabilities {
        keep_only(kept)?;
    }
    match plan.confinement {
        Confinement::Root => become_user(plan)?,
        // There is one user only; the namespace inside the namespace calls it by another number.
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

fn become_user(plan: &Plan) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(plan.user), Gid::from_raw(plan.group));
    let groups: Vec<Gid> = plan.groups.iter().copied().map(Gid::from_raw).collect();
    rustix::thread::set_thread_groups(&groups)?;
    rustix::thread::set_thread_res_gid(group, group, group)?;
    Ok(rustix::thread::set_thread_res_uid(user, user, user)?)
}

/// What is not in the bounding set is gone as soon as the program is there.
fn keep_only(kept: &[String]) -> io::Result<()> {
    let names = kept.iter().filter_map(|name| CapabilitySet::from_name(name));
    let kept: CapabilitySet = names.collect();
    for capability in CapabilitySet::all().difference(kept).iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // The kernel is older than the list, and cannot give what it does not know.
            Err(rustix::io::Errno::INVAL) => {}
            removed => removed?,
        }
    }
    Ok(())
}
