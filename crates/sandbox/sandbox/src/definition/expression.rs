//! Room for expressions, whose parser and evaluation recurse without a limit of their own.
//!
//! One that is too deep would end the process: how deep it is gets measured before anything
//! recursive sees it, and what is allowed gets a stack on which it fits.

/// Deeper than any real expression.
const MAX_WEIGHT: usize = 400;

/// Twice of what the deepest expression takes in an unoptimised build; only what is used of it
/// becomes real memory.
const STACK_BYTES: usize = 64 << 20;

/// Brackets go through every level of the grammar, operators through few.
const WEIGHT_OF_A_BRACKET: usize = 5;

/// A conditional nests in its last part; the parser takes some 90 of them.
const WEIGHT_OF_A_CONDITIONAL: usize = 5;

/// Does something with expressions that are shallow; nothing comes back if it fails beyond repair.
pub(super) fn with_room<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        builder.spawn_scoped(scope, work).ok()?.join().ok()
    })
}

/// Whether an expression can be parsed and evaluated safely.
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
            '"' | '\'' => skip_text(&mut characters, character),
            '(' | '[' | '{' => {
                weight += WEIGHT_OF_A_BRACKET;
                open.push(0);
            }
            ')' | ']' | '}' => {
                let inside = open.pop().unwrap_or_default();
                weight = weight.saturating_sub(inside + WEIGHT_OF_A_BRACKET);
                // What follows is applied to what the brackets made.
                links += 1;
            }
            // Parts that stand side by side; the parser keeps these flat.
            '&' | '|' | ',' => {
                weight = weight.saturating_sub(open.last().copied().unwrap_or_default());
                if let Some(links) = open.last_mut() {
                    *links = 0;
                }
            }
            '?' => links += WEIGHT_OF_A_CONDITIONAL,
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

fn skip_text(characters: &mut std::str::Chars<'_>, quote: char) {
    while let Some(character) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            end if end == quote => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use kube_cel::{compile_schema, validate_compiled};
    use serde_json::json;

    use super::*;

    /// Expressions that nest in every way, `depth` levels deep.
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
    fn what_counts_as_shallow_fits_the_stack() {
        for shape in 0..nested(0).len() {
            let deepest = (0..500).rev().map(|depth| nested(depth).swap_remove(shape));
            let rule = deepest.into_iter().find(|rule| is_shallow(rule)).unwrap();
            let schema = json!({ "x-kubernetes-validations": [{ "rule": rule }] });
            let evaluate =
                || validate_compiled(&compile_schema(&schema), &json!({ "a": 1 }), None).is_ok();
            assert!(with_room(evaluate).is_some(), "{rule}");
        }
    }

    #[test]
    fn what_is_deep_is_refused() {
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
}
