//! Asking an update service: a client of the Cincinnati protocol.
//!
//! [`question`] is what there is to ask, [`route`] and [`fetch`] how it is asked, and [`answer`] what
//! the answer means. [`ask_once`] does all of it.

pub mod answer;
pub mod fetch;
mod once;
pub mod problem;
pub mod question;
pub mod release;
pub mod route;
mod text;

pub use once::{AskError, Told, ask_once};
