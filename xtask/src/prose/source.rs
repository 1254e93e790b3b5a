//! The texts of a Rust file: comments and string literals, with their lines.

use crate::lexer::{Lexeme, LexemeKind, lexemes};

/// Whether users or developers read a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// A string literal outside of tests.
    Users,
    /// A comment, a doc comment, or anything in a test.
    Developers,
}

/// A line of a comment or of a string literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Counted from 1.
    pub(super) line: usize,
    pub(super) audience: Audience,
    pub(super) text: String,
}

/// The comments and string literals of a Rust file. Tests are what follows `#[cfg(test)]` in front
/// of a module with a body, which is last in its file.
pub(super) fn pieces(source: &str) -> Vec<Piece> {
    let tests_at = tests_at(source);
    let mut pieces = Vec::new();
    for Lexeme { kind, text, line, at } in lexemes(source) {
        let text = match kind {
            LexemeKind::Comment => text,
            LexemeKind::String => content(text),
            LexemeKind::Character | LexemeKind::Token => continue,
        };
        let is_test = tests_at.is_some_and(|tests| at >= tests);
        let is_for_users = kind == LexemeKind::String && !is_test;
        let audience = if is_for_users { Audience::Users } else { Audience::Developers };
        for (offset, text) in text.lines().enumerate() {
            pieces.push(Piece { line: line + offset, audience, text: text.to_owned() });
        }
    }
    pieces
}

/// The content of a literal.
fn content(literal: &str) -> &str {
    let start = literal.find('"').map_or(0, |quote| quote + 1);
    let end = literal.rfind('"').unwrap_or_default();
    literal.get(start..end).unwrap_or_default()
}

fn tests_at(source: &str) -> Option<usize> {
    let mut rest = 0;
    while let Some(found) = source[rest..].find("#[cfg(test)]") {
        let at = rest + found;
        let item = source[at..].lines().skip(1).find(|line| !line.starts_with("#["));
        if item.is_some_and(|item| item.contains("mod ") && item.ends_with('{')) {
            return Some(at);
        }
        rest = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<(usize, Audience, String)> {
        pieces(source).into_iter().map(|it| (it.line, it.audience, it.text)).collect()
    }

    #[test]
    fn pieces_are_comments_and_strings_with_their_lines() {
        use Audience::{Developers, Users};
        let source = "/// A\nlet a = \"b \\\" c\"; // d\nlet e: &'static str = r#\"f\"g\nh\"#;\n/* i */ 'j' '\\'' \"k\"";
        let expected = [
            (1, Developers, "/// A"),
            (2, Users, "b \\\" c"),
            (2, Developers, "// d"),
            (3, Users, "f\"g"),
            (4, Users, "h"),
            (5, Developers, "/* i */"),
            (5, Users, "k"),
        ];
        assert_eq!(found(source), expected.map(|(line, who, text)| (line, who, text.to_owned())));
    }

    #[test]
    fn pieces_of_tests_are_for_developers() {
        let source = "let a = \"b\";\n#[cfg(test)]\nmod tests;\nlet c = \"d\";\n#[cfg(test)]\nmod more {\n\"e\"\n}\n";
        let audiences: Vec<Audience> = pieces(source).into_iter().map(|it| it.audience).collect();
        assert_eq!(audiences, [Audience::Users, Audience::Users, Audience::Developers]);
    }
}
