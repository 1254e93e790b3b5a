//! A position that moves through the text, and the classes of characters.

use std::borrow::Cow;

use crate::token::Mark;

/// A byte that valid text never contains: it stands for the end of the text.
pub(crate) const END: u8 = 0;

#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    pub(crate) text: &'a str,
    pub(crate) mark: Mark,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, mark: Mark::default() }
    }

    /// The byte that many bytes ahead.
    pub(crate) fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.mark.at + ahead).copied().unwrap_or(END)
    }

    pub(crate) fn is_end(&self) -> bool {
        self.mark.at >= self.text.len()
    }

    /// The length of the line break `ahead` bytes after the position; zero for anything else. Apart
    /// from `\n` and `\r`, YAML 1.1 has NEL, LS and PS.
    pub(crate) fn break_length(&self, ahead: usize) -> usize {
        match self.byte(ahead) {
            b'\n' => 1,
            b'\r' => 1 + usize::from(self.byte(ahead + 1) == b'\n'),
            0xC2 if self.byte(ahead + 1) == 0x85 => 2,
            0xE2 if self.byte(ahead + 1) == 0x80 && matches!(self.byte(ahead + 2), 0xA8 | 0xA9) => {
                3
            }
            _ => 0,
        }
    }

    pub(crate) fn is_break(&self) -> bool {
        self.break_length(0) > 0
    }

    pub(crate) fn is_blank(&self) -> bool {
        matches!(self.byte(0), b' ' | b'\t')
    }

    /// Whether a blank, a line break or the end is `ahead` bytes after the position.
    pub(crate) fn is_space(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t' | END) || self.break_length(ahead) > 0
    }

    /// Whether a line begins here that starts or ends a document.
    pub(crate) fn is_document_mark(&self) -> bool {
        self.mark.column == 0
            && matches!(self.rest().as_bytes(), [b'-', b'-', b'-', ..] | [b'.', b'.', b'.', ..])
            && self.is_space(3)
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.mark.at..]
    }

    /// Moves over ASCII characters without a line break.
    pub(crate) fn skip(&mut self, count: usize) {
        self.mark.at += count;
        self.mark.column += count;
    }

    /// Moves over text without a line break and returns it.
    pub(crate) fn take(&mut self, length: usize) -> &'a str {
        let text = &self.text[self.mark.at..self.mark.at + length];
        self.mark.at += length;
        // Continuation bytes are no characters of their own.
        self.mark.column += text.bytes().filter(|byte| byte & 0xC0 != 0x80).count();
        text
    }

    /// Moves over characters as long as they are of a class of ASCII characters.
    pub(crate) fn take_while(&mut self, is_part: fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        self.skip(length);
        &rest[..length]
    }

    pub(crate) fn skip_blanks(&mut self) {
        self.take_while(|byte| matches!(byte, b' ' | b'\t'));
    }

    /// Moves to the end of the line.
    pub(crate) fn skip_comment(&mut self) {
        self.take_line();
    }

    /// Moves to the end of the line and returns the text up to there.
    pub(crate) fn take_line(&mut self) -> &'a str {
        let mut length = 0;
        let bytes = self.rest().as_bytes();
        loop {
            let is_plain = |byte: &u8| !matches!(byte, b'\n' | b'\r' | 0xC2 | 0xE2);
            length += bytes[length..].iter().take_while(|byte| is_plain(byte)).count();
            if length >= bytes.len() || self.break_length(length) > 0 {
                return self.take(length);
            }
            length += 1;
        }
    }

    /// Moves over a line break, if there is one, and returns what it contributes to a scalar.
    pub(crate) fn take_break(&mut self) -> &'static str {
        let length = self.break_length(0);
        if length == 0 {
            return "";
        }
        let kept = match (self.byte(0), self.byte(2)) {
            (0xE2, 0xA8) => "\u{2028}",
            (0xE2, _) => "\u{2029}",
            _ => "\n",
        };
        self.mark = Mark { at: self.mark.at + length, line: self.mark.line + 1, column: 0 };
        kept
    }
}

/// Letters of anchors, directives and tag handles.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The text of a scalar: borrowed as long as it is one piece of the input.
#[derive(Debug, Default)]
pub(crate) struct ScalarText<'a> {
    text: Cow<'a, str>,
    /// The offset behind the borrowed text.
    end: usize,
}

impl<'a> ScalarText<'a> {
    /// Adds a piece of the input, which ends at that offset.
    pub(crate) fn push_piece(&mut self, input: &'a str, start: usize, end: usize) {
        match &mut self.text {
            Cow::Borrowed("") => self.text = Cow::Borrowed(&input[start..end]),
            Cow::Borrowed(text) if self.end == start => {
                let begin = start - text.len();
                self.text = Cow::Borrowed(&input[begin..end]);
            }
            other => other.to_mut().push_str(&input[start..end]),
        }
        self.end = end;
    }

    /// Adds text that the input does not contain in this place.
    pub(crate) fn push(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.to_mut().push_str(text);
        }
    }

    pub(crate) fn push_char(&mut self, character: char) {
        self.text.to_mut().push(character);
    }

    pub(crate) fn finish(self) -> Cow<'a, str> {
        self.text
    }
}

/// The line breaks in front of the next line of a folded scalar.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    first: &'static str,
    others: String,
}

impl Fold {
    pub(crate) fn set_first(&mut self, text: &'static str) {
        self.first = text;
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.others.push_str(text);
    }

    /// Adds the folded line breaks: a single one becomes a space; of several, all but the first
    /// remain.
    pub(crate) fn flush(&mut self, text: &mut ScalarText<'_>) {
        if self.first == "\n" {
            text.push(if self.others.is_empty() { " " } else { &self.others });
        } else {
            text.push(self.first);
            text.push(&self.others);
        }
        self.first = "";
        self.others.clear();
    }
}
