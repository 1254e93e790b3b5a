//! Installation, updates and rollback of a platform, with real releases, pods and the real binary.

mod drift;
mod refusals;
mod restart;
mod rollback;
mod update;
