//! The update graph: which release leads to which, for whom, and why not.
//!
//! This crate is pure: bytes with names go in, graphs, answers and pictures come out. It reads
//! no files, no network and no clock; `fairway-graph-files` reads directories.
//!
//! * [`data`] reads what the maintainers of graph-data say. It fails closed.
//! * [`releases`] reads what releases declare about themselves.
//! * [`build`] makes the [`Graph`] that clusters get from both.
//! * [`lint`] finds mistakes in graph-data before clusters do.
//! * [`wire`] reads and writes the Cincinnati protocol's JSON.
//! * [`question`] has answers for people, [`picture`] shows them what there is.

pub mod build;
pub mod data;
pub mod files;
pub mod graph;
pub mod lint;
pub mod picture;
pub mod problem;
pub mod question;
pub mod releases;
pub mod risk;
pub mod wire;

pub use data::GraphData;
pub use files::Files;
pub use graph::{Edge, Graph, Node, NodeId, Scope};
pub use problem::Problem;
pub use releases::ReleaseImage;
pub use risk::Risk;
