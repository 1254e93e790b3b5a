//! Block scalars: `|` and `>`.

use super::cursor::ScalarText;
use super::{Scanner, TokenKind, YamlError};

/// Treatment of the line breaks at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

struct Header {
    chomping: Chomping,
    /// The indentation relative to the parent, where it is given.
    increment: Option<usize>,
}

impl Scanner<'_> {
    pub(super) fn fetch_block_scalar(&mut self) -> Result<(), YamlError> {
        self.remove_key()?;
        self.may_be_key = true;
        let mark = self.cursor.mark;
        let is_literal = self.cursor.byte(0) == b'|';
        self.cursor.skip(1);
        let Header { chomping, increment } = self.take_header()?;
        let mut breaks = String::new();
        // Without an indicator, the first line that is not empty sets the indentation.
        let indent = match increment {
            Some(increment) => {
                let indent = self.floor.saturating_sub(1) + increment;
                self.take_empty_lines(Some(indent), &mut breaks)?;
                indent
            }
            None => self.take_empty_lines(None, &mut breaks)?.max(self.floor).max(1),
        };
        let mut text = ScalarText::default();
        let mut line_break = "";
        let mut was_blank = false;
        while self.cursor.mark.column == indent && !self.cursor.is_end() {
            let is_blank = self.cursor.is_blank();
            let is_folded = !is_literal && !was_blank && !is_blank && line_break == "\n";
            if !is_folded {
                text.push(line_break);
            } else if breaks.is_empty() {
                text.push(" ");
            }
            text.push(&breaks);
            breaks.clear();
            was_blank = is_blank;
            text.push(self.cursor.take_line());
            line_break = self.cursor.take_break();
            self.take_empty_lines(Some(indent), &mut breaks)?;
        }
        if chomping != Chomping::Strip {
            text.push(line_break);
        }
        if chomping == Chomping::Keep {
            text.push(&breaks);
        }
        self.push(TokenKind::Scalar { text: text.finish(), is_plain: false }, mark);
        Ok(())
    }

    /// Takes the indicators behind `|` or `>`, in either order, and the rest of the line.
    fn take_header(&mut self) -> Result<Header, YamlError> {
        let mut header = Header { chomping: Chomping::Clip, increment: None };
        let is_chomping_first = self.take_chomping(&mut header);
        let digit = self.cursor.byte(0);
        if digit == b'0' {
            return self.fail("indentation indicator must not be 0");
        }
        if digit.is_ascii_digit() {
            header.increment = Some(usize::from(digit - b'0'));
            self.cursor.skip(1);
            if !is_chomping_first {
                self.take_chomping(&mut header);
            }
        }
        self.cursor.skip_blanks();
        if self.cursor.byte(0) == b'#' {
            self.cursor.skip_comment();
        }
        if !self.cursor.is_break() && !self.cursor.is_end() {
            return self.fail("expected a comment or a line break after a block scalar indicator");
        }
        self.cursor.take_break();
        Ok(header)
    }

    fn take_chomping(&mut self, header: &mut Header) -> bool {
        header.chomping = match self.cursor.byte(0) {
            b'+' => Chomping::Keep,
            b'-' => Chomping::Strip,
            _ => return false,
        };
        self.cursor.skip(1);
        true
    }

    /// Takes empty lines and the indentation of the next line. Returns the deepest column seen.
    fn take_empty_lines(
        &mut self,
        indent: Option<usize>,
        breaks: &mut String,
    ) -> Result<usize, YamlError> {
        let mut deepest = 0;
        loop {
            let is_inside = |column| indent.is_none_or(|indent| column < indent);
            while is_inside(self.cursor.mark.column) && self.cursor.byte(0) == b' ' {
                self.cursor.skip(1);
            }
            deepest = deepest.max(self.cursor.mark.column);
            if is_inside(self.cursor.mark.column) && self.cursor.byte(0) == b'\t' {
                return self.fail("tab used as indentation of a block scalar");
            }
            if !self.cursor.is_break() {
                return Ok(deepest);
            }
            breaks.push_str(self.cursor.take_break());
        }
    }
}
