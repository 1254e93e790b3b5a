//! Mounts of a container.
//!
//! All sources on the host are opened first. Then the container's root becomes the root, and the
//! sources are mounted at paths that the kernel resolves inside it, so that a symlink of an image
//! cannot point to the host.

use std::fs::{self, OpenOptions, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, StatVfsMountFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_bind_recursive, mount_change, mount_remount, move_mount, open_tree, unmount,
};

use super::protocol::{Confinement, ContainerSpec, Root};

/// Devices that every container may use.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Symlinks that programs expect in /dev.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "fd"),
    ("/proc/self/fd/0", "stdin"),
    ("/proc/self/fd/1", "stdout"),
    ("/proc/self/fd/2", "stderr"),
    ("pts/ptmx", "ptmx"),
];
/// Parts of /proc in which root of a container could change the host.
const READ_ONLY_PROC: [&str; 5] = ["bus", "fs", "irq", "sys", "sysrq-trigger"];

/// A failed mount operation.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing}: {error}")]
pub(super) struct Failure {
    doing: String,
    error: std::io::Error,
}

type Outcome<T = ()> = Result<T, Failure>;

trait Doing<T> {
    fn doing(self, doing: impl FnOnce() -> String) -> Outcome<T>;
}

impl<T, E: Into<std::io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, doing: impl FnOnce() -> String) -> Outcome<T> {
        self.map_err(|error| Failure { doing: doing(), error: error.into() })
    }
}

/// Switches this mount namespace to the root of the container.
pub(super) fn build(plan: &ContainerSpec) -> Outcome {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).doing(|| "make mounts private".to_owned())?;
    let root = mount_root(plan)?;
    let devices = DEVICES.map(|name| (name, detach(Path::new("/dev").join(name).as_path())));
    let volumes: Vec<OwnedFd> =
        plan.mounts.iter().map(|mount| detach(&mount.source)).collect::<Outcome<_>>()?;

    let machine = enter(&root)?;
    mount_system(plan)?;
    mount_devices(devices)?;
    for (volume, place) in volumes.into_iter().zip(&plan.mounts) {
        attach(&volume, &place.target)?;
        if place.read_only {
            make_read_only(&place.target)?;
        }
    }
    // The kernel lets an unprivileged user mount /proc only while another one is visible.
    leave(&machine)?;
    if plan.read_only_root {
        make_read_only(Path::new("/"))?;
    }
    Ok(())
}

fn mount_root(plan: &ContainerSpec) -> Outcome<PathBuf> {
    let root = plan.root.directory();
    match &plan.root {
        Root::Directory(directory) => {
            mount_bind_recursive(directory, directory)
                .doing(|| format!("open {}", directory.display()))?;
        }
        Root::Overlay(directory) => {
            // Relative paths: mount options cannot escape commas and colons.
            std::env::set_current_dir(directory)
                .doing(|| format!("open {}", directory.display()))?;
            let options = match plan.confinement {
                Confinement::User => c"lowerdir=lower,upperdir=upper,workdir=work,userxattr",
                _ => c"lowerdir=lower,upperdir=upper,workdir=work",
            };
            mount("overlay", "root", "overlay", MountFlags::empty(), options)
                .doing(|| format!("mount the overlay {}", directory.display()))?;
        }
    }
    Ok(root)
}

/// Pivots to a directory; the old root stays mounted until `leave`.
fn enter(root: &Path) -> Outcome<OwnedFd> {
    let doing = || format!("pivot the root to {}", root.display());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let machine = rustix::fs::open("/", flags, Mode::empty()).doing(doing)?;
    std::env::set_current_dir(root).doing(doing)?;
    rustix::process::pivot_root(".", ".").doing(doing)?;
    std::env::set_current_dir("/").doing(doing)?;
    Ok(machine)
}

