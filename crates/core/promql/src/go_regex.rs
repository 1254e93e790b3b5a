//! Anchored regular expressions with a size limit, and translation from Go's RE2 syntax.
//!
//! Prometheus uses Go's regular expressions. Most of them mean the same in Rust; others are
//! translated or rejected.

use std::iter::Peekable;
use std::str::Chars;

use promql_parser::util::unquote_string;
use regex::{Regex, RegexBuilder};

use crate::error::{ParseError, ParseProblem};
use crate::limits;
use crate::token::{Token, TokenKind};

/// Maximum repetition count of Go, with nested repetitions multiplied.
const MAX_REPETITIONS: usize = 1000;

/// Translates a pattern from Go to Rust syntax.
pub(crate) fn translate(pattern: &str) -> Result<String, String> {
    let translator = Translator {
        rest: pattern.chars().peekable(),
        result: String::with_capacity(pattern.len()),
        groups: vec![1],
        previous: Previous::Begin,
    };
    translator.translate()
}

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    result: String,
    /// The highest repetition count in each open group.
    groups: Vec<usize>,
    previous: Previous,
}

/// The previous element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Previous {
    Begin,
    /// An atom with its highest repetition count.
    Atom(usize),
    Repetition,
}

impl Translator<'_> {
    fn translate(mut self) -> Result<String, String> {
        while let Some(character) = self.rest.next() {
            match character {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => self.open()?,
                ')' => self.close(),
                '*' | '+' | '?' => self.repeat(character.encode_utf8(&mut [0; 4]), 1)?,
                '{' => self.repeat_by_number()?,
                other => self.atom(other),
            }
        }
        Ok(self.result)
    }

    fn atom(&mut self, character: char) {
        self.result.push(character);
        self.previous = Previous::Atom(1);
    }

    /// Perl classes such as `\d` are Unicode in Rust and ASCII in Go.
    fn escape(&mut self, in_class: bool) -> Result<(), String> {
        let Some(escaped) = self.rest.next() else {
            return Err("it ends with a backslash".to_owned());
        };
        self.previous = Previous::Atom(1);
        match escaped {
            'd' => self.result.push_str("[0-9]"),
            'D' => self.result.push_str("[^0-9]"),
            'w' => self.result.push_str("[0-9A-Za-z_]"),
            'W' => self.result.push_str("[^0-9A-Za-z_]"),
            's' => self.result.push_str(r"[\t\n\f\r ]"),
            'S' => self.result.push_str(r"[^\t\n\f\r ]"),
            'b' if !in_class => self.result.push_str(r"(?-u:\b)"),
            'A' | 'z' if in_class => {
                return Err(format!("\\{escaped} is not supported in a character class"));
            }
            '<' | '>' => self.result.push(escaped),
            'a' | 'f' | 't' | 'n' | 'r' | 'v' | 'x' | 'A' | 'z' => {
                self.result.extend(['\\', escaped]);
            }
            _ if escaped.is_ascii_punctuation() => self.result.extend(['\\', escaped]),
            _ => return Err(format!("\\{escaped} is not supported")),
        }
        Ok(())
    }

    /// Translates a character class after its first bracket.
    fn class(&mut self) -> Result<(), String> {
        self.result.push('[');
        self.previous = Previous::Atom(1);
        if self.rest.next_if_eq(&'^').is_some() {
            self.result.push('^');
        }
        let mut is_first = true;
        while let Some(character) = self.rest.next() {
            match character {
                ']' if !is_first => {
                    self.result.push(']');
                    return Ok(());
                }
                '\\' => self.escape(true)?,
                '[' if self.rest.peek() == Some(&':') => self.named_class()?,
                // Rust gives these characters a special meaning in classes.
                '[' | ']' | '&' | '~' => self.result.extend(['\\', character]),
                '-' if self.rest.peek() == Some(&'-') => {
                    return Err("use \\- for a hyphen in a character class".to_owned());
                }
                other => self.result.push(other),
            }
            is_first = false;
        }
        Err("unclosed character class".to_owned())
    }

    /// Translates a class such as `[:alpha:]` after its first bracket.
    fn named_class(&mut self) -> Result<(), String> {
        let name: String =
            std::iter::from_fn(|| self.rest.next_if(|character| *character != ']')).collect();
        if self.rest.next().is_none() || !name.ends_with(':') {
            return Err("use \\[ for a bracket in a character class".to_owned());
        }
        self.result.push('[');
        self.result.push_str(&name);
        self.result.push(']');
        Ok(())
    }

    fn open(&mut self) -> Result<(), String> {
        self.result.push('(');
        self.previous = Previous::Begin;
        if self.rest.next_if_eq(&'?').is_none() {
            self.groups.push(1);
            return Ok(());
        }
        let is_head = |character: &char| !":>)".contains(*character);
        let head: String = std::iter::from_fn(|| self.rest.next_if(is_head)).collect();
        let end = self.rest.next().unwrap_or_default();
        let are_flags = head.chars().all(|flag| "imsU-".contains(flag));
        match end {
            '>' if head.starts_with("P<") => self.groups.push(1),
            ':' if are_flags => self.groups.push(1),
            ')' if are_flags => {}
            _ => return Err(format!("(?{head} is not supported")),
        }
        self.result.push('?');
        self.result.push_str(&head);
        self.result.push(end);
        Ok(())
    }

    fn close(&mut self) {
        self.result.push(')');
        let inner = self.groups.pop().unwrap_or(1);
        self.previous = Previous::Atom(inner);
        self.record_repetition(inner);
    }

    /// Translates `{3}`, `{3,}` or `{3,5}` after its first brace.
    fn repeat_by_number(&mut self) -> Result<(), String> {
        let is_inside = |character: &char| character.is_ascii_digit() || *character == ',';
        let numbers: String = std::iter::from_fn(|| self.rest.next_if(is_inside)).collect();
        if self.rest.next() != Some('}') || !numbers.starts_with(|c: char| c.is_ascii_digit()) {
            return Err("use \\{ for a brace".to_owned());
        }
        let largest = numbers.split(',').filter_map(|number| number.parse().ok()).max();
        let times: usize = largest.unwrap_or(usize::MAX);
        self.repeat(&format!("{{{numbers}}}"), times)
    }

    /// Translates a repetition and its optional lazy modifier `?`.
    fn repeat(&mut self, sign: &str, times: usize) -> Result<(), String> {
        let inner = match self.previous {
            Previous::Repetition => {
                return Err("a repetition is repeated without parentheses".to_owned());
            }
            Previous::Begin => 1,
            Previous::Atom(inner) => inner,
        };
        let times = inner.saturating_mul(times.max(1));
        if times > MAX_REPETITIONS {
            return Err(format!("a repetition exceeds the limit of {MAX_REPETITIONS}"));
        }
        self.record_repetition(times);
        self.result.push_str(sign);
        self.result.extend(self.rest.next_if_eq(&'?'));
        self.previous = Previous::Repetition;
        Ok(())
    }

    fn record_repetition(&mut self, times: usize) {
        if let Some(group) = self.groups.last_mut() {
            *group = (*group).max(times);
        }
    }
}

