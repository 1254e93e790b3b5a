//! The target release's side of a preflight: it looks at a cluster, and says what it would stumble
//! over there, without changing anything.
//!
//! [`check`] is what a built-in check is, `checks` has each of them in a file; [`cluster`] is what
//! they see, and [`target`] the release on whose behalf they look. [`engine`] decides when which
//! check runs, and knows what all of them say.

pub mod check;
pub mod checks;
pub mod cluster;
pub mod engine;
pub mod settings;
pub mod target;
#[cfg(test)]
mod testing;
