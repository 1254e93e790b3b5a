//! What the crate promises as a whole: one binary, because each costs a link.

mod releases;
mod signatures;
