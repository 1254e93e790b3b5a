//! What the arguments and the environment mean together.

use tracing_subscriber::EnvFilter;

use crate::args::{Args, ColorChoice, Command, GlobalArgs};

/// Which log lines are wanted, such as `info` or `fairway_operator=debug`; it wins over `-v`.
pub(crate) const FAIRWAY_LOG: &str = "FAIRWAY_LOG";

/// The environment variables that the program reads, with their meanings.
pub(crate) const ENVIRONMENT: &[(&str, &str)] = &[
    (
        FAIRWAY_LOG,
        "Which log lines are written to standard error, such as `info` or `fairway_operator=debug`. Wins over `--verbose`.",
    ),
    ("NO_COLOR", "Set to anything, output has no colour unless `--color=always` asks for it."),
];

/// How much is said beside the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Results and errors.
    Quiet,
    /// Progress and notes as well.
    Normal,
    /// And what is being done.
    Verbose,
    /// And how.
    Debug,
}

/// What holds for every command.
pub(crate) struct Settings {
    pub(crate) verbosity: Verbosity,
    pub(crate) color: anstream::ColorChoice,
    log_filter: Option<String>,
}

impl Settings {
    /// Settles what was typed and what the environment says; hands the command on.
    pub(crate) fn resolve(args: Args) -> (Self, Command) {
        let Args { global: GlobalArgs { quiet, verbose, color }, command } = args;
        let verbosity = match (quiet, verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, 1) => Verbosity::Verbose,
            (false, _) => Verbosity::Debug,
        };
        let color = match color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        let log_filter = std::env::var(FAIRWAY_LOG).ok();
        (Self { verbosity, color, log_filter }, command)
    }

    /// Sends log lines to standard error.
    pub(crate) fn start_logging(&self) {
        let default = match self.verbosity {
            Verbosity::Quiet => "error",
            Verbosity::Normal => "warn",
            Verbosity::Verbose => "info",
            Verbosity::Debug => "debug",
        };
        let wanted = self.log_filter.as_deref().unwrap_or(default);
        tracing_subscriber::fmt()
            .with_writer(std::io::stderr)
            .with_env_filter(EnvFilter::builder().parse_lossy(wanted))
            .init();
    }
}
