//! CEL expressions: limits, and a rewrite of optional field selection.
//!
//! Parser and evaluator recurse without a limit, and a stack overflow would abort the process.
//! Expressions are measured before they are parsed, and evaluated on a large stack.
//!
//! Kubernetes 1.29 and later support `self.?a.b.orValue(0)`; the CEL library used here does not.
//! Chains that end in `orValue` or `hasValue` have an equivalent in standard CEL:
//!
//! * `x.?a.b.orValue(d)` is `((has(x.a) && has(x.a.b)) ? x.a.b : (d))`,
//! * `x.?a.b.hasValue()` is `(has(x.a) && has(x.a.b))`.
//!
//! Everything else is unchanged and fails to compile.

use std::ops::Range;

/// Maximum weight, more than any real expression has.
const MAX_WEIGHT: usize = 400;

/// Stack size: twice what the deepest allowed expression needs in a debug build. Only used pages
/// are committed.
const STACK_BYTES: usize = 64 << 20;

/// Brackets pass through every level of the grammar, operators through few.
const BRACKET_WEIGHT: usize = 5;

/// A conditional nests in its last operand. The parser supports about 90 of them.
const CONDITIONAL_WEIGHT: usize = 5;

/// Maximum number of chains to rewrite, since each makes the expression longer. Real expressions
/// have up to four.
const MAX_CHAINS: usize = 32;

/// Maximum size of an expression to rewrite.
const MAX_BYTES: usize = 64 << 10;

/// Runs work with expressions on a large stack; `None` if it panics.
pub(super) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        builder.spawn_scoped(scope, work).ok()?.join().ok()
    })
}

/// Whether an expression can be parsed and evaluated without overflowing the stack.
pub(super) fn is_shallow(expression: &str) -> bool {
    let mut open = vec![0_usize];
    let mut weight = 0_usize;
    let mut characters = expression.chars();
    let mut word = String::new();
    while let Some(character) = characters.next() {
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
            continue;
        }
        let mut links = usize::from(word == "in");
        word.clear();
        match character {
            '"' | '\'' => skip_string(&mut characters, character),
            '(' | '[' | '{' => {
                weight += BRACKET_WEIGHT;
                open.push(0);
            }
            ')' | ']' | '}' => {
                let inside = open.pop().unwrap_or_default();
                weight = weight.saturating_sub(inside + BRACKET_WEIGHT);
                // What follows applies to the bracketed expression.
                links += 1;
            }
            // The parser keeps the operands of these flat.
            '&' | '|' | ',' => {
                weight = weight.saturating_sub(open.last().copied().unwrap_or_default());
                if let Some(links) = open.last_mut() {
                    *links = 0;
                }
            }
            '?' => links += CONDITIONAL_WEIGHT,
            '.' | '+' | '-' | '*' | '/' | '%' | '=' | '<' | '>' | '!' => links += 1,
            _ => {}
        }
        weight += links;
        match open.last_mut() {
            Some(innermost) => *innermost += links,
            None => open.push(links),
        }
        if weight > MAX_WEIGHT {
            return false;
        }
    }
    true
}

fn skip_string(characters: &mut std::str::Chars<'_>, quote: char) {
    while let Some(character) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            end if end == quote => return,
            _ => {}
        }
    }
}

/// Rewrites the supported optional selections of an expression.
pub(super) fn rewrite(expression: &str) -> String {
    let mut text = expression.to_owned();
    for _ in 0..MAX_CHAINS {
        // The last chain may be an argument of an earlier one.
        let last = mask_strings(&text).rfind(".?").and_then(|at| OptionalChain::around(&text, at));
        let Some(chain) = last.filter(|_| text.len() <= MAX_BYTES) else { break };
        let standard = chain.standard(&text);
        text.replace_range(chain.all, &standard);
    }
    text
}

