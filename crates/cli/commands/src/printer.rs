//! Where commands write: results, notes and errors.

use std::io::{self, ErrorKind, IsTerminal, StdoutLock, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use crate::errors::{self, OutputClosed};
use crate::foreign_text::OneLine;
use crate::settings::Verbosity;
use crate::text::{self, Characters, Manner, Program, Text, Whom};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// More would bury the result.
const FEW_WARNINGS: usize = 5;

/// Writes results to standard output, and everything else to standard error.
#[derive(Clone)]
pub(crate) struct Printer {
    color: ColorChoice,
    verbosity: Verbosity,
    program: Program,
    characters: Characters,
    whom: Whom,
    /// What notes are about, where several are at work.
    about: String,
    /// Whether something of a result was written.
    printed: Arc<AtomicBool>,
}

impl Printer {
    pub(crate) fn new(color: ColorChoice, verbosity: Verbosity, program: Program) -> Self {
        let characters = Characters::of_environment();
        let (whom, about, printed) = (Whom::default(), String::new(), Arc::default());
        Self { color, verbosity, program, characters, whom, about, printed }
    }

    /// The same, for a call that is about that cluster.
    pub(crate) fn calling(self, whom: Whom) -> Self {
        Self { whom, ..self }
    }

    fn manner(&self, stream: &(impl IsTerminal + AsFd)) -> Manner {
        Manner::of(stream, self.characters, self.program, self.whom.clone())
    }

    /// The same, with a name before each note: of several that are at work, the one that says it.
    pub(crate) fn about(&self, name: &str) -> Self {
        Self { about: format!("{}: ", OneLine(name)), ..self.clone() }
    }

    /// How many columns a line of a result has; any number where nobody says.
    pub(crate) fn width(&self) -> Option<usize> {
        self.manner(&io::stdout()).width
    }

    /// Whether only what has to be known is to be said.
    pub(crate) fn is_quiet(&self) -> bool {
        self.verbosity == Verbosity::Quiet
    }

    /// Where results go as they are: documents, scripts, files. That nobody reads them any more is
    /// an error of its own kind.
    pub(crate) fn stdout(&self) -> impl Output {
        let manner = self.manner(&io::stdout());
        let stream = AutoStream::new(io::stdout().lock(), self.color);
        Stdout { stream, manner, printed: Arc::clone(&self.printed) }
    }

    /// Whether a result was written, or begun.
    pub(crate) fn has_printed(&self) -> bool {
        self.printed.load(Ordering::Relaxed)
    }

    /// Where results go that people read.
    pub(crate) fn text(&self) -> impl Write {
        self.stdout().into_text()
    }

    /// A command, or a text with commands in it, for a document: as it is typed.
    pub(crate) fn as_typed(&self, text: &str) -> String {
        text::as_typed(text, self.program, &self.whom)
    }

    /// Where everything else goes.
    pub(crate) fn stderr(&self) -> impl Write {
        let manner = self.manner(&io::stderr());
        Text::new(AutoStream::new(io::stderr().lock(), self.color), manner)
    }

    /// Says something beside the result: what was written where, what to do next.
    pub(crate) fn note(&self, text: impl std::fmt::Display) {
        if self.verbosity >= Verbosity::Normal {
            // Nobody is told that standard error is gone.
            let _ = writeln!(self.stderr(), "{}{text}", self.about);
        }
    }

    /// Asks something that is to be answered on the same line.
    pub(crate) fn question(&self, text: impl std::fmt::Display) -> io::Result<()> {
        let mut stderr = self.stderr();
        write!(stderr, "{text}")?;
        stderr.flush()
    }

    /// Says several things that are wrong beside the result; only the first few, unless more is
    /// wanted.
    pub(crate) fn warnings(&self, texts: &[String]) {
        let shown = match self.verbosity {
            Verbosity::Quiet => return,
            Verbosity::Normal => FEW_WARNINGS.min(texts.len()),
            Verbosity::Verbose | Verbosity::Debug => texts.len(),
        };
        let (shown, hidden) = texts.split_at(shown);
        for text in shown {
            self.note(format_args!("{WARNING}warning:{WARNING:#} {text}"));
        }
        if !hidden.is_empty() {
            self.note(format_args!("{} more warnings: use --verbose to show them", hidden.len()));
        }
    }

    /// Says what went wrong, why, and what can be done about it.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        let _ = self.write_error(error);
    }

    fn write_error(&self, error: &anyhow::Error) -> io::Result<()> {
        let mut stderr = self.stderr();
        let mut messages = errors::chain(error).into_iter();
        let first = messages.next().unwrap_or_default();
        writeln!(stderr, "{ERROR}error:{ERROR:#} {first}")?;
        for cause in messages {
            writeln!(stderr, "  caused by: {cause}")?;
        }
        if let Some(hint) = errors::hint(error) {
            writeln!(stderr, "{HINT}hint:{HINT:#} {hint}")?;
        }
        Ok(())
    }
}

/// Standard output, which tells by its errors that nobody reads it any more.
struct Stdout {
    stream: AutoStream<StdoutLock<'static>>,
    manner: Manner,
    printed: Arc<AtomicBool>,
}

/// Where results go, for programs or for people.
pub(crate) trait Output: Write {
    /// The same for texts that people read.
    fn into_text(self) -> impl Write;
}

impl Output for Stdout {
    fn into_text(self) -> impl Write {
        let manner = self.manner.clone();
        Text::new(self, manner)
    }
}

#[cfg(test)]
impl Output for &mut Vec<u8> {
    fn into_text(self) -> impl Write {
        self
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.printed.store(true, Ordering::Relaxed);
        self.stream.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush().map_err(named)
    }
}

fn named(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::BrokenPipe => io::Error::new(ErrorKind::BrokenPipe, OutputClosed),
        _ => error,
    }
}
