//! Asking whoever sits at the terminal.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read};

use crate::printer::Printer;

/// Bytes of an answer: more than a word is none.
const MOST: u64 = 64;

/// Whether somebody at the terminal says yes; nothing where nobody can be asked. Who does not see
/// the question is not asked.
pub(crate) fn confirm(printer: &Printer, question: &str) -> io::Result<Option<bool>> {
    if !io::stderr().is_terminal() {
        return Ok(None);
    }
    let stdin = io::stdin();
    if stdin.is_terminal() {
        printer.question(format_args!("{question} [y/N] "))?;
        return is_yes(stdin.lock()).map(Some);
    }
    // Standard input is something else, as in a pipe: the terminal itself may be there.
    let Ok(terminal) = File::open("/dev/tty") else { return Ok(None) };
    printer.question(format_args!("{question} [y/N] "))?;
    is_yes(terminal).map(Some)
}

/// Whether the first line is a yes. Anything else is a no, and so is nothing.
fn is_yes(from: impl Read) -> io::Result<bool> {
    let mut answer = Vec::new();
    BufReader::new(from.take(MOST)).read_until(b'\n', &mut answer)?;
    let answer = String::from_utf8_lossy(&answer).trim().to_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        for answer in ["y\n", "yes\n", " Y \r\n", "YES"] {
            assert!(is_yes(answer.as_bytes()).unwrap(), "{answer:?}");
        }
        let long = "y".repeat(1000);
        for answer in ["", "\n", "n\n", "no\nyes\n", "yess\n", "\u{ff}\n", long.as_str()] {
            assert!(!is_yes(answer.as_bytes()).unwrap(), "{answer:?}");
        }
    }
}
