//! Tests of the example platform through its public API.

mod checks;
mod graph;
mod images;
mod operators;
mod releases;
