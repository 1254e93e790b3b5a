//! A lexer for Rust sources: enough to distinguish code, comments and literals.

/// A part of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lexeme<'a> {
    pub(crate) kind: LexemeKind,
    /// With the delimiters of a comment or a literal.
    pub(crate) text: &'a str,
    /// The line on which it starts, counted from 1.
    pub(crate) line: usize,
    /// The position of its first byte.
    pub(crate) at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LexemeKind {
    /// A comment or a doc comment.
    Comment,
    /// A string literal of any kind.
    String,
    /// A character literal, a byte or a lifetime.
    Character,
    /// An identifier or a number, `::`, or a single other character.
    Token,
}

/// The parts of a source in order, without white space.
pub(crate) fn lexemes(source: &str) -> impl Iterator<Item = Lexeme<'_>> {
    let (mut at, mut line) = (0, 1);
    std::iter::from_fn(move || {
        loop {
            let rest = &source[at..];
            let first = rest.chars().next()?;
            let (kind, length) = measure(rest, first);
            let lexeme = kind.map(|kind| Lexeme { kind, text: &rest[..length], line, at });
            line += rest[..length].matches('\n').count();
            at += length;
            if lexeme.is_some() {
                return lexeme;
            }
        }
    })
}

/// Kind and length of the first lexeme of a text. White space and the `r#` of a raw identifier have no
/// kind.
fn measure(text: &str, first: char) -> (Option<LexemeKind>, usize) {
    let word = text.find(|letter| !is_word(letter)).unwrap_or(text.len());
    if text.starts_with("//") {
        (Some(LexemeKind::Comment), text.find('\n').unwrap_or(text.len()))
    } else if text.starts_with("/*") {
        (Some(LexemeKind::Comment), block_comment(text))
    } else if first == '"' {
        (Some(LexemeKind::String), string(text))
    } else if first == '\'' {
        (Some(LexemeKind::Character), character_or_lifetime(text, is_word))
    } else if let Some(length) = prefixed_literal(text, &text[..word]) {
        let is_byte = text[word..].starts_with('\'');
        (Some(if is_byte { LexemeKind::Character } else { LexemeKind::String }), length)
    } else if text.starts_with("r#") {
        (None, 2)
    } else if word > 0 {
        (Some(LexemeKind::Token), word)
    } else if text.starts_with("::") {
        (Some(LexemeKind::Token), 2)
    } else {
        ((!first.is_whitespace()).then_some(LexemeKind::Token), first.len_utf8())
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The length of a block comment, which may be nested.
fn block_comment(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// The length of a string with escapes.
fn string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn character_or_lifetime(text: &str, is_word: impl Fn(char) -> bool) -> usize {
    let inner = &text[1..];
    if let Some(escape) = inner.strip_prefix('\\') {
        // The character behind the backslash may be a quote.
        let behind = escape.chars().next().map_or(0, char::len_utf8);
        return escape[behind..].find('\'').map_or(text.len(), |at| 2 + behind + at + 1);
    }
    let first = inner.chars().next().map_or(0, char::len_utf8);
    if inner[first..].starts_with('\'') {
        return 1 + first + 1;
    }
    1 + inner.find(|letter| !is_word(letter)).unwrap_or(inner.len())
}

/// The length of a literal that begins with letters: raw strings, byte strings, C strings, bytes.
fn prefixed_literal(text: &str, word: &str) -> Option<usize> {
    let behind = &text[word.len()..];
    match word {
        "r" | "br" | "cr" => {
            let hashes = behind.len() - behind.trim_start_matches('#').len();
            let content = behind[hashes..].strip_prefix('"')?;
            let end = format!("\"{}", "#".repeat(hashes));
            let open = word.len() + hashes + 1;
            Some(content.find(&end).map_or(text.len(), |at| open + at + end.len()))
        }
        "b" | "c" if behind.starts_with('"') => Some(1 + string(behind)),
        "b" if behind.starts_with('\'') => Some(1 + character_or_lifetime(behind, |_| false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<(LexemeKind, &str, usize)> {
        lexemes(source).map(|it| (it.kind, it.text, it.line)).collect()
    }

    #[test]
    fn lexemes_distinguish_comments_literals_and_code() {
        use LexemeKind::{Character, Comment, String, Token};
        let source =
            "a \"b \\\" // c\" // d\nr#\"e\"f\n\"# 'g' '\\'' /* h /* i */ */ b\"j\" r#k ::";
        let expected = [
            (Token, "a", 1),
            (String, "\"b \\\" // c\"", 1),
            (Comment, "// d", 1),
            (String, "r#\"e\"f\n\"#", 2),
            (Character, "'g'", 3),
            (Character, "'\\''", 3),
            (Comment, "/* h /* i */ */", 3),
            (String, "b\"j\"", 3),
            (Token, "k", 3),
            (Token, "::", 3),
        ];
        assert_eq!(found(source), expected);
    }

    #[test]
    fn unterminated_literal_reaches_the_end() {
        for source in ["\"a", "r#\"a\"", "/* a", "'\\"] {
            assert_eq!(found(source).len(), 1, "{source}");
        }
    }
}
