//! What the arguments and the environment mean together.

use anstream::AutoStream;
use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::args::operator::LogFormat;
use crate::args::{Args, ColorChoice, Command, GlobalArgs};
use crate::errors::WithHint;

/// Which log lines are wanted, such as `info` or `fairway_operator=debug`; it wins over `-v`.
pub(crate) const FAIRWAY_LOG: &str = "FAIRWAY_LOG";

/// The environment variables that the program reads, with their meanings.
pub(crate) const ENVIRONMENT: &[(&str, &str)] = &[
    (
        FAIRWAY_LOG,
        "Which log lines are written to standard error, such as `info` or `fairway_operator=debug`. Wins over `--verbose`.",
    ),
    (
        "KUBECONFIG",
        "The kubeconfig, or several separated by colons, for commands about a cluster. `--kubeconfig` wins over it.",
    ),
    (
        "HTTPS_PROXY, NO_PROXY",
        "The proxy on the way to registries, and to the cluster unless the kubeconfig names one; and for whom there is none.",
    ),
    (
        "NO_COLOR",
        "Whatever its value, it takes the colour out of all output, unless `--color=always` asks for it.",
    ),
    (
        "COLUMNS",
        "How wide texts may be. Without it, as wide as the terminal; into a file or a pipe, of any width. It counts for texts alone, not for documents.",
    ),
    (
        "LC_ALL, LC_CTYPE, LANG",
        "The first that is set tells which characters can be shown. Without UTF-8, texts are embellished with ASCII alone; names stay as they are.",
    ),
];

/// Libraries that log an error and return it as well: whoever gets it says it, with what to do.
const SAID_TWICE: [&str; 2] = ["kube_client::client::builder=off", "rustls_platform_verifier=off"];

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
    log_format: LogFormat,
    /// What is logged where nobody says more or less.
    usual_log: &'static str,
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
        let (log_format, usual_log) = match &command {
            // Nobody is there to ask it again: its log is its story.
            Command::Operator(args) => (args.log_format, "info"),
            Command::OlmGuard(args) => (args.log_format, "info"),
            Command::Preflight(args) if !args.once => (args.started.log_format, "info"),
            #[cfg(feature = "sandbox")]
            Command::ExampleOperator(_) => (LogFormat::Text, "info"),
            _ => (LogFormat::Text, "warn"),
        };
        (Self { verbosity, color, log_filter, log_format, usual_log }, command)
    }

    /// Sends log lines to standard error.
    pub(crate) fn start_logging(&self) -> anyhow::Result<()> {
        let default = match self.verbosity {
            Verbosity::Quiet => "error",
            Verbosity::Normal => self.usual_log,
            Verbosity::Verbose => "info",
            Verbosity::Debug => "debug",
        };
        let wanted = self.log_filter.as_deref().unwrap_or(default);
        let filter = EnvFilter::builder().parse(wanted).with_context(|| WithHint {
            message: format!("{FAIRWAY_LOG}={wanted:?} does not say which log lines are wanted"),
            hint: "a level such as `info`, or levels for parts: `warn,fairway_operator=debug`"
                .into(),
        })?;
        let filter = match (&self.log_filter, self.verbosity) {
            (None, Verbosity::Quiet | Verbosity::Normal) => {
                let silenced = SAID_TWICE.iter().filter_map(|directive| directive.parse().ok());
                silenced.fold(filter, EnvFilter::add_directive)
            }
            _ => filter,
        };
        let stderr = std::io::stderr();
        let color = match self.color {
            anstream::ColorChoice::Auto => AutoStream::choice(&stderr),
            chosen => chosen,
        };
        let log = tracing_subscriber::fmt()
            .with_writer(std::io::stderr)
            .with_ansi(color != anstream::ColorChoice::Never)
            .with_env_filter(filter);
        let started = match self.log_format {
            LogFormat::Text => log.try_init(),
            LogFormat::Json => log.json().flatten_event(true).try_init(),
        };
        // A program that runs a command twice has set this up already.
        drop(started);
        Ok(())
    }
}
