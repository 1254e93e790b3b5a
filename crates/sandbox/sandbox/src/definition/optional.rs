//! CEL's optional field selection, written without it.
//!
//! Kubernetes 1.29 and later read `self.?a.b.orValue(0)`; the CEL library here does not. A chain
//! that ends in `orValue` or `hasValue` has an equivalent in standard CEL:
//!
//! * `x.?a.b.orValue(d)` is `((has(x.a) && has(x.a.b)) ? x.a.b : (d))`,
//! * `x.?a.b.hasValue()` is `(has(x.a) && has(x.a.b))`.
//!
//! Everything else stays as it is, and is refused as before.

use std::ops::Range;

/// Chains of one expression. Each makes it longer, and real ones have up to four.
const MAX_CHAINS: usize = 32;

/// Bytes of an expression that is still translated.
const MAX_BYTES: usize = 64 << 10;

/// The expression without optional field selections, as far as they can be written otherwise.
pub(super) fn translated(expression: &str) -> String {
    let mut text = expression.to_owned();
    for _ in 0..MAX_CHAINS {
        // The last chain may be an argument of an earlier one.
        let last = code(&text).rfind(".?").and_then(|at| Chain::around(&text, at));
        let Some(chain) = last.filter(|_| text.len() <= MAX_BYTES) else { break };
        let standard = chain.standard(&text);
        text.replace_range(chain.all, &standard);
    }
    text
}

/// The expression with everything in quotes replaced by underscores, byte by byte.
fn code(text: &str) -> String {
    let mut quote = None;
    let mut escaped = false;
    let mask = |byte: u8| -> u8 {
        let Some(open) = quote else {
            if matches!(byte, b'"' | b'\'') {
                quote = Some(byte);
            }
            return if byte.is_ascii() { byte } else { b'_' };
        };
        let ends = byte == open && !escaped;
        escaped = byte == b'\\' && !escaped;
        if ends {
            quote = None;
        }
        if ends { byte } else { b'_' }
    };
    text.bytes().map(mask).map(char::from).collect()
}

/// An optional selection and what is asked of it.
struct Chain {
    /// All of it.
    all: Range<usize>,
    /// What the first optional field is selected from.
    base: Range<usize>,
    /// The fields, from the first optional one on.
    fields: Vec<String>,
    /// The argument of `orValue`; `None` for `hasValue`.
    default: Option<Range<usize>>,
}

impl Chain {
    /// The chain that has an optional selection at a place, if it ends as expected.
    fn around(text: &str, at: usize) -> Option<Self> {
        let code = code(text);
        let start = start_of(&code, at);
        let first = start + code[start..].find(".?")?;
        let mut fields = Vec::new();
        let mut rest = first;
        loop {
            let after = code[rest..].strip_prefix('.')?;
            let after = after.strip_prefix('?').unwrap_or(after);
            let begin = code.len() - after.len();
            let length = after.find(|letter: char| !is_word(letter)).unwrap_or(after.len());
            let (name, next) = (&after[..length], begin + length);
            if name.is_empty() {
                return None;
            }
            let Some(argument) = code[next..].starts_with('(').then(|| argument(&code, next))
            else {
                fields.push(name.to_owned());
                rest = next;
                continue;
            };
            let argument = argument?;
            let default = match name {
                "orValue" if !code[argument.clone()].trim().is_empty() => Some(argument.clone()),
                "hasValue" if code[argument.clone()].trim().is_empty() => None,
                _ => return None,
            };
            return Some(Self {
                all: start..argument.end + 1,
                base: start..first,
                fields,
                default,
            });
        }
    }

    fn standard(&self, text: &str) -> String {
        let mut path = text[self.base.clone()].to_owned();
        let mut present = Vec::new();
        for field in &self.fields {
            path = format!("{path}.{field}");
            present.push(format!("has({path})"));
        }
        let present = format!("({})", present.join(" && "));
        match &self.default {
            None => present,
            Some(default) => format!("({present} ? {path} : ({}))", &text[default.clone()]),
        }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Where the operand of a selection begins: fields, calls and indices are parts of it.
fn start_of(code: &str, at: usize) -> usize {
    let bytes = code.as_bytes();
    let mut start = at;
    let mut depth = 0_usize;
    while start > 0 {
        match bytes[start - 1] {
            b')' | b']' => depth += 1,
            b'(' | b'[' if depth == 0 => break,
            b'(' | b'[' => depth -= 1,
            _ if depth > 0 => {}
            b'.' | b'?' if start < bytes.len() && is_part(bytes, start - 1) => {}
            byte if is_word(char::from(byte)) => {}
            _ => break,
        }
        start -= 1;
    }
    start
}

/// A question mark belongs to the selection only behind a dot.
fn is_part(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'.' || (at > 0 && bytes[at - 1] == b'.')
}

/// What is between the bracket at a place and the one that closes it.
fn argument(code: &str, open: usize) -> Option<Range<usize>> {
    let mut depth = 0_usize;
    for (offset, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(open + 1..offset);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_that_ends_as_expected_is_written_in_standard_cel() {
        for (optional, standard) in [
            ("self.?a.orValue(0) > 1", "((has(self.a)) ? self.a : (0)) > 1"),
            ("x ? self.?a.b.hasValue() : true", "x ? (has(self.a) && has(self.a.b)) : true"),
            (
                "size(self.filter(s, s.?t.orValue(0) != 0)) <= 1",
                "size(self.filter(s, ((has(s.t)) ? s.t : (0)) != 0)) <= 1",
            ),
            (
                "self.spec.?a.?b.orValue(self.?c.orValue('.?d)')) == ''",
                "((has(self.spec.a) && has(self.spec.a.b)) ? self.spec.a.b : (((has(self.c)) ? self.c : ('.?d)')))) == ''",
            ),
            ("!self.f(1)[2].?a.hasValue()", "!(has(self.f(1)[2].a))"),
            (
                "self.?a.orValue(\"ü\") == \"\\\"\"",
                "((has(self.a)) ? self.a : (\"ü\")) == \"\\\"\"",
            ),
        ] {
            assert_eq!(translated(optional), standard);
        }
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for expression in [
            "",
            "self.a ? self.b : self.c",
            "'.?a.orValue(1)'",
            "self.?a",
            "self.?a.optMap(x, x)",
            "self.?",
            "self.?.orValue(1)",
            "self.?a.orValue(",
            "self[?0].orValue(1)",
            ".?a.orValue()",
        ] {
            assert_eq!(translated(expression), expression);
        }
    }

    #[test]
    fn translation_is_bounded() {
        let many = "self.?a.orValue(1) + ".repeat(1000) + "1";
        assert!(translated(&many).len() < many.len() + 100 * MAX_CHAINS);
    }
}
