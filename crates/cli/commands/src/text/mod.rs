//! Text output: line width, characters and commands that fit the terminal and the invocation.

mod characters;
mod command;
mod wrap;

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

pub(crate) use characters::Characters;
pub(crate) use command::{ClusterFlags, Invocation};

use command::render_commands;

/// Narrower terminals get unwrapped lines.
const MIN_WIDTH: usize = 20;

/// Layout of text for one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextLayout {
    /// Columns of a line, `None` for no limit.
    pub(crate) width: Option<usize>,
    /// Characters that the terminal can show.
    pub(crate) characters: Characters,
    /// How the binary was started.
    pub(crate) invocation: Invocation,
    /// Cluster flags of the command line.
    pub(crate) flags: ClusterFlags,
}

impl TextLayout {
    /// Layout for a stream.
    pub(crate) fn of(
        stream: &(impl IsTerminal + AsFd),
        characters: Characters,
        invocation: Invocation,
        flags: ClusterFlags,
    ) -> Self {
        Self { width: width(stream), characters, invocation, flags }
    }

    /// Renders one line without its end; it may become several.
    fn render(&self, line: &str) -> String {
        let line = self.characters.render(line);
        let line = render_commands(&line, self.invocation, &self.flags);
        match self.width {
            Some(width) => wrap::wrapped(&line, width),
            None => line.into_owned(),
        }
    }

    fn is_plain(&self) -> bool {
        self.width.is_none()
            && self.flags.is_empty()
            && self.characters == Characters::Unicode
            && self.invocation == Invocation::Fairway
    }
}

/// Renders the commands of a text for a document.
pub(crate) fn as_typed(text: &str, invocation: Invocation, flags: &ClusterFlags) -> String {
    let lines = text.split('\n');
    let typed = lines.map(|line| render_commands(line, invocation, flags).into_owned());
    typed.collect::<Vec<_>>().join("\n")
}

/// Width from `COLUMNS`, or of the terminal.
fn width(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let from_variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = || {
        let size = rustix::termios::tcgetwinsize(stream).ok().filter(|_| stream.is_terminal())?;
        Some(usize::from(size.ws_col))
    };
    from_variable().or_else(terminal).filter(|columns| *columns >= MIN_WIDTH)
}

/// Writer that renders text line by line.
pub(crate) struct Text<W: Write> {
    out: W,
    layout: TextLayout,
    /// Incomplete last line.
    buffer: Vec<u8>,
}

impl<W: Write> Text<W> {
    pub(crate) fn new(out: W, layout: TextLayout) -> Self {
        Self { out, layout, buffer: Vec::new() }
    }

    fn write_buffer(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.buffer);
        self.out.write_all(self.layout.render(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl<W: Write> Write for Text<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.layout.is_plain() {
            return self.out.write(bytes);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.split_last() {
                Some((b'\n', end)) => {
                    self.buffer.extend_from_slice(end);
                    self.write_buffer()?;
                    self.out.write_all(b"\n")?;
                }
                _ => self.buffer.extend_from_slice(piece),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_buffer()?;
        self.out.flush()
    }
}

impl<W: Write> Drop for Text<W> {
    fn drop(&mut self) {
        // A caller that needs the result of the write has flushed before.
        let _ = self.flush();
    }
}

/// Text as a terminal of that width shows it.
#[cfg(test)]
pub(crate) fn laid_out(text: &str, width: usize) -> String {
    let (characters, invocation) = (Characters::Unicode, Invocation::Fairway);
    let layout =
        TextLayout { width: Some(width), characters, invocation, flags: ClusterFlags::default() };
    text.lines().map(|line| layout.render(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(layout: TextLayout, pieces: &[&str]) -> String {
        let mut out = Vec::new();
        let mut text = Text::new(&mut out, layout);
        for piece in pieces {
            text.write_all(piece.as_bytes()).unwrap();
        }
        drop(text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_split_across_writes_are_laid_out() {
        let layout = TextLayout {
            width: Some(30),
            characters: Characters::Ascii,
            invocation: Invocation::Kubectl,
            flags: ClusterFlags::default(),
        };
        let text = "Waiting for the operator…\nhint: `fairway upgrade` – once more";
        let whole = laid_out(layout.clone(), &[text]);
        insta::assert_snapshot!(whole, @"
        Waiting for the operator...
        hint: `kubectl fairway
          upgrade` - once more
        ");
        let pieces: Vec<&str> = text.split_inclusive(' ').collect();
        assert_eq!(laid_out(layout, &pieces), whole);
    }

    #[test]
    fn unchanged_text_is_not_buffered() {
        let layout = TextLayout {
            width: None,
            characters: Characters::Unicode,
            invocation: Invocation::Fairway,
            flags: ClusterFlags::default(),
        };
        let mut out = Vec::new();
        let mut text = Text::new(&mut out, layout);
        text.write_all("no end…".as_bytes()).unwrap();
        assert!(text.buffer.is_empty());
        drop(text);
        assert_eq!(out, "no end…".as_bytes());
    }
}
