//! The example platform, as those see it who use it.

mod graph;
mod images;
mod releases;
