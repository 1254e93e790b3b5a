//! Processes of a container: the stages in which the sandbox executes its own binary again.
//!
//! ```text
//! sandbox ── namespaces ── supervise ── exec → program of the container
//!    └────── socket ───────────┘
//! ```
//!
//! * `namespaces` unshares namespaces. Its child is PID 1 of the new PID namespace.
//! * `supervise` is that child. It holds the other end of a socket to the sandbox. When the socket
//!   closes, for whatever reason, it exits, and the kernel kills all processes of its PID namespace.
//!   It forwards signals, reaps orphans, and reports the exit code of the program.
//! * `exec` mounts the file systems, drops privileges, and executes the program.
//! * `attach` runs an additional program in a container, for exec probes.
//!
//! Only single-threaded processes may enter a user namespace, so [`main`] has to run before any
//! thread starts.
//!
//! If the kernel refuses namespaces, a container runs in [`Confinement::Plain`] mode: `supervise`
//! starts without `namespaces` and kills the processes of the container itself. The program finds
//! its files through the environment that [`plain`] documents.

mod exec;
mod mounts;
mod namespaces;
pub mod plain;
pub mod protocol;
mod supervise;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};

pub use protocol::{
    Attachment, Confinement, ContainerReport, ContainerRequest, ContainerSpec, Mount, Root,
};

/// First argument of the binary for these stages. Not part of the help.
pub const ARGUMENT: &str = "sandbox-init";

/// Exit code of a failed stage. It has no meaning: errors are reported through the socket.
const FAILED_STAGE: u8 = 125;

/// Stage of a container process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Unshares namespaces; with `user`, a user namespace first.
    Namespaces {
        /// Whether to create a user namespace, which unprivileged users need.
        user: bool,
    },
    /// Supervises the program.
    Supervise {
        /// Whether it is PID 1 of a PID namespace: its exit kills all other processes.
        first: bool,
    },
    /// Executes the program.
    Exec,
    /// Runs an additional program.
    Attach,
}

impl Stage {
    const ALL: [Self; 6] = [
        Self::Namespaces { user: false },
        Self::Namespaces { user: true },
        Self::Supervise { first: true },
        Self::Supervise { first: false },
        Self::Exec,
        Self::Attach,
    ];

    /// The name, which is the second argument.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces { user: false } => "namespaces",
            Self::Namespaces { user: true } => "namespaces-user",
            Self::Supervise { first: true } => "supervise",
            Self::Supervise { first: false } => "supervise-plain",
            Self::Exec => "exec",
            Self::Attach => "attach",
        }
    }
}

impl Confinement {
    /// The first stage of a container with this confinement.
    pub fn first_stage(self) -> Stage {
        match self {
            Self::Root => Stage::Namespaces { user: false },
            Self::User => Stage::Namespaces { user: true },
            Self::Plain => Stage::Supervise { first: false },
        }
    }
}

/// Runs the stage that the arguments after [`ARGUMENT`] name.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let named = arguments.next().unwrap_or_default();
    let stage = Stage::ALL.into_iter().find(|stage| named == stage.as_str());
    let outcome = match stage {
        Some(Stage::Namespaces { user }) => namespaces::run(user),
        Some(Stage::Supervise { first }) => supervise::run(first),
        Some(Stage::Exec) => exec::exec(),
        Some(Stage::Attach) => exec::attach(),
        None => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    };
    // Errors are reported through the socket.
    outcome.unwrap_or(ExitCode::from(FAILED_STAGE))
}

/// The socket to the parent, which is the standard input of every stage.
fn socket() -> io::Result<UnixStream> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// The command for another stage of this binary.
fn stage_command(stage: Stage) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(ARGUMENT).arg(stage.as_str());
    command
}

/// A socket pair: our end, and the end for the standard input of a child.
fn socket_pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair()?;
    Ok((ours, theirs.into()))
}