fn leave(machine: &OwnedFd) -> Outcome {
    let doing = || "detach the root of the host".to_owned();
    rustix::process::fchdir(machine).doing(doing)?;
    unmount(".", UnmountFlags::DETACH).doing(doing)?;
    std::env::set_current_dir("/").doing(doing)
}

fn mount_system(plan: &ContainerSpec) -> Outcome {
    let safe = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    make_directory(Path::new("/proc"))?;
    mount("proc", "/proc", "proc", safe, None::<&std::ffi::CStr>)
        .doing(|| "mount /proc".to_owned())?;
    if plan.capabilities.is_some() {
        for name in READ_ONLY_PROC {
            let path = Path::new("/proc").join(name);
            // Some kernels do not have all of them.
            if mount_bind_recursive(&path, &path).is_ok() {
                make_read_only(&path)?;
            }
        }
    }
    make_directory(Path::new("/sys"))?;
    // sysfs belongs to the network namespace of the host: the kernel refuses it to an unprivileged
    // user, and programs run without.
    let _ = mount("sysfs", "/sys", "sysfs", safe | MountFlags::RDONLY, None::<&std::ffi::CStr>);
    Ok(())
}

fn mount_devices(devices: [(&str, Outcome<OwnedFd>); DEVICES.len()]) -> Outcome {
    let dev = Path::new("/dev");
    make_directory(dev)?;
    mount("tmpfs", dev, "tmpfs", MountFlags::NOSUID, c"mode=755,size=65536k")
        .doing(|| "mount /dev".to_owned())?;
    for (name, device) in devices {
        attach(&device?, &dev.join(name))?;
    }
    for (target, name) in DEVICE_LINKS {
        symlink(target, dev.join(name)).doing(|| format!("link /dev/{name}"))?;
    }
    make_directory(&dev.join("pts"))?;
    // Pods run without terminals, too.
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    let terminals = MountFlags::NOSUID | MountFlags::NOEXEC;
    let _ = mount("devpts", dev.join("pts"), "devpts", terminals, options);
    make_directory(&dev.join("shm"))?;
    let shared = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("shm", dev.join("shm"), "tmpfs", shared, c"mode=1777,size=65536k")
        .doing(|| "mount /dev/shm".to_owned())
}

/// Clones a mount without attaching it.
fn detach(source: &Path) -> Outcome<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, source, flags).doing(|| format!("open {}", source.display()))
}

/// Attaches a mount; creates the mount point if missing.
fn attach(source: &OwnedFd, target: &Path) -> Outcome {
    let doing = || format!("mount {}", target.display());
    let status = rustix::fs::fstat(source).doing(doing)?;
    if rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir() {
        make_directory(target)?;
    } else {
        make_directory(target.parent().unwrap_or(Path::new("/")))?;
        if !target.exists() {
            OpenOptions::new().create(true).append(true).open(target).doing(doing)?;
        }
    }
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(source, "", CWD, target, flags).doing(doing)
}

/// Creates a mount point with mode 0755 that the image does not contain.
fn make_directory(path: &Path) -> Outcome {
    if path.is_dir() {
        return Ok(());
    }
    let doing = || format!("create {}", path.display());
    fs::create_dir_all(path).doing(doing)?;
    fs::set_permissions(path, Permissions::from_mode(0o755)).doing(doing)
}

/// Remounts read-only and keeps the other flags of the mount, which an unprivileged user cannot
/// clear.
fn make_read_only(path: &Path) -> Outcome {
    let doing = || format!("make {} read-only", path.display());
    let status = rustix::fs::statvfs(path).doing(doing)?;
    let kept = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let kept = kept.into_iter().filter(|(flag, _)| status.f_flag.contains(*flag));
    let flags = kept.fold(MountFlags::BIND | MountFlags::RDONLY, |flags, (_, flag)| flags | flag);
    match mount_remount(path, flags, "") {
        // Another file system has replaced the mount: nothing to restrict.
        Err(Errno::INVAL) if path != Path::new("/") => Ok(()),
        remounted => remounted.doing(doing),
    }
}
