//! Runs of a target release against a cluster.

mod direct_creator;
mod document;
mod monitor;
mod operator;
