//! Containers of the sandbox, which are this program started again.

mod machine;
mod processes;
mod runs;
