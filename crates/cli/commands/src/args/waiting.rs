//! For how long a command waits for what it has asked for.

use std::time::Duration;

use super::duration::some_time;

/// How long an update is waited for: that of a large control plane takes an hour or two.
const UPDATE: Duration = Duration::from_hours(3);

/// How long the first pass over all checks of a preflight is waited for. A check may take fifteen
/// minutes, and an image has to be pulled before.
pub(super) const PREFLIGHT: Duration = Duration::from_mins(30);

#[derive(clap::Args)]
pub(crate) struct WaitingArgs {
    /// Do not wait for the operator's answer
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// How long to wait for the operator's answer
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = some_time, conflicts_with = "no_wait")]
    pub(crate) timeout: Duration,

    /// Wait until the update is complete, for at most 3h or that time; with a preflight, until all
    /// checks have answered, for at most 30m or that time
    #[arg(
        long,
        value_name = "DURATION",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = USUAL,
        value_parser = patience,
        conflicts_with = "no_wait"
    )]
    pub(crate) wait: Option<Patience>,
}

/// How long somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As long as it usually takes.
    Usual,
    /// That long.
    For(Duration),
}

/// How the usual patience is typed by those who want to see it.
const USUAL: &str = "usual";

fn patience(text: &str) -> Result<Patience, String> {
    if text == USUAL { Ok(Patience::Usual) } else { some_time(text).map(Patience::For) }
}

impl Patience {
    fn or(self, usual: Duration) -> Duration {
        match self {
            Self::Usual => usual,
            Self::For(time) => time,
        }
    }
}

impl WaitingArgs {
    /// How long an update is waited for, if it is.
    pub(crate) fn for_update(&self) -> Option<Duration> {
        self.wait.map(|patience| patience.or(UPDATE))
    }

    /// How long a preflight is waited for, if it is.
    pub(crate) fn for_preflight(&self) -> Option<Duration> {
        self.wait.map(|patience| patience.or(PREFLIGHT))
    }

    /// How long a preflight is waited for that is nothing without its answers.
    pub(crate) fn for_dry_run(&self) -> Duration {
        self.for_preflight().unwrap_or(PREFLIGHT)
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
    fn patience_is_as_long_as_it_usually_takes_or_as_somebody_says() {
        for (arguments, update, preflight) in [
            (&[][..], None, None),
            (&["--wait"], Some(UPDATE), Some(PREFLIGHT)),
            (&["--wait=5m"], Some(Duration::from_mins(5)), Some(Duration::from_mins(5))),
        ] {
            let typed = Typed::try_parse_from([&["upgrade"], arguments].concat()).unwrap();
            let said = (typed.waiting.for_update(), typed.waiting.for_preflight());
            assert_eq!(said, (update, preflight), "{arguments:?}");
        }
        assert!(Typed::try_parse_from(["upgrade", "--wait", "--no-wait"]).is_err());
    }
}
