//! Containers and pods of the sandbox, whose first process is this binary.

mod execution;
mod nodes;
mod pods;
mod runtime;
mod termination;
