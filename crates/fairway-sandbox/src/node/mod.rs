//! Nodes: what runs the pods that are bound to them.

mod backoff;
mod environment;
mod events;
mod files;
mod identity;
mod images;
pub mod logs;
pub mod runtime;
mod state;
mod status;
mod volumes;