/// Masks string literals by underscores. Byte offsets stay the same.
fn mask_strings(text: &str) -> String {
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

/// An optional selection chain and its final call.
struct OptionalChain {
    /// The whole chain.
    all: Range<usize>,
    /// The operand of the first optional selection.
    base: Range<usize>,
    /// Field names from the first optional one.
    fields: Vec<String>,
    /// The argument of `orValue`; `None` for `hasValue`.
    default: Option<Range<usize>>,
}

impl OptionalChain {
    /// The chain around a position, if it ends in a supported call.
    fn around(text: &str, at: usize) -> Option<Self> {
        let code = mask_strings(text);
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
            let Some(argument) = code[next..].starts_with('(').then(|| bracket_range(&code, next))
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

/// Start of the operand of a selection, which includes fields, calls and indices.
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

/// Whether a question mark belongs to a selection: it follows a dot.
fn is_part(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'.' || (at > 0 && bytes[at - 1] == b'.')
}

/// The range between a bracket and its counterpart.
fn bracket_range(code: &str, open: usize) -> Option<Range<usize>> {
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
    use kube_cel::{compile_schema, validate_compiled};
    use serde_json::json;

    use super::*;

    /// Expressions of all kinds of nesting, `depth` levels deep.
    fn nested(depth: usize) -> Vec<String> {
        let around = |before: &str, inner: &str, after: &str| {
            format!("{}{inner}{}", before.repeat(depth), after.repeat(depth))
        };
        vec![
            around("(", "true", ")"),
            around("[", "1", "]"),
            around("{1: ", "1", "}"),
            around("!(", "true", ")"),
            around("self.all(x, ", "true", ")"),
            around("size([", "1", "])"),
            around("true ? true : ", "true", ""),
            around("true ? (", "true", ") : false"),
            around("", "self", ".a"),
            around("", "self", "[0]"),
            around("", "self", ".a(1, 1)"),
            around("", "1", " + 1"),
            around("", "1", " in [1]"),
            around("", "1", " in x"),
            around("", "true", " == true"),
            around("!", "true", ""),
            around("- ", "1", ""),
        ]
    }

    #[test]
    fn shallow_expressions_fit_the_stack() {
        for shape in 0..nested(0).len() {
            let deepest = (0..500).rev().map(|depth| nested(depth).swap_remove(shape));
            let rule = deepest.into_iter().find(|rule| is_shallow(rule)).unwrap();
            let schema = json!({ "x-kubernetes-validations": [{ "rule": rule }] });
            let evaluate =
                || validate_compiled(&compile_schema(&schema), &json!({ "a": 1 }), None).is_ok();
            assert!(on_large_stack(evaluate).is_some(), "{rule}");
        }
    }

    #[test]
    fn deep_expressions_are_refused() {
        for rule in nested(30) {
            assert!(is_shallow(&rule), "{rule}");
        }
        for rule in nested(500) {
            assert!(!is_shallow(&rule), "{rule}");
        }
        for flat in
            ["has(self.a) && self.a.b == 'x(((' || ".repeat(100) + "true", "1, ".repeat(999)]
        {
            assert!(is_shallow(&flat), "{flat}");
        }
    }

    #[test]
    fn rewrite_of_supported_chains() {
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
            assert_eq!(rewrite(optional), standard);
        }
    }

    #[test]
    fn rewrite_leaves_other_expressions_unchanged() {
        #[rustfmt::skip]
        let expressions = [
            "", "self.a ? self.b : self.c", "'.?a.orValue(1)'", "self.?a", "self.?a.optMap(x, x)",
            "self.?", "self.?.orValue(1)", "self.?a.orValue(", "self[?0].orValue(1)",
            ".?a.orValue()",
        ];
        for expression in expressions {
            assert_eq!(rewrite(expression), expression);
        }
    }

    #[test]
    fn rewrite_is_bounded() {
        let many = "self.?a.orValue(1) + ".repeat(1000) + "1";
        assert!(rewrite(&many).len() < many.len() + 100 * MAX_CHAINS);
    }
}
