//! Custom resources and what defines them.

mod content;
mod definitions;
mod rules;
mod serving;
