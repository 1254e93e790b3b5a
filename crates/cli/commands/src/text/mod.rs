//! Texts for people, laid out for where they are read.

mod characters;
mod program;
mod whom;
mod wrap;

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

pub(crate) use characters::Characters;
pub(crate) use program::Program;
pub(crate) use whom::Whom;

/// Whoever has less sees lines that are longer than their terminal.
const NARROWEST: usize = 20;

/// How texts are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manner {
    /// How many columns a line has; any number where nobody says.
    pub(crate) width: Option<usize>,
    /// Which characters can be shown.
    pub(crate) characters: Characters,
    /// By which words the program is called.
    pub(crate) program: Program,
    /// Which cluster it was called about.
    pub(crate) whom: Whom,
}

impl Manner {
    /// The manner for a stream.
    pub(crate) fn of(
        stream: &(impl IsTerminal + AsFd),
        characters: Characters,
        program: Program,
        whom: Whom,
    ) -> Self {
        Self { width: width(stream), characters, program, whom }
    }

    /// One line, without its end, in this manner; it may become several.
    fn lay_out(&self, line: &str) -> String {
        let line = self.characters.shown(line);
        let line = self.whom.named_in(&line);
        let line = self.program.named_in(&line);
        match self.width {
            Some(width) => wrap::wrapped(&line, width),
            None => line.into_owned(),
        }
    }

    fn changes_nothing(&self) -> bool {
        self.width.is_none()
            && self.whom.is_the_usual_one()
            && self.characters == Characters::Unicode
            && self.program == Program::Fairway
    }
}

/// A text with the commands in it as they are typed, about that cluster.
pub(crate) fn as_typed(text: &str, program: Program, whom: &Whom) -> String {
    let lines = text.split('\n');
    let typed = lines.map(|line| program.named_in(&whom.named_in(line)).into_owned());
    typed.collect::<Vec<_>>().join("\n")
}

/// What `COLUMNS` says, or the terminal.
fn width(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = || {
        let size = rustix::termios::tcgetwinsize(stream).ok().filter(|_| stream.is_terminal())?;
        Some(usize::from(size.ws_col))
    };
    said().or_else(terminal).filter(|columns| *columns >= NARROWEST)
}

/// Lays out what is written, line by line.
pub(crate) struct Text<W: Write> {
    out: W,
    manner: Manner,
    /// What was written of the line that has no end yet.
    begun: Vec<u8>,
}

impl<W: Write> Text<W> {
    pub(crate) fn new(out: W, manner: Manner) -> Self {
        Self { out, manner, begun: Vec::new() }
    }

    fn write_begun(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.begun);
        self.out.write_all(self.manner.lay_out(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl<W: Write> Write for Text<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.manner.changes_nothing() {
            return self.out.write(bytes);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.split_last() {
                Some((b'\n', end)) => {
                    self.begun.extend_from_slice(end);
                    self.write_begun()?;
                    self.out.write_all(b"\n")?;
                }
                _ => self.begun.extend_from_slice(piece),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_begun()?;
        self.out.flush()
    }
}

impl<W: Write> Drop for Text<W> {
    fn drop(&mut self) {
        // Whoever wants to know whether it was written has flushed it before.
        let _ = self.flush();
    }
}

/// A text as a terminal of that width shows it.
#[cfg(test)]
pub(crate) fn laid_out(text: &str, width: usize) -> String {
    let (characters, program) = (Characters::Unicode, Program::Fairway);
    let manner = Manner { width: Some(width), characters, program, whom: Whom::default() };
    text.lines().map(|line| manner.lay_out(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(manner: Manner, pieces: &[&str]) -> String {
        let mut out = Vec::new();
        let mut text = Text::new(&mut out, manner);
        for piece in pieces {
            text.write_all(piece.as_bytes()).unwrap();
        }
        drop(text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_are_laid_out_however_they_are_cut() {
        let manner = Manner {
            width: Some(30),
            characters: Characters::Ascii,
            program: Program::Kubectl,
            whom: Whom::default(),
        };
        let text = "Waiting for the operator…\nhint: `fairway upgrade` – once more";
        let whole = laid_out(manner.clone(), &[text]);
        insta::assert_snapshot!(whole, @"
        Waiting for the operator...
        hint: `kubectl fairway
          upgrade` - once more
        ");
        let pieces: Vec<&str> = text.split_inclusive(' ').collect();
        assert_eq!(laid_out(manner, &pieces), whole);
    }

    #[test]
    fn nothing_is_held_back_where_nothing_changes() {
        let manner = Manner {
            width: None,
            characters: Characters::Unicode,
            program: Program::Fairway,
            whom: Whom::default(),
        };
        let mut out = Vec::new();
        let mut text = Text::new(&mut out, manner);
        text.write_all("no end…".as_bytes()).unwrap();
        assert!(text.begun.is_empty());
        drop(text);
        assert_eq!(out, "no end…".as_bytes());
    }
}
