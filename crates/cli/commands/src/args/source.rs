//! Arguments that select a cluster or a recorded cluster.

use std::path::PathBuf;

use clap::ValueHint;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::cluster::ClusterArgs;

#[derive(clap::Args)]
pub(crate) struct SourceArgs {
    #[command(flatten)]
    pub(crate) recorded: RecordedArgs,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Recorded cluster")]
pub(crate) struct RecordedArgs {
    /// File or directory with recorded objects (`kubectl get -o yaml`, must-gather) to read instead
    /// of a live cluster; repeatable
    ///
    /// PATH is a directory of `oc adm must-gather`, or a directory or file with objects as written
    /// by `kubectl get -o yaml`; `-` is standard input. With a file `X-cv.yaml`, the command also
    /// reads `X-co.yaml`, `X-mcp.yaml`, `X-mc.yaml`, `X-node.yaml`, `X-mco-deployment.yaml` and
    /// `X-alerts.json` beside it.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) from_file: Vec<PathBuf>,

    /// Time to use as the current time for recorded clusters, such as 2026-12-31T12:00:00Z or
    /// 2026-12-31; default: the last change in the files
    #[arg(long, value_name = "TIME", value_parser = time, requires = "from_file")]
    pub(crate) at: Option<Timestamp>,
}

/// A time, or the first moment of a day.
pub(super) fn time(text: &str) -> Result<Timestamp, String> {
    let day = || Date::strptime("%Y-%m-%d", text).ok()?.to_zoned(TimeZone::UTC).ok();
    let time = text.parse().ok().or_else(|| Some(day()?.timestamp()));
    time.ok_or_else(|| "not a time such as 2026-12-31T12:00:00Z or 2026-12-31".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_a_day_is_midnight() {
        for (text, at) in [
            ("2026-12-31T12:00:00Z", "2026-12-31T12:00:00Z"),
            ("2026-12-31T12:00:00+02:00", "2026-12-31T10:00:00Z"),
            ("2026-12-31", "2026-12-31T00:00:00Z"),
        ] {
            assert_eq!(time(text).unwrap().to_string(), at, "{text}");
        }
        for text in ["", "now", "2026-12-32", "12:00", "2026-12-31T12:00:00"] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
