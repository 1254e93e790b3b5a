//! Output of commands: results, notes and errors.

use std::io::{self, ErrorKind, IsTerminal, StdoutLock, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use crate::errors::{self, OutputClosed};
use crate::foreign_text::OneLine;
use crate::settings::Verbosity;
use crate::text::{self, Characters, ClusterFlags, Invocation, Text, TextLayout};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Maximum number of warnings without `--verbose`: more would hide the result.
const MAX_WARNINGS: usize = 5;

/// Writes results to standard output, and everything else to standard error.
#[derive(Clone)]
pub(crate) struct Printer {
    color: ColorChoice,
    verbosity: Verbosity,
    invocation: Invocation,
    characters: Characters,
    flags: ClusterFlags,
    /// Prefix of notes, if several clusters are queried.
    about: String,
    /// Whether a result is written, at least partially. Relaxed: the flag guards no other data.
    printed: Arc<AtomicBool>,
}

impl Printer {
    pub(crate) fn new(color: ColorChoice, verbosity: Verbosity, invocation: Invocation) -> Self {
        let characters = Characters::of_environment();
        let (flags, about, printed) = (ClusterFlags::default(), String::new(), Arc::default());
        Self { color, verbosity, invocation, characters, flags, about, printed }
    }

    /// A printer whose commands name a cluster.
    pub(crate) fn with_cluster_flags(self, flags: ClusterFlags) -> Self {
        Self { flags, ..self }
    }

    fn layout(&self, stream: &(impl IsTerminal + AsFd)) -> TextLayout {
        TextLayout::of(stream, self.characters, self.invocation, self.flags.clone())
    }

    /// A printer with a prefix before each note, for one of several clusters.
    pub(crate) fn about(&self, name: &str) -> Self {
        Self { about: format!("{}: ", OneLine(name)), ..self.clone() }
    }

    /// The width of result lines; `None` if it is unlimited.
    pub(crate) fn width(&self) -> Option<usize> {
        self.layout(&io::stdout()).width
    }

    /// Whether notes are suppressed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.verbosity == Verbosity::Quiet
    }

    /// Standard output for documents, scripts and files. A closed pipe is the error `OutputClosed`.
    pub(crate) fn stdout(&self) -> impl Output {
        let layout = self.layout(&io::stdout());
        let stream = AutoStream::new(io::stdout().lock(), self.color);
        Stdout { stream, layout, printed: Arc::clone(&self.printed) }
    }

    /// Whether a result is written, at least partially.
    pub(crate) fn has_printed(&self) -> bool {
        self.printed.load(Ordering::Relaxed)
    }

    /// Standard output for text.
    pub(crate) fn text(&self) -> impl Write {
        self.stdout().into_text()
    }

    /// A text with complete commands, for a document.
    pub(crate) fn as_typed(&self, text: &str) -> String {
        text::as_typed(text, self.invocation, &self.flags)
    }

    /// Standard error.
    pub(crate) fn stderr(&self) -> impl Write {
        let layout = self.layout(&io::stderr());
        Text::new(AutoStream::new(io::stderr().lock(), self.color), layout)
    }

    /// Prints a note: progress, written files, next steps.
    pub(crate) fn note(&self, text: impl std::fmt::Display) {
        if self.verbosity >= Verbosity::Normal {
            // An error is ignored: standard error is closed.
            let _ = writeln!(self.stderr(), "{}{text}", self.about);
        }
    }

    /// Prints a question without a line break.
    pub(crate) fn question(&self, text: impl std::fmt::Display) -> io::Result<()> {
        let mut stderr = self.stderr();
        write!(stderr, "{text}")?;
        stderr.flush()
    }

    /// Prints warnings: the first few, or all if verbose.
    pub(crate) fn warnings(&self, texts: &[String]) {
        let shown = match self.verbosity {
            Verbosity::Quiet => return,
            Verbosity::Normal => MAX_WARNINGS.min(texts.len()),
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

    /// Prints an error, its causes and its hint.
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

/// Standard output that reports a closed pipe as `OutputClosed`.
struct Stdout {
    stream: AutoStream<StdoutLock<'static>>,
    layout: TextLayout,
    printed: Arc<AtomicBool>,
}

/// A destination of results.
pub(crate) trait Output: Write {
    /// The destination for text.
    fn into_text(self) -> impl Write;
}

impl Output for Stdout {
    fn into_text(self) -> impl Write {
        let layout = self.layout.clone();
        Text::new(self, layout)
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
        self.stream.write(bytes).map_err(classify)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush().map_err(classify)
    }
}

fn classify(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::BrokenPipe => io::Error::new(ErrorKind::BrokenPipe, OutputClosed),
        _ => error,
    }
}
