//! Quoted scalars.

use super::cursor::{Fold, ScalarText};
use super::{Scanner, TokenKind, YamlError};
use crate::oddity::OddityKind;
use crate::token::Mark;

impl<'a> Scanner<'a> {
    pub(super) fn fetch_quoted(&mut self) -> Result<(), YamlError> {
        self.save_key()?;
        self.may_be_key = false;
        let mark = self.cursor.mark;
        let quote = self.cursor.byte(0);
        self.cursor.skip(1);
        let mut text = ScalarText::default();
        let mut fold = Fold::default();
        let mut is_reported = false;
        loop {
            if self.cursor.is_document_mark() {
                return self.fail("document marker inside a quoted scalar");
            }
            if self.cursor.is_end() {
                return Err(Self::error("unterminated quoted scalar", mark));
            }
            let mut is_new_line = self.take_quoted_piece(quote, &mut text)?;
            if self.cursor.byte(0) == quote && !is_new_line {
                break;
            }
            let blanks = self.cursor.mark.at;
            while self.cursor.is_blank() || self.cursor.is_break() {
                if self.cursor.is_blank() {
                    self.cursor.skip(1);
                } else if is_new_line {
                    fold.push(self.cursor.take_break());
                } else {
                    fold.set_first(self.cursor.take_break());
                    is_new_line = true;
                }
            }
            if is_new_line {
                fold.flush(&mut text);
                is_reported |= self.check_indentation(quote, is_reported);
            } else {
                text.push_piece(self.cursor.text, blanks, self.cursor.mark.at);
            }
        }
        self.cursor.skip(1);
        self.push(TokenKind::Scalar { text: text.finish(), is_plain: false }, mark);
        Ok(())
    }

    /// Reports a continuation line that is not indented deeper than the collection it belongs to.
    fn check_indentation(&mut self, quote: u8, is_reported: bool) -> bool {
        let Mark { line, column, .. } = self.cursor.mark;
        let is_odd = !self.is_flow() && column < self.floor && self.cursor.byte(0) != quote;
        if is_odd && !is_reported {
            self.odd(line, OddityKind::QuotedIndentation);
        }
        is_odd
    }

    /// Takes text up to a space or the closing quote. Returns whether an escaped line break ends it.
    fn take_quoted_piece(
        &mut self,
        quote: u8,
        text: &mut ScalarText<'a>,
    ) -> Result<bool, YamlError> {
        loop {
            let start = self.cursor.mark.at;
            let length = self.quoted_length();
            self.cursor.take(length);
            text.push_piece(self.cursor.text, start, start + length);
            match self.cursor.byte(0) {
                b'\'' if quote == b'\'' && self.cursor.byte(1) == b'\'' => {
                    text.push_char('\'');
                    self.cursor.skip(2);
                }
                byte if byte == quote => return Ok(false),
                b'\\' if quote == b'"' && self.cursor.break_length(1) > 0 => {
                    self.cursor.skip(1);
                    self.cursor.take_break();
                    return Ok(true);
                }
                b'\\' if quote == b'"' => self.take_escape(text)?,
                byte @ (b'\'' | b'"' | b'\\') => {
                    text.push_char(char::from(byte));
                    self.cursor.skip(1);
                }
                _ => return Ok(false),
            }
        }
    }

    /// The length of text without quotes, backslashes, blanks and line breaks.
    fn quoted_length(&self) -> usize {
        let bytes = self.cursor.rest().as_bytes();
        let mut length = 0;
        while let Some(byte) = bytes.get(length) {
            match byte {
                b'\'' | b'"' | b'\\' | b' ' | b'\t' | b'\n' | b'\r' => break,
                0xC2 | 0xE2 if self.cursor.break_length(length) > 0 => break,
                _ => length += 1,
            }
        }
        length
    }

    fn take_escape(&mut self, text: &mut ScalarText<'a>) -> Result<(), YamlError> {
        let digits = match self.cursor.byte(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            byte => {
                let Some(character) = escaped(byte) else {
                    return self.fail("unknown escape sequence");
                };
                text.push_char(character);
                self.cursor.skip(2);
                return Ok(());
            }
        };
        self.cursor.skip(2);
        let hexadecimal = self.cursor.rest().get(..digits);
        let is_digits = |digits: &&str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let Some(hexadecimal) = hexadecimal.filter(is_digits) else {
            return self.fail("expected hexadecimal digits in an escape sequence");
        };
        let code = u32::from_str_radix(hexadecimal, 16).ok().and_then(char::from_u32);
        let Some(character) = code else {
            return self.fail("escape sequence is not a Unicode character");
        };
        text.push_char(character);
        self.cursor.skip(digits);
        Ok(())
    }
}

fn escaped(byte: u8) -> Option<char> {
    Some(match byte {
        b'0' => '\0',
        b'a' => '\u{7}',
        b'b' => '\u{8}',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\u{B}',
        b'f' => '\u{C}',
        b'r' => '\r',
        b'e' => '\u{1B}',
        b' ' => ' ',
        b'"' => '"',
        b'\'' => '\'',
        b'\\' => '\\',
        b'N' => '\u{85}',
        b'_' => '\u{A0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}
