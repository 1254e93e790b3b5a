//! Patterns in `from`: regular expressions over version and architecture.

use std::collections::HashMap;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

/// Bytes of a pattern. The longest one of OpenShift's graph-data has 150.
const MAX_PATTERN: usize = 4 << 10;

/// Memory of a compiled pattern, and of its DFA. The largest one of OpenShift's graph-data needs an
/// eighth of it.
const MAX_COMPILED: usize = 64 << 10;

/// Different patterns in one graph-data: ten times as many as OpenShift has. All of them together
/// need at most 128 MiB.
const MAX_PATTERNS: usize = 1024;

/// A regular expression over versions.
#[derive(Clone, Debug)]
pub struct VersionPattern {
    text: String,
    /// `None` if the text is invalid or `.*`: the pattern matches every version.
    regex: Option<Regex>,
}

impl VersionPattern {
    /// A pattern that matches every version.
    pub fn everything(text: impl Into<String>) -> Self {
        Self { text: text.into(), regex: None }
    }

    /// Compiles a pattern.
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

    /// Whether a version with its architecture, such as `5.1.0+amd64`, matches. Patterns are not
    /// anchored.
    pub fn matches(&self, version: &str) -> bool {
        self.regex.as_ref().is_none_or(|regex| regex.is_match(version))
    }

    /// Text of the pattern.
    pub fn text(&self) -> &str {
        &self.text
    }
}

// A syntax error is a drawing of several lines; its last line is the message.
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

/// Compiled patterns by text. Most files share their pattern, and compilation dominates the time of
/// a read.
#[derive(Default)]
pub(super) struct PatternCache(HashMap<String, Result<Arc<VersionPattern>, String>>);

impl PatternCache {
    pub(super) fn parse(&mut self, text: &str) -> Result<Arc<VersionPattern>, String> {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        if self.0.len() == MAX_PATTERNS {
            return Err(format!("more than {MAX_PATTERNS} different patterns"));
        }
        let parsed = VersionPattern::parse(text).map(Arc::new);
        self.0.insert(text.to_owned(), parsed.clone());
        parsed
    }
}
