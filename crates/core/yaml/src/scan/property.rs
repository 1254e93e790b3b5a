//! Anchors, aliases, tags and directives.

use std::borrow::Cow;

use super::cursor::is_word;
use super::{Scanner, TokenKind, YamlError};

impl<'a> Scanner<'a> {
    pub(super) fn fetch_anchor(&mut self) -> Result<(), YamlError> {
        self.save_key()?;
        self.may_be_key = false;
        let mark = self.cursor.mark;
        let is_alias = self.cursor.byte(0) == b'*';
        self.cursor.skip(1);
        let name = self.cursor.take_while(is_word);
        let is_end = self.cursor.is_space(0)
            || matches!(self.cursor.byte(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !is_end {
            return self.fail("expected letters or digits in the name of an anchor");
        }
        self.push(if is_alias { TokenKind::Alias(name) } else { TokenKind::Anchor(name) }, mark);
        Ok(())
    }

    pub(super) fn fetch_tag(&mut self) -> Result<(), YamlError> {
        self.save_key()?;
        self.may_be_key = false;
        let mark = self.cursor.mark;
        let (handle, suffix) = if self.cursor.byte(1) == b'<' {
            self.cursor.skip(2);
            let tag = self.take_uri("")?;
            if self.cursor.byte(0) != b'>' {
                return self.fail("expected '>' at the end of a tag");
            }
            self.cursor.skip(1);
            ("", tag)
        } else {
            let handle = self.take_handle()?;
            if handle.len() > 1 && handle.ends_with('!') {
                (handle, self.take_uri("")?)
            } else {
                let suffix = self.take_uri(handle)?;
                // A lone `!` is a tag of its own.
                if suffix.is_empty() { ("", Cow::Borrowed("!")) } else { ("!", suffix) }
            }
        };
        if !self.cursor.is_space(0) {
            return self.fail("expected a space after a tag");
        }
        self.push(TokenKind::Tag { handle, suffix }, mark);
        Ok(())
    }

    /// Takes `!`, `!!`, or `!name!`; a name without an end is returned as well.
    fn take_handle(&mut self) -> Result<&'a str, YamlError> {
        let rest = self.cursor.rest();
        if self.cursor.byte(0) != b'!' {
            return self.fail("expected '!' at the beginning of a tag");
        }
        self.cursor.skip(1);
        let mut length = 1 + self.cursor.take_while(is_word).len();
        if self.cursor.byte(0) == b'!' {
            self.cursor.skip(1);
            length += 1;
        }
        Ok(&rest[..length])
    }

    /// Takes a tag or its suffix, behind the part of it that was taken for a handle.
    fn take_uri(&mut self, head: &'a str) -> Result<Cow<'a, str>, YamlError> {
        let mut uri = head.get(1..).unwrap_or_default().as_bytes().to_vec();
        let mut is_found = !head.is_empty();
        loop {
            let piece = self.cursor.take_while(is_uri);
            uri.extend_from_slice(piece.as_bytes());
            is_found |= !piece.is_empty();
            if self.cursor.byte(0) != b'%' {
                break;
            }
            self.take_escaped_character(&mut uri)?;
            is_found = true;
        }
        if !is_found {
            return self.fail("expected a tag");
        }
        Ok(Cow::Owned(String::from_utf8_lossy(&uri).into_owned()))
    }

    fn take_escaped_character(&mut self, uri: &mut Vec<u8>) -> Result<(), YamlError> {
        let mut missing = None;
        while missing != Some(0) {
            let digits = self.cursor.rest().strip_prefix('%').and_then(|rest| rest.get(..2));
            let is_digits = |digits: &&str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let octet = digits.filter(is_digits).and_then(|hex| u8::from_str_radix(hex, 16).ok());
            let Some(octet) = octet else { return self.fail("expected an escaped octet in a tag") };
            missing = match (missing, octet.leading_ones()) {
                (None, 0) => Some(0),
                (None, ones @ 2..=4) => Some(ones - 1),
                (Some(count), 1) => Some(count - 1),
                _ => return self.fail("escaped octets in a tag are not UTF-8"),
            };
            uri.push(octet);
            self.cursor.skip(3);
        }
        Ok(())
    }

    pub(super) fn fetch_directive(&mut self) -> Result<(), YamlError> {
        let mark = self.cursor.mark;
        self.cursor.skip(1);
        let name = self.cursor.take_while(is_word);
        if !self.cursor.is_space(0) {
            return self.fail("unexpected character in the name of a directive");
        }
        let kind = match name {
            "YAML" => self.take_version()?,
            "TAG" => self.take_tag_directive()?,
            _ => return self.fail("unknown directive"),
        };
        self.cursor.skip_blanks();
        if self.cursor.byte(0) == b'#' {
            self.cursor.skip_comment();
        }
        if !self.cursor.is_break() && !self.cursor.is_end() {
            return self.fail("expected a comment or a line break after a directive");
        }
        self.cursor.take_break();
        self.push(kind, mark);
        Ok(())
    }

    fn take_version(&mut self) -> Result<TokenKind<'a>, YamlError> {
        self.cursor.skip_blanks();
        let major = self.take_version_number()?;
        if self.cursor.byte(0) != b'.' {
            return self.fail("expected '.' in a version");
        }
        self.cursor.skip(1);
        let minor = self.take_version_number()?;
        Ok(TokenKind::VersionDirective { is_1_1: major == 1 && minor == 1 })
    }

    fn take_version_number(&mut self) -> Result<u8, YamlError> {
        let digits = self.cursor.take_while(|byte| byte.is_ascii_digit());
        match digits.parse() {
            Ok(number) if digits.len() <= 2 => Ok(number),
            _ => self.fail("expected a number of one or two digits in a version"),
        }
    }

    fn take_tag_directive(&mut self) -> Result<TokenKind<'a>, YamlError> {
        self.cursor.skip_blanks();
        let handle = self.take_handle()?;
        if handle != "!" && !handle.ends_with('!') {
            return self.fail("expected '!' at the end of a tag handle");
        }
        if !self.cursor.is_blank() {
            return self.fail("expected a space after a tag handle");
        }
        self.cursor.skip_blanks();
        let prefix = self.take_uri("")?;
        if !self.cursor.is_space(0) {
            return self.fail("expected a space after a tag prefix");
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }
}

/// Characters of a tag, apart from escapes.
fn is_uri(byte: u8) -> bool {
    is_word(byte) || b";/?:@&=+$,.!~*'()[]".contains(&byte)
}
