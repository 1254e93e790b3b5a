//! Decoding without a Go toolchain: expected values, texts, limits and hostile input.

mod files;
mod hostile;
mod table;
mod texts;
