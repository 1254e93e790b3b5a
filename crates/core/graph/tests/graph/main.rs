//! What the crate promises as a whole.

mod blocks;
mod lint;
mod pictures;
mod platform;
mod primary;
mod properties;
mod questions;
mod refusals;
mod story;
mod support;
mod vectors;
mod wire;
