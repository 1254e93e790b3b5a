//! The Cincinnati protocol's JSON: lenient in what is read, strict in what is written.

mod face;
mod read;
mod write;

pub use read::{MAX_BYTES, WireError, read};
pub use write::View;
