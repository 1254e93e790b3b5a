//! What a run leaves on the disk of the node. The program that writes there is another release:
//! nothing about its files is trusted, neither what they are nor what is in them.

mod directory;
mod room;
mod root;

pub(super) use directory::{Excess, ReadError, RunDirectory, Stamp};
pub(super) use root::Root;

/// The file with what was found.
pub(super) const RESULT: &str = "result.json";

/// The user that the target release runs as: a directory of the operator's belongs to it.
pub(super) const RUNNER: u32 = 65532;
