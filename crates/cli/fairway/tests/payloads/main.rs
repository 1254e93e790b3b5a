//! Building, loading, installing and updating of real OpenShift releases.
//!
//! `FAIRWAY_PAYLOADS` is the directory with their payloads.

mod build;
mod install;
mod load;
mod update;
