//! Timeouts of requests.

use std::time::Duration;

use super::duration::some_time;

/// Default timeout of an update: that of a large control plane takes an hour or two.
const DEFAULT_UPDATE_WAIT: Duration = Duration::from_hours(3);

/// Default timeout of a preflight. A check may take fifteen minutes, after the image is pulled.
pub(super) const DEFAULT_PREFLIGHT_WAIT: Duration = Duration::from_mins(30);

#[derive(clap::Args)]
pub(crate) struct WaitingArgs {
    /// Do not wait for the decision of the operator
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// Timeout for the decision of the operator
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = some_time, conflicts_with = "no_wait")]
    pub(crate) timeout: Duration,

    /// Wait until the update is complete (default timeout: 3h), or until all checks of a preflight
    /// have results (default timeout: 30m)
    #[arg(
        long,
        value_name = "DURATION",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = USUAL,
        value_parser = wait_timeout,
        conflicts_with = "no_wait"
    )]
    pub(crate) wait: Option<WaitTimeout>,
}

/// Timeout of `--wait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitTimeout {
    /// The default timeout.
    Default,
    /// A timeout from the command line.
    For(Duration),
}

/// Value of `--wait` for the default timeout.
const USUAL: &str = "usual";

fn wait_timeout(text: &str) -> Result<WaitTimeout, String> {
    if text == USUAL { Ok(WaitTimeout::Default) } else { some_time(text).map(WaitTimeout::For) }
}

impl WaitTimeout {
    fn or(self, default: Duration) -> Duration {
        match self {
            Self::Default => default,
            Self::For(time) => time,
        }
    }
}

impl WaitingArgs {
    /// Timeout of an update; `None` without `--wait`.
    pub(crate) fn for_update(&self) -> Option<Duration> {
        self.wait.map(|timeout| timeout.or(DEFAULT_UPDATE_WAIT))
    }

    /// Timeout of a preflight; `None` without `--wait`.
    pub(crate) fn for_preflight(&self) -> Option<Duration> {
        self.wait.map(|timeout| timeout.or(DEFAULT_PREFLIGHT_WAIT))
    }

    /// Timeout of a preflight with `--dry-run`, which always waits.
    pub(crate) fn for_dry_run(&self) -> Duration {
        self.for_preflight().unwrap_or(DEFAULT_PREFLIGHT_WAIT)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        waiting: WaitingArgs,
    }

    #[test]
    fn timeout_is_the_default_or_the_argument() {
        for (arguments, update, preflight) in [
            (&[][..], None, None),
            (&["--wait"], Some(DEFAULT_UPDATE_WAIT), Some(DEFAULT_PREFLIGHT_WAIT)),
            (&["--wait=5m"], Some(Duration::from_mins(5)), Some(Duration::from_mins(5))),
        ] {
            let typed = Typed::try_parse_from([&["upgrade"], arguments].concat()).unwrap();
            let timeouts = (typed.waiting.for_update(), typed.waiting.for_preflight());
            assert_eq!(timeouts, (update, preflight), "{arguments:?}");
        }
        assert!(Typed::try_parse_from(["upgrade", "--wait", "--no-wait"]).is_err());
    }
}
