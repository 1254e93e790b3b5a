//! Releases of real operators: they load, install and update.
//!
//! `FAIRWAY_PAYLOADS` names the directory with their payloads.

mod build;
mod crds;
mod install;
mod load;
mod update;
