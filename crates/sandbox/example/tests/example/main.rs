//! The example platform, as those see it who use it.

mod checks;
mod graph;
mod images;
mod operators;
mod releases;
