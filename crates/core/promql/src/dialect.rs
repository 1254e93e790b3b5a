//! Regular expressions that mean the same here and in Prometheus.
//!
//! Prometheus is written in Go. Its expressions and ours come from one family, and nearly all of
//! them mean the same; what means something else is translated, or refused.

use std::iter::Peekable;
use std::str::Chars;

/// How often Go repeats a part by number, nested repetitions multiplied.
const MAX_REPETITIONS: usize = 1000;

/// An expression of Prometheus, written as ours.
pub(crate) fn translate(pattern: &str) -> Result<String, String> {
    let translator = Translator {
        rest: pattern.chars().peekable(),
        result: String::with_capacity(pattern.len()),
        groups: vec![1],
        last: Last::Begin,
    };
    translator.translate()
}

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    result: String,
    /// How often the most repeated part of each open group is repeated.
    groups: Vec<usize>,
    last: Last,
}

/// What was read last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Begin,
    /// Something, and how often its most repeated part is repeated.
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
        self.last = Last::Atom(1);
    }

    /// Classes such as `\d` hold other scripts here, and only ASCII in Go.
    fn escape(&mut self, in_class: bool) -> Result<(), String> {
        let Some(escaped) = self.rest.next() else {
            return Err("it ends with a backslash".to_owned());
        };
        self.last = Last::Atom(1);
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

    /// Everything up to the closing bracket.
    fn class(&mut self) -> Result<(), String> {
        self.result.push('[');
        self.last = Last::Atom(1);
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
                // These mean more here than themselves.
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

    /// `[:alpha:]` and the like, after its first bracket.
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
        self.last = Last::Begin;
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
        self.last = Last::Atom(inner);
        self.note(inner);
    }

    /// `{3}`, `{3,}` or `{3,5}`, after its brace.
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

    /// A sign that repeats what stands before it; a `?` after it makes it take as little as it can.
    fn repeat(&mut self, sign: &str, times: usize) -> Result<(), String> {
        let inner = match self.last {
            Last::Repetition => {
                return Err("a repetition is repeated without parentheses".to_owned());
            }
            Last::Begin => 1,
            Last::Atom(inner) => inner,
        };
        let times = inner.saturating_mul(times.max(1));
        if times > MAX_REPETITIONS {
            return Err(format!("a repetition exceeds the limit of {MAX_REPETITIONS}"));
        }
        self.note(times);
        self.result.push_str(sign);
        self.result.extend(self.rest.next_if_eq(&'?'));
        self.last = Last::Repetition;
        Ok(())
    }

    fn note(&mut self, times: usize) {
        if let Some(group) = self.groups.last_mut() {
            *group = (*group).max(times);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::translate;

    #[test]
    fn what_means_the_same_stays() {
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
    fn what_means_something_else_is_translated_or_refused() {
        let patterns = [
            "[]a]",
            "[^]]",
            r"\d\W",
            r"[\d.]",
            r"\bx",
            r"\<",
            "[a[b]",
            "[a&&b]",
            "[a~~b]",
            "a**",
            "a{2}{3}",
            "a+*",
            "(a{100}){11}",
            "a{1001}",
            "(?x)a",
            "(?<n>a)",
            "[a--b]",
            r"\pL",
            r"\B",
            r"\Q",
            "a{,3}",
            "[a",
            "[[x]",
            "a\\",
        ];
        let translated = patterns.map(|pattern| match translate(pattern) {
            Ok(translated) => format!("{pattern} => {translated}"),
            Err(reason) => format!("{pattern}: {reason}"),
        });
        insta::assert_snapshot!(translated.join("\n"), @r"
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
        ");
    }
}
