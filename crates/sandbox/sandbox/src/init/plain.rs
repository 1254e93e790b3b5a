//! Containers without namespaces.
//!
//! The program sees the file system of the host. Environment variables point to the paths that a
//! container would have:
//!
//! | variable | content |
//! | --- | --- |
//! | `FAIRWAY_ROOT` | directory with the files of the image, instead of `/` |
//! | `FAIRWAY_MOUNT_VAR_RUN_X` | directory or file that a container has at `/var/run/x` |
//!
//! Programs are searched in the image first, then on the host. The working directory is that of the
//! image. Users, read-only mounts and host names are ignored.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, waitpid};

use super::protocol::ContainerSpec;

/// Variable with the root directory of the image.
pub const ROOT_VARIABLE: &str = "FAIRWAY_ROOT";
/// Prefix of the variables for mounts.
pub const MOUNT_PREFIX: &str = "FAIRWAY_MOUNT";

/// Maximum number of kill rounds; a program that forks faster than a thousand of them does it on
/// purpose.
const MAX_KILL_ROUNDS: usize = 1000;

/// The variable for a mount target.
pub fn mount_variable(target: &Path) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let path = target.to_string_lossy();
    let words: String = path.trim_matches('/').chars().map(letter).collect();
    format!("{MOUNT_PREFIX}_{words}")
}

/// Additional environment variables.
pub(super) fn environment(plan: &ContainerSpec) -> Vec<(String, String)> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let root = (ROOT_VARIABLE.to_owned(), text(&plan.root.directory()));
    let mounts = plan.mounts.iter();
    let mounts = mounts.map(|mount| (mount_variable(&mount.target), text(&mount.source)));
    [root].into_iter().chain(mounts).collect()
}

/// The path on the host for a path of the image.
pub(super) fn host_path_of(plan: &ContainerSpec, path: &Path) -> PathBuf {
    plan.root.directory().join(path.strip_prefix("/").unwrap_or(path))
}

/// Makes this process the subreaper of its descendants.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Kills all descendants: orphans become children of this process.
pub(super) fn kill_descendants() {
    for _ in 0..MAX_KILL_ROUNDS {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            // The process may have exited already.
            let _ = kill_process(child, Signal::KILL);
            let _ = waitpid(Some(child), WaitOptions::empty());
        }
    }
}

fn children() -> Vec<Pid> {
    let pid = rustix::process::getpid().as_raw_nonzero();
    let list = fs::read_to_string(format!("/proc/self/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_variable_is_derived_from_path() {
        let token = Path::new("/var/run/secrets/kubernetes.io/serviceaccount");
        let expected = "FAIRWAY_MOUNT_VAR_RUN_SECRETS_KUBERNETES_IO_SERVICEACCOUNT";
        assert_eq!(mount_variable(token), expected);
        assert_eq!(mount_variable(Path::new("/data/")), "FAIRWAY_MOUNT_DATA");
    }
}
