//! Containers where the kernel refuses namespaces.
//!
//! The program sees the whole machine. What it should find at paths of its own is told by its
//! environment:
//!
//! | variable | what it has |
//! | --- | --- |
//! | `FAIRWAY_ROOT` | the directory with the files of its image, where a container has `/` |
//! | `FAIRWAY_MOUNT_VAR_RUN_X` | the directory or file that a container has at `/var/run/x` |
//!
//! A program is looked for in the image first, and then on the machine. Its working directory is
//! that of the image. Users, read-only mounts and host names are not honoured.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, waitpid};

use super::plan::Plan;

/// Where the files of the image are.
pub const ROOT_VARIABLE: &str = "FAIRWAY_ROOT";
/// What the names of the other variables begin with.
pub const MOUNT_PREFIX: &str = "FAIRWAY_MOUNT";

/// Every round ends all children; whoever forks faster than that a thousand times does it on
/// purpose.
const MOST_ROUNDS: usize = 1000;

/// The variable that tells where something is mounted.
pub fn mount_variable(target: &Path) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let path = target.to_string_lossy();
    let words: String = path.trim_matches('/').chars().map(letter).collect();
    format!("{MOUNT_PREFIX}_{words}")
}

/// What the environment says in addition.
pub(super) fn environment(plan: &Plan) -> Vec<(String, String)> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let root = (ROOT_VARIABLE.to_owned(), text(&plan.root.directory()));
    let mounts = plan.mounts.iter();
    let mounts = mounts.map(|mount| (mount_variable(&mount.target), text(&mount.source)));
    [root].into_iter().chain(mounts).collect()
}

/// A path of the image on the machine.
pub(super) fn outside(plan: &Plan, path: &Path) -> PathBuf {
    plan.root.directory().join(path.strip_prefix("/").unwrap_or(path))
}

/// Lets processes whose parents have ended become children of this one.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Ends all children, and theirs, which become ours when their parents end.
pub(super) fn end_children() {
    for _ in 0..MOST_ROUNDS {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            // It may have ended by itself.
            let _ = kill_process(child, Signal::KILL);
            let _ = waitpid(Some(child), WaitOptions::empty());
        }
    }
}

fn children() -> Vec<Pid> {
    let number = rustix::process::getpid().as_raw_nonzero();
    let list = fs::read_to_string(format!("/proc/self/task/{number}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_called_like_paths() {
        let token = Path::new("/var/run/secrets/kubernetes.io/serviceaccount");
        let expected = "FAIRWAY_MOUNT_VAR_RUN_SECRETS_KUBERNETES_IO_SERVICEACCOUNT";
        assert_eq!(mount_variable(token), expected);
        assert_eq!(mount_variable(Path::new("/data/")), "FAIRWAY_MOUNT_DATA");
    }
}
