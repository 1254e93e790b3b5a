//! The scanner: text to tokens.
//!
//! It accepts exactly the language of libyaml's scanner (YAML 1.1), with the differences of its Go
//! translation. Tokens are scanned as late as possible: errors behind the end of a document are
//! never found, as in libyaml.

mod block;
mod cursor;
mod property;
mod quoted;

use std::collections::VecDeque;

use self::cursor::{Cursor, Fold, ScalarText};
use crate::error::{YamlError, YamlProblem};
use crate::limits::MAX_DEPTH;
use crate::oddity::{Oddity, OddityKind};
use crate::token::{Mark, Token, TokenKind};

/// A key without `?` has to end on its line and within this many characters.
const MAX_SIMPLE_KEY: usize = 1024;

/// A node that becomes a key if a `:` follows.
#[derive(Clone, Copy, Debug, Default)]
struct SimpleKey {
    is_possible: bool,
    /// Whether tokens wait in the queue until this key is decided.
    holds_queue: bool,
    /// Whether only a key can begin at this column.
    is_required: bool,
    /// The number of its first token, counted from the beginning of the text.
    token: usize,
    mark: Mark,
}

#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    cursor: Cursor<'a>,
    queue: VecDeque<Token<'a>>,
    /// How many tokens were taken from the queue.
    taken: usize,
    /// Whether the first token of the queue is final.
    is_ready: bool,
    /// The smallest column of the values in the current block collection; zero outside of all.
    floor: usize,
    /// The floors of the collections around it.
    floors: Vec<usize>,
    /// One possible key for the block context, and one for each flow collection.
    keys: Vec<SimpleKey>,
    may_be_key: bool,
    is_over: bool,
    pub(crate) oddities: Vec<Oddity>,
    /// The line of the first tab between tokens.
    tab_line: Option<usize>,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            cursor: Cursor::new(text),
            queue: VecDeque::new(),
            taken: 0,
            is_ready: false,
            floor: 0,
            floors: Vec::new(),
            keys: vec![SimpleKey::default()],
            may_be_key: true,
            is_over: false,
            oddities: Vec::new(),
            tab_line: None,
        }
    }

    /// The next token. It stays the next one until [`Self::next`] takes it.
    pub(crate) fn peek(&mut self) -> Result<&Token<'a>, YamlError> {
        if !self.is_ready {
            while self.queue.is_empty() || self.is_head_undecided()? {
                self.fetch()?;
            }
            self.is_ready = true;
        }
        Ok(&self.queue[0])
    }

    /// Takes the next token.
    pub(crate) fn next(&mut self) -> Result<Token<'a>, YamlError> {
        self.peek()?;
        self.is_ready = false;
        self.taken += 1;
        let end = Token { kind: TokenKind::StreamEnd, mark: self.cursor.mark };
        Ok(self.queue.pop_front().unwrap_or(end))
    }

    /// Whether all of the text was scanned.
    pub(crate) fn is_at_end(&self) -> bool {
        self.cursor.is_end()
    }

    pub(crate) fn error(problem: &'static str, mark: Mark) -> YamlError {
        YamlError {
            line: mark.line as u64 + 1,
            column: mark.column as u64 + 1,
            problem: YamlProblem::Syntax(problem),
        }
    }

    /// An error at the current position.
    pub(crate) fn end_error(&self, problem: &'static str) -> YamlError {
        Self::error(problem, self.cursor.mark)
    }

    fn fail<T>(&self, problem: &'static str) -> Result<T, YamlError> {
        Err(Self::error(problem, self.cursor.mark))
    }

    fn odd(&mut self, line: usize, kind: OddityKind) {
        self.oddities.push(Oddity { line: line as u64 + 1, kind });
    }

    fn is_flow(&self) -> bool {
        self.keys.len() > 1
    }

    fn push(&mut self, kind: TokenKind<'a>, mark: Mark) {
        self.queue.push_back(Token { kind, mark });
    }

    /// Inserts in front of a token, or at the end if that token was taken already.
    fn insert(&mut self, token: usize, kind: TokenKind<'a>, mark: Mark) {
        let position = token.checked_sub(self.taken).filter(|at| *at <= self.queue.len());
        self.queue.insert(position.unwrap_or(self.queue.len()), Token { kind, mark });
    }

    /// Adds a token of that many ASCII characters.
    fn push_indicator(&mut self, kind: TokenKind<'a>, length: usize) {
        self.push(kind, self.cursor.mark);
        self.cursor.skip(length);
    }

    /// Whether the first token of the queue may yet turn out to be the beginning of a key.
    fn is_head_undecided(&mut self) -> Result<bool, YamlError> {
        let taken = self.taken;
        if self.is_over {
            return Ok(false);
        }
        let holding = self.keys.iter().position(|key| key.holds_queue && key.token == taken);
        holding.map_or(Ok(false), |index| self.is_valid(index))
    }

    /// Whether a key is still possible: on the same line, and not too long.
    fn is_valid(&mut self, index: usize) -> Result<bool, YamlError> {
        let (key, now) = (self.keys[index], self.cursor.mark);
        if !key.is_possible {
            return Ok(false);
        }
        let is_too_long = || {
            let bytes = now.at - key.mark.at;
            bytes > MAX_SIMPLE_KEY && now.column - key.mark.column > MAX_SIMPLE_KEY
        };
        if key.mark.line < now.line || is_too_long() {
            if key.is_required {
                return Err(Self::error("expected ':' after a key", key.mark));
            }
            self.keys[index].is_possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    /// Records that a key may begin at this position.
    fn save_key(&mut self) -> Result<(), YamlError> {
        if !self.may_be_key {
            return Ok(());
        }
        self.remove_key()?;
        let mark = self.cursor.mark;
        let key = SimpleKey {
            is_possible: true,
            holds_queue: true,
            is_required: !self.is_flow() && self.floor == mark.column + 1,
            token: self.taken + self.queue.len(),
            mark,
        };
        if let Some(last) = self.keys.last_mut() {
            *last = key;
        }
        Ok(())
    }

    /// Gives up the possible key of this level.
    fn remove_key(&mut self) -> Result<(), YamlError> {
        let Some(key) = self.keys.last_mut().filter(|key| key.is_possible) else { return Ok(()) };
        if key.is_required {
            return Err(Self::error("expected ':' after a key", key.mark));
        }
        key.is_possible = false;
        key.holds_queue = false;
        Ok(())
    }

    /// Begins a block collection if the column is deeper than the current one.
    fn open_block(
        &mut self,
        column: usize,
        token: Option<usize>,
        kind: TokenKind<'a>,
        mark: Mark,
    ) -> Result<(), YamlError> {
        if self.is_flow() || self.floor > column {
            return Ok(());
        }
        if self.floors.len() >= MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.floors.push(self.floor);
        self.floor = column + 1;
        self.insert(token.unwrap_or(usize::MAX), kind, mark);
        Ok(())
    }

    fn too_deep(&self) -> YamlError {
        let Mark { line, column, .. } = self.cursor.mark;
        YamlError {
            line: line as u64 + 1,
            column: column as u64 + 1,
            problem: YamlProblem::TooDeep,
        }
    }

    /// Ends all block collections whose floor is beyond a limit.
    fn close_blocks(&mut self, limit: usize) {
        while !self.is_flow() && self.floor > limit {
            self.push(TokenKind::BlockEnd, self.cursor.mark);
            self.floor = self.floors.pop().unwrap_or_default();
        }
    }

    /// Scans the next token, which may insert others in front of it.
    fn fetch(&mut self) -> Result<(), YamlError> {
        self.skip_to_token();
        self.close_blocks(self.cursor.mark.column + 1);
        if self.cursor.is_end() {
            return self.fetch_end();
        }
        let first = self.cursor.byte(0);
        if self.cursor.mark.column == 0 && first == b'%' {
            self.leave_block()?;
            return self.fetch_directive();
        }
        if self.cursor.is_document_mark() {
            self.leave_block()?;
            let is_start = first == b'-';
            let kind = if is_start { TokenKind::DocumentStart } else { TokenKind::DocumentEnd };
            self.push_indicator(kind, 3);
            return Ok(());
        }
        let is_followed_by_space = self.cursor.is_space(1);
        let is_indicator = self.is_flow() || is_followed_by_space;
        match first {
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => {
                self.remove_key()?;
                self.may_be_key = true;
                self.push_indicator(TokenKind::FlowEntry, 1);
                Ok(())
            }
            b'-' if is_followed_by_space => self.fetch_block_entry(),
            b'?' if is_indicator => self.fetch_key(),
            b':' if is_indicator => self.fetch_value(),
            b'*' | b'&' => self.fetch_anchor(),
            b'!' => self.fetch_tag(),
            b'|' | b'>' if !self.is_flow() => self.fetch_block_scalar(),
            b'\'' | b'"' => self.fetch_quoted(),
            b'\t' => self.fail("tab used as indentation"),
            b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => {
                self.fail("this character cannot start a token")
            }
            _ => self.fetch_plain(),
        }
    }

    /// Skips spaces, comments and line breaks.
    fn skip_to_token(&mut self) {
        loop {
            // Tabs are no indentation: where a key may begin, they are not skipped.
            if self.is_flow() || !self.may_be_key {
                let blanks = self.cursor.take_while(|byte| matches!(byte, b' ' | b'\t'));
                if self.tab_line.is_none() && blanks.contains('\t') && self.cursor.byte(0) != b'#' {
                    self.tab_line = Some(self.cursor.mark.line);
                    self.odd(self.cursor.mark.line, OddityKind::Tab);
                }
            } else {
                self.cursor.take_while(|byte| byte == b' ');
            }
            if self.cursor.byte(0) == b'#' {
                self.cursor.skip_comment();
            }
            if !self.cursor.is_break() {
                return;
            }
            self.cursor.take_break();
            if !self.is_flow() {
                self.may_be_key = true;
            }
        }
    }

    /// Ends all block collections in front of a document mark, a directive or the end.
    fn leave_block(&mut self) -> Result<(), YamlError> {
        self.close_blocks(0);
        self.remove_key()?;
        self.may_be_key = false;
        Ok(())
    }

    fn fetch_end(&mut self) -> Result<(), YamlError> {
        self.leave_block()?;
        self.push(TokenKind::StreamEnd, self.cursor.mark);
        // No token follows that could decide a key.
        self.is_over = true;
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind<'a>) -> Result<(), YamlError> {
        self.save_key()?;
        if self.keys.len() > MAX_DEPTH {
            return Err(self.too_deep());
        }
        let token = self.taken + self.queue.len();
        self.keys.push(SimpleKey { token, mark: self.cursor.mark, ..SimpleKey::default() });
        self.may_be_key = true;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind<'a>) -> Result<(), YamlError> {
        self.remove_key()?;
        if self.is_flow()
            && let Some(inner) = self.keys.pop()
            && let Some(outer) = self.keys.last_mut()
            && outer.token == inner.token
        {
            // go-yaml forgets here that an empty collection may be a key: its tokens are released
            // before a `:` is seen. Such keys are refused anyway, but not behind a document's end.
            outer.holds_queue = false;
        }
        self.may_be_key = false;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), YamlError> {
        let mark = self.cursor.mark;
        if !self.is_flow() {
            if !self.may_be_key {
                return self.fail("block sequence entries are not allowed here");
            }
            self.open_block(mark.column, None, TokenKind::BlockSequenceStart, mark)?;
        }
        self.remove_key()?;
        self.may_be_key = true;
        self.push_indicator(TokenKind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), YamlError> {
        let mark = self.cursor.mark;
        if !self.is_flow() {
            if !self.may_be_key {
                return self.fail("mapping keys are not allowed here");
            }
            self.open_block(mark.column, None, TokenKind::BlockMappingStart, mark)?;
        }
        self.remove_key()?;
        self.may_be_key = !self.is_flow();
        self.push_indicator(TokenKind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), YamlError> {
        let last = self.keys.len() - 1;
        if self.is_valid(last)? {
            let SimpleKey { token, mark, .. } = self.keys[last];
            self.insert(token, TokenKind::Key, mark);
            self.open_block(mark.column, Some(token), TokenKind::BlockMappingStart, mark)?;
            self.keys[last].is_possible = false;
            self.keys[last].holds_queue = false;
            self.may_be_key = false;
        } else {
            let mark = self.cursor.mark;
            if !self.is_flow() {
                if !self.may_be_key {
                    return self.fail("mapping values are not allowed here");
                }
                self.open_block(mark.column, None, TokenKind::BlockMappingStart, mark)?;
            }
            self.may_be_key = !self.is_flow();
        }
        self.push_indicator(TokenKind::Value, 1);
        Ok(())
    }

    fn fetch_plain(&mut self) -> Result<(), YamlError> {
        self.save_key()?;
        self.may_be_key = false;
        let mark = self.cursor.mark;
        let mut text = ScalarText::default();
        let mut fold = Fold::default();
        let mut is_new_line = false;
        // Where blanks in front of the next piece begin.
        let mut blanks = mark.at;
        while !self.cursor.is_document_mark() && self.cursor.byte(0) != b'#' {
            let length = self.plain_length();
            if length > 0 {
                let start = if is_new_line { self.cursor.mark.at } else { blanks };
                if is_new_line {
                    fold.flush(&mut text);
                    is_new_line = false;
                }
                self.cursor.take(length);
                text.push_piece(self.cursor.text, start, self.cursor.mark.at);
            }
            if !(self.cursor.is_blank() || self.cursor.is_break()) {
                break;
            }
            blanks = self.cursor.mark.at;
            is_new_line = self.skip_plain_space(is_new_line, &mut fold)?;
            if !self.is_flow() && self.cursor.mark.column < self.floor {
                break;
            }
        }
        self.push(TokenKind::Scalar { text: text.finish(), is_plain: true }, mark);
        if is_new_line {
            self.may_be_key = true;
        }
        Ok(())
    }

    /// The length of the next piece of a plain scalar, up to a space or an indicator.
    fn plain_length(&self) -> usize {
        let is_flow = self.is_flow();
        let bytes = self.cursor.rest().as_bytes();
        let mut length = 0;
        while let Some(byte) = bytes.get(length) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => break,
                b':' if self.cursor.is_space(length + 1) => break,
                b',' | b'?' | b'[' | b']' | b'{' | b'}' if is_flow => break,
                0xC2 | 0xE2 if self.cursor.break_length(length) > 0 => break,
                _ => length += 1,
            }
        }
        length
    }

    /// Skips blanks and line breaks inside a plain scalar. Returns whether a line was begun.
    fn skip_plain_space(
        &mut self,
        mut is_new_line: bool,
        fold: &mut Fold,
    ) -> Result<bool, YamlError> {
        loop {
            if self.cursor.is_blank() {
                let is_tab = self.cursor.byte(0) == b'\t';
                if is_new_line && is_tab && self.cursor.mark.column < self.floor {
                    return self.fail("tab used as indentation");
                }
                self.cursor.skip(1);
            } else if !self.cursor.is_break() {
                return Ok(is_new_line);
            } else if is_new_line {
                fold.push(self.cursor.take_break());
            } else {
                fold.set_first(self.cursor.take_break());
                is_new_line = true;
            }
        }
    }
}
