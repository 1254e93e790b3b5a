//! Which versions a block concerns: a regular expression over version and architecture.

use std::collections::HashMap;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

/// Bytes of a pattern. The longest real one has 150.
const MAX_PATTERN: usize = 4 << 10;

/// Memory of a compiled pattern, and as much again to match with it. The largest real one takes an
/// eighth of it.
const MAX_COMPILED: usize = 64 << 10;

/// Different patterns in one set: ten times as many as the real graph-data has. All of them together
/// hold 128 MiB at most.
const MAX_PATTERNS: usize = 1024;

/// The versions that a block concerns.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    /// Nothing where the text is unreadable or is `.*`: then every version is concerned.
    regex: Option<Regex>,
}

impl Pattern {
    /// Every version, whatever the text says.
    pub fn everything(text: impl Into<String>) -> Self {
        Self { text: text.into(), regex: None }
    }

    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == ".*" {
            return Ok(Self::everything(text));
        }
        if text.len() > MAX_PATTERN {
            return Err(format!("{} bytes exceed the limit of {MAX_PATTERN} bytes", text.len()));
        }
        let regex = RegexBuilder::new(text)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .build()
            .map_err(|error| summary(&error))?;
        Ok(Self { text: text.to_owned(), regex: Some(regex) })
    }

    /// Whether it concerns a version, which is written with its architecture, as in `5.1.0+amd64`.
    /// A part of the version is enough, unless the pattern says otherwise.
    pub fn matches(&self, version: &str) -> bool {
        self.regex.as_ref().is_none_or(|regex| regex.is_match(version))
    }

    /// What was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

// The parser draws a picture of several lines; its last line says what is wrong.
fn summary(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "the compiled pattern is too large".to_owned(),
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
    }
}

/// Patterns by text: most blocks share theirs with others, and compiling takes most of the time.
#[derive(Default)]
pub(super) struct Patterns(HashMap<String, Result<Arc<Pattern>, String>>);

impl Patterns {
    pub(super) fn parse(&mut self, text: &str) -> Result<Arc<Pattern>, String> {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        if self.0.len() == MAX_PATTERNS {
            return Err(format!("more than {MAX_PATTERNS} different patterns"));
        }
        let parsed = Pattern::parse(text).map(Arc::new);
        self.0.insert(text.to_owned(), parsed.clone());
        parsed
    }
}
