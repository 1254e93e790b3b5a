//! Integration tests of the crate in one binary, because each binary has to be linked.

mod releases;
mod signatures;
