//! Containers of the sandbox, which are this program started again.

mod cluster;
mod machine;
mod pods;
mod processes;
mod runs;
