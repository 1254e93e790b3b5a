//! What the crate promises as a whole.

mod support;
mod vectors;
