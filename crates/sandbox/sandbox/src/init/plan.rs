//! What a container is to be.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How far a container is kept apart from the rest of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confinement {
    /// In namespaces that the superuser makes: users inside are users outside.
    Root,
    /// In namespaces that an ordinary user makes: whoever the container runs as is that user.
    User,
    /// Not at all, but for a session of its own.
    Plain,
}

/// A container to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// How it is kept apart.
    pub confinement: Confinement,
    /// Its files.
    pub root: Root,
    /// Whether it must not write there.
    pub read_only_root: bool,
    /// What is mounted into it, in this order.
    pub mounts: Vec<Mount>,
    /// Its host name.
    pub hostname: String,
    /// The program and its arguments; without any, everything is prepared and nothing is run.
    pub command: Vec<String>,
    /// The whole environment.
    pub environment: Vec<(String, String)>,
    /// Where it runs; made if it is missing.
    pub working_directory: PathBuf,
    /// Who it runs as.
    pub user: u32,
    /// And with which group.
    pub group: u32,
    /// And with which others.
    pub groups: Vec<u32>,
    /// The privileges of its superuser, such as `CHOWN`; `None` for all.
    pub capabilities: Option<Vec<String>>,
}

/// Where the files of a container are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Root {
    /// In a directory of its own.
    Directory(PathBuf),
    /// In an image, with what the container changes beside it: the directory has `lower`, a link to
    /// the image, and the empty directories `upper`, `work` and `root`.
    Overlay(PathBuf),
}

impl Root {
    /// Where the tree of mounts is built.
    pub fn directory(&self) -> PathBuf {
        match self {
            Self::Directory(directory) => directory.clone(),
            Self::Overlay(directory) => directory.join("root"),
        }
    }
}

/// A file or directory of this machine at a path of the container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Outside.
    pub source: PathBuf,
    /// Inside.
    pub target: PathBuf,
    /// Whether the container must not write there.
    pub read_only: bool,
}

/// Another program in a running container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The process whose namespaces it joins.
    pub process: i32,
    /// The container, with the other program as its command.
    pub plan: Plan,
}
