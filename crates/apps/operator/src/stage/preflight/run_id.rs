//! What tells one run from another.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};

/// Digits of a run id: 128 bits, so that no directory can be guessed by those who may not see it.
const DIGITS: usize = 32;

/// The identity of a run: 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunId(String);

impl RunId {
    /// One that nobody ever had.
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0; DIGITS / 2];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(hex::encode(bytes)))
    }

    /// What somebody says is one. It becomes the name of a directory, so nothing else goes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_id = text.len() == DIGITS && text.bytes().all(is_digit);
        is_id.then(|| Self(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_can_be_read_again() {
        let (one, other) = (RunId::random().unwrap(), RunId::random().unwrap());
        assert_ne!(one, other);
        assert_eq!(RunId::parse(one.as_str()), Some(one));
    }

    #[test]
    fn nothing_else_is_an_id() {
        let long = "0".repeat(33);
        for text in ["", "..", "0123", "../../../../../../../etc/passwd", &long] {
            assert_eq!(RunId::parse(text), None, "{text}");
        }
        assert_eq!(RunId::parse("0123456789ABCDEF0123456789ABCDEF"), None);
    }
}
