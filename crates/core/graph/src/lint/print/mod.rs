//! Showing what was found.

mod json;
mod sarif;
mod text;

pub use json::{Document, json};
pub use sarif::sarif;
pub use text::{Style, text};

use crate::data::Severity;

/// What machines call a severity: an error stays one, whichever side it fails to.
fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error | Severity::Open => "error",
    }
}
