//! Regular expressions in Go's syntax, as the API server compiles them.

use regex::{Regex, RegexBuilder};

/// Bytes of a compiled pattern, more than real ones need; larger ones are rejected to bound memory.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// Compiles a pattern.
pub fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&translate(pattern)).size_limit(MAX_COMPILED_BYTES).build()
}

/// Whether a pattern is valid. Patterns beyond the size limit count as valid, because API servers
/// have no such limit.
pub fn check(pattern: &str) -> Result<(), regex::Error> {
    match compile(pattern) {
        Ok(_) | Err(regex::Error::CompiledTooBig(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Translates a pattern: in Go, Perl classes such as `\d` are ASCII, and brackets do not nest.
fn translate(pattern: &str) -> String {
    let mut translated = String::with_capacity(pattern.len());
    let mut characters = pattern.chars().peekable();
    let mut in_brackets = false;
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped) => translated.push_str(&escape(escaped)),
                None => translated.push('\\'),
            },
            '[' if !in_brackets => {
                in_brackets = true;
                translated.push('[');
                if characters.next_if_eq(&'^').is_some() {
                    translated.push('^');
                }
                // A closing bracket at the start of a class is literal.
                if characters.next_if_eq(&']').is_some() {
                    translated.push_str("\\]");
                }
            }
            '[' if characters.peek() == Some(&':') => {
                translated.push('[');
                for named in characters.by_ref() {
                    translated.push(named);
                    if named == ']' {
                        break;
                    }
                }
            }
            '[' | '&' | '~' if in_brackets => translated.extend(['\\', character]),
            ']' => {
                in_brackets = false;
                translated.push(']');
            }
            other => translated.push(other),
        }
    }
    translated
}

fn escape(escaped: char) -> String {
    match escaped {
        'd' => "[0-9]".to_owned(),
        'D' => "[^0-9]".to_owned(),
        'w' => "[0-9A-Za-z_]".to_owned(),
        'W' => "[^0-9A-Za-z_]".to_owned(),
        's' => "[\\t\\n\\f\\r ]".to_owned(),
        'S' => "[^\\t\\n\\f\\r ]".to_owned(),
        'b' => "(?-u:\\b)".to_owned(),
        other => format!("\\{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_like_go() {
        for (pattern, text, matches) in [
            (r"^\d+$", "123", true),
            (r"^\d+$", "١٢٣", false),
            (r"^\w+$", "é", false),
            (r"^[\w.-]+$", "a.b-c", true),
            (r"^[^\s]+$", "a b", false),
            (r"^[[]$", "[", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]]+$", "]", false),
            (r"^[[:alpha:]&]+$", "a&", true),
            (r"^a.c$", "aéc", true),
            (r"^a$", "a\n", false),
            (r"\bword\b", "a word!", true),
        ] {
            assert_eq!(compile(pattern).unwrap().is_match(text), matches, "{pattern} {text}");
        }
        for pattern in ["(", "[a", "(?=x)", r"\", r"(a)\1", "((a{100}){100}){100}"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
