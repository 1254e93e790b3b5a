//! What the crate promises as a whole.

mod inclusion;
mod payload;
mod support;
