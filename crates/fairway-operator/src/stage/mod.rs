//! The stages: each owns its state, reads what others publish, and publishes a snapshot itself.
//! None calls another.

pub mod updates;
