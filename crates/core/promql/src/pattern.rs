//! Regular expressions, anchored at both ends and limited in size.

use promql_parser::util::unquote_string;
use regex::{Regex, RegexBuilder};

use crate::dialect;
use crate::error::{ParseError, Problem};
use crate::limits;
use crate::token::{Kind, Token};

/// Refuses regular expressions that are wrong, or huge once they are compiled: the parser compiles
/// them without a limit.
pub(crate) fn check(query: &str, tokens: &[Token]) -> Result<(), ParseError> {
    for pair in tokens.windows(2) {
        let [sign, text] = pair else { continue };
        if text.kind != Kind::Text || !matches!(sign.text(query), "=~" | "!~") {
            continue;
        }
        // What cannot be unquoted is refused by the parser.
        let Ok(pattern) = unquote_string(text.text(query)) else { continue };
        if let Err(reason) = build(&pattern).and_then(|_| compile(&pattern)) {
            let problem = Problem::Regex { pattern, reason };
            return Err(ParseError::new(query, text.span.clone(), problem));
        }
    }
    Ok(())
}

/// A regular expression that has to match a whole text.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = dialect::translate(pattern)?;
    build(&format!("^(?:{translated})$"))
}

fn build(pattern: &str) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(limits::MAX_REGEX).build().map_err(|error| reason(&error))
}

/// The last line of what the compiler says: the ones before it draw a picture.
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
