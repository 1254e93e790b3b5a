//! What the crate promises as a whole.

mod payload;
mod support;
