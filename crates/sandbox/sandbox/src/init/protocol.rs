//! Messages between the sandbox and the processes of a container.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Maximum size of a message; arguments and environment of a program are limited to a quarter of
/// it.
pub const MAX_MESSAGE_BYTES: usize = 8 << 20;

/// A request of the sandbox to a running container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContainerRequest {
    /// Send this signal to the program.
    Signal(i32),
}

/// A report of a container to the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContainerReport {
    /// The program runs.
    Running {
        /// PID on the host.
        process: i32,
    },
    /// The program could not be started.
    Refused {
        /// The error.
        message: String,
    },
    /// The program has exited.
    Ended {
        /// Exit code; 128 plus the signal number after a signal.
        code: i32,
    },
}

/// Writes a message with its length.
pub fn send(mut out: impl Write, message: &impl Serialize) -> io::Result<()> {
    out.write_all(&encode(message)?)
}

/// A message with its length.
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).ok().filter(|_| text.len() <= MAX_MESSAGE_BYTES);
    let length = length.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    Ok([&length.to_be_bytes(), text.as_slice()].concat())
}

/// Reads a message; `None` if the socket is closed.
pub fn receive<T: DeserializeOwned>(mut from: impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    if let Err(error) = from.read_exact(&mut length) {
        let closed = error.kind() == io::ErrorKind::UnexpectedEof;
        return if closed { Ok(None) } else { Err(error) };
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_MESSAGE_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text)?;
    Ok(Some(serde_json::from_slice(&text)?))
}

/// Isolation of a container from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confinement {
    /// Namespaces created by root; user IDs are those of the host.
    Root,
    /// Namespaces created by an unprivileged user; all users of the container map to that user.
    User,
    /// None but a new session.
    Plain,
}

/// A container to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerSpec {
    /// Isolation from the host.
    pub confinement: Confinement,
    /// Root file system.
    pub root: Root,
    /// Whether the root is read-only.
    pub read_only_root: bool,
    /// Mounts, in order.
    pub mounts: Vec<Mount>,
    /// Host name.
    pub hostname: String,
    /// Program and arguments; if empty, the container is only prepared.
    pub command: Vec<String>,
    /// The complete environment.
    pub environment: Vec<(String, String)>,
    /// Working directory; created if missing.
    pub working_directory: PathBuf,
    /// User ID.
    pub user: u32,
    /// Group ID.
    pub group: u32,
    /// Supplemental groups.
    pub groups: Vec<u32>,
    /// Capabilities such as `CHOWN`; `None` for all.
    pub capabilities: Option<Vec<String>>,
}

/// Root file system of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Root {
    /// A directory.
    Directory(PathBuf),
    /// An overlay on an image: the directory contains `lower`, a symlink to the image, and the
    /// empty directories `upper`, `work` and `root`.
    Overlay(PathBuf),
}

impl Root {
    /// The directory where the root is mounted.
    pub fn directory(&self) -> PathBuf {
        match self {
            Self::Directory(directory) => directory.clone(),
            Self::Overlay(directory) => directory.join("root"),
        }
    }
}

/// A bind mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Path on the host.
    pub source: PathBuf,
    /// Path in the container.
    pub target: PathBuf,
    /// Whether the mount is read-only.
    pub read_only: bool,
}

/// An additional program in a running container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// PID whose namespaces it joins.
    pub process: i32,
    /// The container, with the additional program as its command.
    pub plan: ContainerSpec,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receive_returns_sent_messages() {
        let report = ContainerReport::Refused { message: "no".to_owned() };
        let mut wire = Vec::new();
        send(&mut wire, &report).unwrap();
        send(&mut wire, &ContainerReport::Ended { code: 3 }).unwrap();
        let mut wire = wire.as_slice();
        assert_eq!(receive(&mut wire).unwrap(), Some(report));
        assert_eq!(receive(&mut wire).unwrap(), Some(ContainerReport::Ended { code: 3 }));
        assert_eq!(receive::<ContainerReport>(&mut wire).unwrap(), None);
    }

    #[test]
    fn receive_of_truncated_or_oversized_message_fails() {
        assert!(receive::<ContainerReport>(&[0, 0, 0, 9, b'{'][..]).is_err());
        assert!(receive::<ContainerReport>(&[255, 255, 255, 255, b'{'][..]).is_err());
    }
}
