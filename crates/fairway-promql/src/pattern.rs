//! Regular expressions are measured before the parser compiles them without a limit.

use promql_parser::util::unquote_string;
use regex::RegexBuilder;

use crate::error::{ParseError, Problem};
use crate::limits;
use crate::token::{Kind, Token};

/// Refuses regular expressions that are wrong, or huge once they are compiled.
pub(crate) fn check(query: &str, tokens: &[Token]) -> Result<(), ParseError> {
    for pair in tokens.windows(2) {
        let [sign, text] = pair else { continue };
        if text.kind != Kind::Text || !matches!(sign.text(query), "=~" | "!~") {
            continue;
        }
        // What cannot be unquoted is refused by the parser.
        let Ok(pattern) = unquote_string(text.text(query)) else { continue };
        if let Err(error) = RegexBuilder::new(&pattern).size_limit(limits::MAX_REGEX).build() {
            let problem = Problem::Regex { pattern, reason: reason(&error) };
            return Err(ParseError::new(query, text.span.clone(), problem));
        }
    }
    Ok(())
}

/// The last line of what the compiler says: the ones before it draw a picture.
fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "it is too large once it is compiled".to_owned(),
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    }
}
