//! The words and symbols of a label selector.

/// A word or symbol, and where it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) position: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    End,
    Comma,
    Not,
    Equals,
    NotEquals,
    Greater,
    Less,
    In,
    NotIn,
    Open,
    Close,
    Word,
}

impl Token<'_> {
    /// `in` and `notin` are words like any other where no operator can stand.
    pub(super) fn is_word(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::In | Kind::NotIn)
    }

    pub(super) fn ends_requirement(&self) -> bool {
        matches!(self.kind, Kind::End | Kind::Comma)
    }
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        self.skip(is_white_space);
        let begin = self.position;
        let kind = if let Some((kind, length)) = symbol(&self.text[begin..]) {
            self.position += length;
            kind
        } else {
            self.skip(|byte| !ends_word(byte));
            keyword(&self.text[begin..self.position])
        };
        let text = &self.text[begin..self.position];
        if kind != Kind::End && self.byte() == Some(0) {
            // The API server's lexer takes NUL for the end of the text, but not after a token,
            // which it only separates.
            self.position += 1;
        }
        Token { kind, text, position: begin }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    fn skip(&mut self, while_it: impl Fn(u8) -> bool) {
        while self.byte().is_some_and(&while_it) {
            self.position += 1;
        }
    }
}

fn keyword(word: &str) -> Kind {
    match word {
        "in" => Kind::In,
        "notin" => Kind::NotIn,
        _ => Kind::Word,
    }
}

fn symbol(rest: &str) -> Option<(Kind, usize)> {
    Some(match rest.as_bytes() {
        [] | [0, ..] => (Kind::End, 0),
        [b'!', b'=', ..] => (Kind::NotEquals, 2),
        [b'=', b'=', ..] => (Kind::Equals, 2),
        [b'!', ..] => (Kind::Not, 1),
        [b'=', ..] => (Kind::Equals, 1),
        [b'>', ..] => (Kind::Greater, 1),
        [b'<', ..] => (Kind::Less, 1),
        [b'(', ..] => (Kind::Open, 1),
        [b')', ..] => (Kind::Close, 1),
        [b',', ..] => (Kind::Comma, 1),
        _ => return None,
    })
}

fn is_white_space(byte: u8) -> bool {
    b" \t\r\n".contains(&byte)
}

fn ends_word(byte: u8) -> bool {
    is_white_space(byte) || b"=!(),><\0".contains(&byte)
}
