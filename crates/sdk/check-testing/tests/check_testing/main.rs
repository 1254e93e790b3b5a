//! Tests of the test kit and of the guide.

// At the root, because the test of the guide imports it from there.
#[expect(dead_code, reason = "the program has a `main` of its own")]
#[path = "../../../check/examples/storage.rs"]
mod example;
mod guide;
mod harness;
