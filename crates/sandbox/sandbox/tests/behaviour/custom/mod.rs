//! CRDs and custom resources.

mod content;
mod definitions;
mod rules;
mod serving;
