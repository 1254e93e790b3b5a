//! Settings from the arguments and the environment.

use anstream::AutoStream;
use tracing_subscriber::EnvFilter;

use crate::args::operator::LogFormat;
use crate::args::{Args, ColorChoice, Command, GlobalArgs};
use crate::errors::HintExt as _;

/// The log filter, such as `info` or `fairway_operator=debug`; it overrides `-v`.
pub(crate) const FAIRWAY_LOG: &str = "FAIRWAY_LOG";

/// The environment variables of the binary, with their meanings.
pub(crate) const ENVIRONMENT: &[(&str, &str)] = &[
    (
        FAIRWAY_LOG,
        "Log filter for standard error, such as `info` or `fairway_operator=debug`. Overrides \
         `--verbose`.",
    ),
    ("KUBECONFIG", "Kubeconfig files, separated by colons. `--kubeconfig` overrides it."),
    (
        "HTTPS_PROXY, NO_PROXY",
        "Proxy for registries, and for the cluster unless the kubeconfig has one. `NO_PROXY` lists \
         hosts that Fairway contacts directly.",
    ),
    (
        "NO_COLOR",
        "Disables colours in all output, whatever its value. `--color=always` overrides it.",
    ),
    (
        "COLUMNS",
        "Maximum width of text output. Default: the width of the terminal, unlimited for files and \
         pipes. JSON and YAML are not wrapped.",
    ),
    (
        "LC_ALL, LC_CTYPE, LANG",
        "Locale; the first variable that is set applies. Without UTF-8, Fairway prints its own \
         symbols in ASCII; names are unchanged.",
    ),
];

/// Libraries that log an error and also return it; the command prints the returned one with a hint.
const DUPLICATE_LOGS: [&str; 2] =
    ["kube_client::client::builder=off", "rustls_platform_verifier=off"];

/// The amount of output beside results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Results and errors.
    Quiet,
    /// Also progress and notes.
    Normal,
    /// Also steps.
    Verbose,
    /// Also details.
    Debug,
}

/// Settings of all commands.
pub(crate) struct Settings {
    pub(crate) verbosity: Verbosity,
    pub(crate) color: anstream::ColorChoice,
    log_filter: Option<String>,
    log_format: LogFormat,
    /// The default log filter.
    usual_log: &'static str,
}

impl Settings {
    /// Combines arguments and environment. Returns the settings and the command.
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
            // A service has no interactive user, so its log has more.
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
        let filter = EnvFilter::builder().parse(wanted).with_hint(
            format!("invalid log filter {FAIRWAY_LOG}={wanted:?}"),
            "set a level such as `info`, or levels by module: `warn,fairway_operator=debug`",
        )?;
        let filter = match (&self.log_filter, self.verbosity) {
            (None, Verbosity::Quiet | Verbosity::Normal) => {
                let silenced = DUPLICATE_LOGS.iter().filter_map(|directive| directive.parse().ok());
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
        // An error means that this process has run a command before.
        drop(started);
        Ok(())
    }
}
