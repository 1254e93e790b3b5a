//! Execution of programs in a container, with the error messages of runc.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};

use super::protocol::{Attachment, Confinement, ContainerReport, ContainerSpec, receive, send};
use super::{mounts, namespaces, plain, socket};

/// Prepares the container and executes its program. Returns only on errors.
pub(super) fn exec() -> io::Result<ExitCode> {
    let supervisor = socket()?;
    let Some(plan) = receive::<ContainerSpec>(&supervisor)? else { return Ok(ExitCode::SUCCESS) };
    send(&supervisor, &ContainerReport::Running { process: own_pid()? })?;
    if plan.command.is_empty() {
        return Ok(prepare(&plan)
            .map_or_else(|message| refuse(&supervisor, message), |()| ExitCode::SUCCESS));
    }
    let message = match prepare(&plan).and_then(|()| command(&plan)) {
        // A successful exec closes the socket, which the supervisor takes as the start of the
        // program.
        Ok(mut command) => exec_error(&plan.command[0], &command.exec()),
        Err(message) => message,
    };
    Ok(refuse(&supervisor, message))
}

fn refuse(supervisor: impl io::Write, message: String) -> ExitCode {
    // Without a supervisor, the report has no receiver.
    let _ = send(supervisor, &ContainerReport::Refused { message });
    ExitCode::FAILURE
}

/// PID of this process in the PID namespace of the sandbox, whose /proc is still mounted.
fn own_pid() -> io::Result<i32> {
    let pid = std::fs::read_link("/proc/self")?;
    let pid = pid.to_str().and_then(|pid| pid.parse().ok());
    pid.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn prepare(plan: &ContainerSpec) -> Result<(), String> {
    // A new session, so that signals of the sandbox's terminal do not reach the container.
    rustix::process::setsid().map_err(|error| format!("cannot create a session: {error}"))?;
    if plan.confinement != Confinement::Plain {
        mounts::build(plan).map_err(|failure| failure.to_string())?;
        rustix::system::sethostname(plan.hostname.as_bytes())
            .map_err(|error| format!("cannot set the host name: {error}"))?;
    }
    enter_working_directory(plan)?;
    if plan.confinement != Confinement::Plain {
        namespaces::drop_privileges(plan)
            .map_err(|error| format!("cannot run as user {}: {error}", plan.user))?;
    }
    Ok(())
}

fn enter_working_directory(plan: &ContainerSpec) -> Result<(), String> {
    let directory = match plan.confinement {
        Confinement::Plain => plain::host_path_of(plan, &plan.working_directory),
        Confinement::Root | Confinement::User => plan.working_directory.clone(),
    };
    // On a read-only root, the directory has to exist already.
    let _ = std::fs::create_dir_all(&directory);
    std::env::set_current_dir(&directory).map_err(|error| {
        format!(
            "chdir to cwd ({:?}) set in config.json failed: {error}",
            plan.working_directory.to_string_lossy()
        )
    })
}

/// The command with arguments and environment.
fn command(plan: &ContainerSpec) -> Result<Command, String> {
    let Some((name, arguments)) = plan.command.split_first() else {
        return Err("no command specified".to_owned());
    };
    let path = plan.environment.iter().rev().find(|(name, _)| name == "PATH");
    let search = ProgramSearch { path: path.map_or("", |(_, path)| path), plan };
    let mut command = Command::new(search.find(name)?);
    command.arg0(name).args(arguments).env_clear().stdin(Stdio::null());
    if plan.confinement == Confinement::Plain {
        command.envs(plain::environment(plan));
    }
    command.envs(plan.environment.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// Runs the additional program until it or the sandbox exits.
pub(super) fn attach() -> io::Result<ExitCode> {
    let sandbox = socket()?;
    let Some(attachment) = receive::<Attachment>(&sandbox)? else { return Ok(ExitCode::SUCCESS) };
    match start(&attachment) {
        Ok(child) => {
            if let Some(status) = wait(child, &sandbox)? {
                send(&sandbox, &ContainerReport::Ended { code: code(status) })?;
            }
        }
        Err(message) => send(&sandbox, &ContainerReport::Refused { message })?,
    }
    Ok(ExitCode::SUCCESS)
}

fn start(attachment: &Attachment) -> Result<Child, String> {
    let plan = &attachment.plan;
    join(attachment).map_err(|error| format!("cannot enter the container: {error}"))?;
    let mut command = command(plan)?;
    let directory = match plan.confinement {
        Confinement::Plain => plain::host_path_of(plan, &plan.working_directory),
        Confinement::Root | Confinement::User => plan.working_directory.clone(),
    };
    command.current_dir(directory).process_group(0);
    command.spawn().map_err(|error| exec_error(&plan.command[0], &error))
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
    // In a user namespace, the container already runs as the mapped user.
    let plan = match plan.confinement {
        Confinement::User => &ContainerSpec { user: 0, group: 0, ..plan.clone() },
        _ => plan,
    };
    namespaces::drop_privileges(plan)
}

/// Exit status; `None` if the sandbox closed the socket.
fn wait(
    mut child: Child,
    sandbox: &std::os::unix::net::UnixStream,
) -> io::Result<Option<ExitStatus>> {
    let process = Pid::from_child(&child);
    let handle = pidfd_open(process, PidfdFlags::empty())?;
    let mut events = [PollFd::new(&handle, PollFlags::IN), PollFd::new(sandbox, PollFlags::IN)];
    while let Err(rustix::io::Errno::INTR) = poll(&mut events, None) {}
    if events[0].revents().is_empty() {
        // The process may have exited already.
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

/// Default of `PATH`.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Search for the program of a container in `PATH`.
struct ProgramSearch<'a> {
    /// `PATH` of the container.
    path: &'a str,
    plan: &'a ContainerSpec,
}

impl ProgramSearch<'_> {
    fn find(&self, name: &str) -> Result<PathBuf, String> {
        if name.contains('/') {
            let candidates = self.candidates(Path::new(name));
            return Ok(candidates
                .iter()
                .find(|place| place.exists())
                .unwrap_or(&candidates[0])
                .clone());
        }
        let path = if self.path.is_empty() { DEFAULT_PATH } else { self.path };
        let directories = path.split(':').map(|directory| Path::new(directory).join(name));
        let mut candidates = directories.flat_map(|place| self.candidates(&place));
        candidates
            .find(|place| is_executable(place))
            .ok_or_else(|| format!("exec: {name:?}: executable file not found in $PATH"))
    }

    /// Candidates for a path; without a root of its own, a container uses the image and then the
    /// host.
    fn candidates(&self, path: &Path) -> Vec<PathBuf> {
        match self.plan.confinement {
            Confinement::Plain => vec![plain::host_path_of(self.plan, path), path.to_owned()],
            Confinement::Root | Confinement::User => vec![path.to_owned()],
        }
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// The error of runc for a program that exists but cannot be executed.
fn exec_error(name: &str, error: &io::Error) -> String {
    let reason = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::NOENT) => format!("stat {name}: no such file or directory"),
        Some(rustix::io::Errno::ACCESS) => "permission denied".to_owned(),
        Some(rustix::io::Errno::NOEXEC) => "exec format error".to_owned(),
        Some(rustix::io::Errno::ISDIR) => "is a directory".to_owned(),
        _ => error.to_string(),
    };
    format!("exec: {name:?}: {reason}")
}