/// Rejects invalid regular expressions, and those with a large compiled form: the parser compiles
/// them without a limit.
pub(crate) fn check(query: &str, tokens: &[Token]) -> Result<(), ParseError> {
    for pair in tokens.windows(2) {
        let [sign, text] = pair else { continue };
        if text.kind != TokenKind::Text || !matches!(sign.text(query), "=~" | "!~") {
            continue;
        }
        // The parser rejects invalid strings.
        let Ok(pattern) = unquote_string(text.text(query)) else { continue };
        if let Err(reason) = build(&pattern).and_then(|_| compile(&pattern)) {
            let problem = ParseProblem::Regex { pattern, reason };
            return Err(ParseError::new(query, text.span.clone(), problem));
        }
    }
    Ok(())
}

/// Compiles an anchored regular expression.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern)?;
    build(&format!("^(?:{translated})$"))
}

fn build(pattern: &str) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(limits::MAX_REGEX_BYTES).build().map_err(|error| reason(&error))
}

/// Last line of the compiler's message; the lines before it are a drawing.
fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "the compiled pattern is too large".to_owned(),
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::translate;

    #[test]
    fn translate_keeps_common_syntax() {
        for pattern in [
            "",
            "a|b",
            "4[.]([0-9]|10)[.].*",
            ".*(?:[.]ecr(?:-fips)?)[/@:].*",
            "(?i)a+?",
            "(?P<x>a{2,3})",
            r"\.\x41\x{41}",
            "[[:alpha:]_-]",
            "(?i:a)(?U)",
            "a{3}?",
        ] {
            assert_eq!(translate(pattern).as_deref(), Ok(pattern), "{pattern}");
        }
    }

    #[test]
    fn translate_converts_or_rejects_go_syntax() {
        let table = r"
        []a] => [\]a]
        [^]] => [^\]]
        \d\W => [0-9][^0-9A-Za-z_]
        [\d.] => [[0-9].]
        \bx => (?-u:\b)x
        \< => <
        [a[b] => [a\[b]
        [a&&b] => [a\&\&b]
        [a~~b] => [a\~\~b]
        a**: a repetition is repeated without parentheses
        a{2}{3}: a repetition is repeated without parentheses
        a+*: a repetition is repeated without parentheses
        (a{100}){11}: a repetition exceeds the limit of 1000
        a{1001}: a repetition exceeds the limit of 1000
        (?x)a: (?x is not supported
        (?<n>a): (?<n is not supported
        [a--b]: use \- for a hyphen in a character class
        \pL: \p is not supported
        \B: \B is not supported
        \Q: \Q is not supported
        a{,3}: use \{ for a brace
        [a: unclosed character class
        [[x] => [\[x]
        a\: it ends with a backslash
        ";
        for line in table.trim().lines().map(str::trim) {
            if let Some((pattern, translated)) = line.split_once(" => ") {
                assert_eq!(translate(pattern).as_deref(), Ok(translated), "{pattern}");
            } else {
                let (pattern, reason) = line.split_once(": ").unwrap();
                assert_eq!(translate(pattern), Err(reason.to_owned()), "{pattern}");
            }
        }
    }
}
