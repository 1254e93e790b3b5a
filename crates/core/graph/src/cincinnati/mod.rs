//! JSON of the Cincinnati protocol: lenient reader, strict writer.

mod read;
mod write;

pub use read::{GraphReadError, MAX_BYTES, read};
pub use write::GraphSerializer;
