//! Positions of keys.

use std::fmt::Write as _;

/// A key of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLine {
    /// Its path, such as `spec.tags[0].name`.
    pub path: String,
    /// Its line, counted from one.
    pub line: u64,
}

/// The path of the current position, and the keys in front of it.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    path: String,
    /// The lengths of the paths around the current one.
    lengths: Vec<usize>,
    pub(crate) keys: Vec<KeyLine>,
    /// Bytes of the paths in `keys`.
    size: usize,
}

/// Maximum bytes of all recorded paths; keys after that have no line number. Without the limit, a
/// long key with many short children would take memory quadratic in the document size.
const MAX_SIZE: usize = 1 << 20;

impl Paths {
    pub(crate) fn enter_key(&mut self, key: &str, line: u64) {
        self.lengths.push(self.path.len());
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(key);
        self.size = self.size.saturating_add(self.path.len());
        if self.size <= MAX_SIZE {
            self.keys.push(KeyLine { path: self.path.clone(), line });
        }
    }

    pub(crate) fn enter_item(&mut self, index: usize) {
        self.lengths.push(self.path.len());
        let _ = write!(self.path, "[{index}]");
    }

    pub(crate) fn leave(&mut self) {
        self.path.truncate(self.lengths.pop().unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_key_below_a_long_key_records_a_bounded_size() {
        let mut paths = Paths::default();
        paths.enter_key(&"a".repeat(MAX_SIZE / 4), 1);
        for line in 0..10_000 {
            paths.enter_key("b", line);
            paths.leave();
        }
        assert_eq!(paths.keys.len(), 3);
    }
}
