//! Confirmation on the terminal.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read};

use crate::printer::Printer;

/// Maximum length of an answer in bytes.
const MAX_ANSWER_BYTES: u64 = 64;

/// Asks for a confirmation. Returns `None` if there is no terminal, or if standard error, which has the
/// question, is none.
pub(crate) fn confirm(printer: &Printer, question: &str) -> io::Result<Option<bool>> {
    if !io::stderr().is_terminal() {
        return Ok(None);
    }
    let stdin = io::stdin();
    if stdin.is_terminal() {
        printer.question(format_args!("{question} [y/N] "))?;
        return is_yes(stdin.lock()).map(Some);
    }
    // Standard input may be a pipe while the terminal is available.
    let Ok(terminal) = File::open("/dev/tty") else { return Ok(None) };
    printer.question(format_args!("{question} [y/N] "))?;
    is_yes(terminal).map(Some)
}

/// Whether the first line is a yes. Any other text, and none, is a no.
fn is_yes(from: impl Read) -> io::Result<bool> {
    let mut answer = Vec::new();
    BufReader::new(from.take(MAX_ANSWER_BYTES)).read_until(b'\n', &mut answer)?;
    let answer = String::from_utf8_lossy(&answer).trim().to_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_yes_accepts_only_yes() {
        for answer in ["y\n", "yes\n", " Y \r\n", "YES"] {
            assert!(is_yes(answer.as_bytes()).unwrap(), "{answer:?}");
        }
        let long = "y".repeat(1000);
        for answer in ["", "\n", "n\n", "no\nyes\n", "yess\n", "\u{ff}\n", long.as_str()] {
            assert!(!is_yes(answer.as_bytes()).unwrap(), "{answer:?}");
        }
    }
}
