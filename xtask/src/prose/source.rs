//! The pieces of a Rust file that people read: comments and string literals, with their lines.

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
    let mut scanner = Scanner { source: source.as_bytes(), at: 0, pieces: Vec::new() };
    scanner.run();
    let mut pieces = Vec::new();
    for (start, end, is_comment) in scanner.pieces {
        let first = 1 + source[..start].matches('\n').count();
        let is_test = tests_at.is_some_and(|tests| start >= tests);
        let audience = if is_comment || is_test { Audience::Developers } else { Audience::Users };
        for (offset, text) in source[start..end].lines().enumerate() {
            pieces.push(Piece { line: first + offset, audience, text: text.to_owned() });
        }
    }
    pieces
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

struct Scanner<'a> {
    source: &'a [u8],
    at: usize,
    /// Start, end, and whether it is a comment.
    pieces: Vec<(usize, usize, bool)>,
}

impl Scanner<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.source.get(self.at) {
            match byte {
                b'/' if self.is_next("//") => self.comment(b"\n"),
                b'/' if self.is_next("/*") => self.comment(b"*/"),
                b'"' => self.string(),
                b'r' if !self.follows_name() => self.raw_string(),
                b'\'' => self.character(),
                _ => self.at += 1,
            }
        }
    }

    fn is_next(&self, text: &str) -> bool {
        self.source[self.at..].starts_with(text.as_bytes())
    }

    fn follows_name(&self) -> bool {
        let before = self.at.checked_sub(1).map(|before| self.source[before]);
        before.is_some_and(|byte| byte.is_ascii_alphanumeric() && byte != b'b' || byte == b'_')
    }

    fn comment(&mut self, end: &[u8]) {
        let rest = &self.source[self.at..];
        let length = rest.windows(end.len()).position(|it| it == end).unwrap_or(rest.len());
        self.pieces.push((self.at, self.at + length, true));
        self.at += length.max(1);
    }

    fn string(&mut self) {
        let start = self.at + 1;
        let mut end = start;
        while let Some(&byte) = self.source.get(end).filter(|&&byte| byte != b'"') {
            end += if byte == b'\\' { 2 } else { 1 };
        }
        self.literal(start, end.min(self.source.len()), 1);
    }

    fn raw_string(&mut self) {
        let hashes = self.source[self.at + 1..].iter().take_while(|&&byte| byte == b'#').count();
        let start = self.at + 2 + hashes;
        if self.source.get(start - 1) != Some(&b'"') {
            self.at += 1;
            return;
        }
        let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
        let rest = &self.source[start..];
        let length = rest.windows(end.len()).position(|it| it == end).unwrap_or(rest.len());
        self.literal(start, start + length, end.len());
    }

    fn literal(&mut self, start: usize, end: usize, delimiter: usize) {
        self.pieces.push((start, end, false));
        self.at = end + delimiter;
    }

    /// A character literal, or the apostrophe of a lifetime.
    fn character(&mut self) {
        let rest = &self.source[self.at + 1..];
        let length = match rest {
            [b'\\', _, ..] => rest.iter().skip(2).position(|&it| it == b'\'').map(|it| it + 2),
            _ => rest.iter().take(5).skip(1).position(|&it| it == b'\'').map(|it| it + 1),
        };
        // `'a, 'b` has an apostrophe nearby, too, but a character literal has no name before it.
        let is_one = length.is_some_and(|length| {
            std::str::from_utf8(&rest[..length])
                .is_ok_and(|it| it.starts_with('\\') || it.chars().count() == 1)
        });
        self.at += if is_one { length.unwrap_or_default() + 2 } else { 1 };
    }
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
            (5, Developers, "/* i "),
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
