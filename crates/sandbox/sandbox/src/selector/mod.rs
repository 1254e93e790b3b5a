//! Label and field selectors, with the errors of the API server.

mod field;
mod label;
mod parser;
pub mod validate;

#[cfg(test)]
mod tests;

pub use field::{Field, FieldSelector, FieldSelectorError};
pub use label::{LabelSelector, LabelSelectorError, RequirementError};

/// Maximum length of a selector, far more than real ones have.
pub const MAX_LENGTH: usize = 64 * 1024;

/// Maximum number of requirements, since every object of a list is compared with all of them.
pub const MAX_REQUIREMENTS: usize = 1000;
