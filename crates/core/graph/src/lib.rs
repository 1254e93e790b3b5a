//! The update graph: releases, the updates between them, and the conditions of these updates.
//!
//! This crate is pure: it converts named bytes to graphs, reports and drawings, and uses no files,
//! network or clock. `fairway-graph-files` reads directories into [`Files`].
//!
//! 1. [`GraphData::read`] reads graph-data. It fails closed: a missing or unreadable part makes a
//!    block wider, and is reported with its location.
//! 2. [`releases`] reads the updates that release images declare ([`ReleaseImage`]).
//! 3. [`build()`](build::build) combines both into the [`Graph`] that clusters get. Blocked edges
//!    are applied last, so no added edge bypasses a block.
//! 4. [`cincinnati`] serializes the graph, and reads graphs of other services.
//!
//! | module | content |
//! | --- | --- |
//! | [`files`] | named files, with limits on number and size |
//! | [`data`] | graph-data: channels, blocked edges, raw metadata |
//! | [`releases`] | updates that releases declare |
//! | [`build`] | construction of the graph: channels, added edges, cycles, blocked edges |
//! | [`graph`] | nodes by version, edges with all their risks, subgraphs |
//! | [`risk`] | risks of updates |
//! | [`problem`] | problems of releases and graphs, and their effect |
//! | [`cincinnati`] | JSON of the Cincinnati protocol: reader and writer |
//! | [`analysis`] | upgrade paths, differences, explanations |
//! | [`render`] | drawings: SVG, Graphviz and text |
//! | [`lint`] | linter for graph-data |

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
