//! The update graph: releases, the updates between them, and the conditions of these updates.
//!
//! This crate is pure: it converts named bytes to graphs, reports and drawings, and uses no files,
//! network or clock. `fairway-graph-files` reads directories.
//!
//! * [`data`] reads graph-data. It fails closed.
//! * [`releases`] reads the metadata that release images declare.
//! * [`build`] combines both into the [`Graph`] that the update service serves.
//! * [`lint`] finds mistakes in graph-data.
//! * [`cincinnati`] reads and writes the JSON of the Cincinnati protocol.
//! * [`analysis`] answers questions about a graph, [`render`] draws it.

pub mod analysis;
pub mod build;
pub mod cincinnati;
pub mod data;
pub mod files;
pub mod graph;
pub mod lint;
pub mod problem;
pub mod releases;
pub mod render;
pub mod risk;

pub use data::GraphData;
pub use files::Files;
pub use graph::{Edge, Graph, Node, NodeId, Scope};
pub use problem::GraphProblem;
pub use releases::ReleaseImage;
pub use risk::Risk;

#[doc(hidden)]
pub use self::{
    GraphProblem as Problem, analysis as question, cincinnati as wire, render as picture,
};
