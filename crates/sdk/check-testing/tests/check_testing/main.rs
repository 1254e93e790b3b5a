//! The kit for tests of checks, and the guide that shows it.

// At the root, where the test in the guide imports it from.
#[expect(dead_code, reason = "the program has a `main` of its own")]
#[path = "../../../check/examples/storage.rs"]
mod example;
mod guide;
mod harness;
