//! The child side of a container: what the program is when the sandbox starts it again.
//!
//! ```text
//! sandbox ── confine ── supervise ── become → the container's program
//!    └───── a socket ───────┘
//! ```
//!
//! * [`confine`](confine) enters namespaces. The first process it starts is the first one there.
//! * `supervise` is that process. It holds the other end of a socket to the sandbox; when that
//!   closes, for whatever reason, it ends, and with it the kernel ends everything in its namespace.
//!   It passes signals on, reaps what nobody waits for, and tells how the program ended.
//! * `become` builds the tree of mounts, gives up privileges, and becomes the program.
//! * `attach` runs one more program in a container, as probes do.
//!
//! Only single-threaded processes may enter a namespace of users, so [`main`] has to be called
//! first thing.
//!
//! Where the kernel refuses namespaces, a container runs in [`Confinement::Plain`] mode: `supervise`
//! is started without `confine`, ends the container's processes itself, and the program finds its
//! files by the environment that [`plain`] documents.

mod attach;
mod r#become;
pub mod channel;
mod confine;
mod mounts;
pub mod plain;
pub mod plan;
mod privileges;
mod program;
mod supervise;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};

pub use channel::{Order, Report};
pub use plan::{Attachment, Confinement, Mount, Plan, Root};

/// The first argument by which the program knows that it is to be this. It is in no help text.
pub const ARGUMENT: &str = "sandbox-init";

/// What exit codes of these processes mean nothing: the socket has told everything.
const TOLD: u8 = 125;

/// The parts that a process can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Enters namespaces; with `user`, one of users first.
    Confine {
        /// As an ordinary user has to.
        user: bool,
    },
    /// Looks after the program.
    Supervise {
        /// Whether it is the first process of a namespace, whose end is everybody's.
        first: bool,
    },
    /// Turns into the program.
    Become,
    /// Runs another program beside it.
    Attach,
}

impl Stage {
    const ALL: [Self; 6] = [
        Self::Confine { user: false },
        Self::Confine { user: true },
        Self::Supervise { first: true },
        Self::Supervise { first: false },
        Self::Become,
        Self::Attach,
    ];

    /// Its name as the second argument.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confine { user: false } => "confine",
            Self::Confine { user: true } => "confine-user",
            Self::Supervise { first: true } => "supervise",
            Self::Supervise { first: false } => "supervise-plain",
            Self::Become => "become",
            Self::Attach => "attach",
        }
    }
}

impl Confinement {
    /// How a container of this sort begins.
    pub fn first_stage(self) -> Stage {
        match self {
            Self::Root => Stage::Confine { user: false },
            Self::User => Stage::Confine { user: true },
            Self::Plain => Stage::Supervise { first: false },
        }
    }
}

/// Plays the part that the arguments after [`ARGUMENT`] name.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let named = arguments.next().unwrap_or_default();
    let stage = Stage::ALL.into_iter().find(|stage| named == stage.as_str());
    let outcome = match stage {
        Some(Stage::Confine { user }) => confine::run(user),
        Some(Stage::Supervise { first }) => supervise::run(first),
        Some(Stage::Become) => r#become::run(),
        Some(Stage::Attach) => attach::run(),
        None => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    };
    // Whoever could be told was told through the socket.
    outcome.unwrap_or(ExitCode::from(TOLD))
}

/// The socket that stands at the standard input of each of these processes.
fn socket() -> io::Result<UnixStream> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// This program again, in another part.
fn again(stage: Stage) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(ARGUMENT).arg(stage.as_str());
    command
}

/// One end for us, the other for the standard input of a child.
fn socket_pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair()?;
    Ok((ours, theirs.into()))
}
