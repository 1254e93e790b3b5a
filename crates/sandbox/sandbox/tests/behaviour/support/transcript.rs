//! Several requests and what was answered, in one text.

use std::fmt::{self, Write as _};

use super::Answer;

/// Several requests and what was answered, in one text.
#[derive(Default)]
pub(crate) struct Transcript {
    text: String,
}

impl Transcript {
    /// Adds what was answered to what the label names.
    pub(crate) fn add(&mut self, label: impl fmt::Display, answer: &Answer) {
        self.line(label, answer.shown());
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, label: impl fmt::Display, text: impl fmt::Display) {
        // Writing into a text cannot fail.
        let _ = writeln!(self.text, "{label}: {text}");
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
