//! Nodes: what runs the pods that are bound to them.

pub mod runtime;
