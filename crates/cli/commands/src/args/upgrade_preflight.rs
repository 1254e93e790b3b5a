//! Arguments of preflights.

use std::time::Duration;

use clap::ValueEnum;
use fairway_findings::consent;

use super::duration::some_time;
use super::pull_spec::PullSpec;
use super::report::ReportArgs;
use super::source::SourceArgs;
use super::upgrade::{RequestArgs, TARGET, version};
use crate::errors::WrongUsage;

/// Default timeout of a preflight, as on the command line.
pub(super) const DEFAULT_PREFLIGHT_TIMEOUT: &str = "30m";

/// Default maximum age of the results that an update requires: covers nightly preflights.
const MAX_AGE: &str = "24h";

#[derive(clap::Args)]
#[command(next_help_heading = "Preflight")]
pub(crate) struct PreflightArgs {
    /// Request only a preflight of the release, not an update
    #[arg(
        long,
        value_name = "MODE",
        requires = TARGET,
        conflicts_with_all = ["to_multi_arch", "allow_not_recommended", "allow_upgrade_with_warnings",
            "dry_run", "yes"]
    )]
    pub(crate) mode: Option<Mode>,

    /// Secrets that checks of the release may read
    ///
    /// A check that reads other Secrets is refused, and the report names them. The operator has to
    /// run with `--preflight-grant-secrets`, and the signature of the release has to be valid.
    #[arg(
        long,
        value_name = "NAMESPACE/NAME,…",
        value_delimiter = ',',
        value_parser = secret,
        requires = TARGET,
        conflicts_with_all = ["force", "status_preflight"]
    )]
    pub(crate) allow_secrets: Vec<String>,

    /// Show the findings of the requested preflight; with `--to`: those of this release
    #[arg(
        long,
        conflicts_with_all = ["to_latest", "to_multi_arch", "clear", "mode", "wait", "force", "yes",
            "dry_run", "no_wait", "allow_not_recommended", "allow_explicit_upgrade",
            "allow_upgrade_with_warnings"]
    )]
    pub(crate) status_preflight: bool,

    /// Withdraw the requested preflight; updates and accepted risks stay
    #[arg(long, conflicts_with_all = [TARGET, "clear", "wait", "status_preflight"])]
    pub(crate) clear_preflight: bool,

    /// Keep the results of a preflight when its request is withdrawn
    #[arg(long)]
    pub(crate) keep_results: bool,

    /// Update only if a preflight of the release, not older than `MAX_AGE` (default: 24h), has no
    /// unaccepted findings
    #[arg(
        long,
        value_name = "MAX_AGE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = MAX_AGE,
        value_parser = some_time,
        requires = TARGET,
        conflicts_with_all = ["to_multi_arch", "mode", "dry_run", "force", "status_preflight"]
    )]
    pub(crate) require_preflight: Option<Duration>,
}

/// Mode of a request, other than an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Run a preflight
    Preflight,
}

/// Preflight action of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PreflightAction {
    /// Run a preflight.
    Request,
    /// Run a preflight, report its findings and withdraw it.
    DryRun,
    /// Show the findings.
    Status,
    /// Withdraw the request.
    Clear,
}

impl PreflightArgs {
    /// Returns the preflight action of the command line, if any.
    pub(crate) fn action(
        &self,
        request: &RequestArgs,
    ) -> Result<Option<PreflightAction>, WrongUsage> {
        let action = match self {
            Self { mode: Some(Mode::Preflight), .. } => Some(PreflightAction::Request),
            Self { status_preflight: true, .. } => Some(PreflightAction::Status),
            Self { clear_preflight: true, .. } => Some(PreflightAction::Clear),
            _ if request.dry_run && request.names_a_release() => Some(PreflightAction::DryRun),
            _ => None,
        };
        let runs = matches!(action, Some(PreflightAction::Request | PreflightAction::DryRun));
        let withdraws = matches!(action, Some(PreflightAction::Clear | PreflightAction::DryRun));
        if request.waiting.wait.is_some() && !runs && !request.asks() {
            return Err(WrongUsage(
                "--wait needs an update or a preflight: specify a release with --to, --to-image or \
                 --to-latest"
                    .to_owned(),
            ));
        }
        if request.dry_run && action.is_none() && !request.is_one() {
            return Err(WrongUsage(
                "--dry-run needs --to, --to-image, --to-latest, --to-multi-arch, --clear or \
                 --clear-preflight"
                    .to_owned(),
            ));
        }
        if self.keep_results && !withdraws {
            return Err(WrongUsage(
                "--keep-results needs --clear-preflight, or a release and --dry-run".to_owned(),
            ));
        }
        if !self.allow_secrets.is_empty() && !runs {
            return Err(WrongUsage(
                "--allow-secrets needs --mode=preflight, or a release and --dry-run".to_owned(),
            ));
        }
        if action == Some(PreflightAction::DryRun) && request.waiting.no_wait {
            return Err(WrongUsage(
                "--dry-run waits for the preflight and cannot be used with --no-wait".to_owned(),
            ));
        }
        Ok(action)
    }
}

/// A Secret, as `NAMESPACE/NAME`.
pub(super) fn secret(text: &str) -> Result<String, String> {
    if consent::is_secret(text) {
        return Ok(text.to_owned());
    }
    Err("not a Secret such as openshift-ingress/router-certs".to_owned())
}

#[derive(clap::Args)]
pub(crate) struct CompareArgs {
    /// Versions or release images to compare
    #[arg(value_name = "RELEASE", required = true, num_args = 1..=MAX_RELEASES)]
    pub(crate) releases: Vec<ReleaseChoice>,

    /// Run missing and incomplete preflights one after the other, then restore the previous request
    #[arg(long, conflicts_with = "from_file")]
    pub(crate) run: bool,

    /// Timeout of each preflight
    #[arg(long, value_name = "DURATION", default_value = DEFAULT_PREFLIGHT_TIMEOUT, value_parser = some_time, requires = "run")]
    pub(crate) wait: Duration,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Maximum number of releases: the columns of a table have to fit on a screen.
const MAX_RELEASES: usize = 8;

/// A release, by its version or its image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReleaseChoice {
    /// A version.
    Version(String),
    /// An image, by digest.
    Image(String),
}

impl std::str::FromStr for ReleaseChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains('/') {
            return version(text).map(Self::Version);
        }
        match text.parse::<PullSpec>()? {
            PullSpec { text, by_digest: true } => Ok(Self::Image(text)),
            _ => Err("image is not pinned; specify its digest as @sha256:…".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::waiting::DEFAULT_PREFLIGHT_WAIT;
    use super::*;

    #[test]
    fn default_timeouts_are_equal() {
        assert_eq!(some_time(DEFAULT_PREFLIGHT_TIMEOUT), Ok(DEFAULT_PREFLIGHT_WAIT));
    }

    #[test]
    fn secret_has_namespace_and_name() {
        assert_eq!(secret("a/b").as_deref(), Ok("a/b"));
        let refused = ["a", "a/*", "a/b/c"].map(|text| secret(text).unwrap_err());
        insta::assert_snapshot!(refused[0], @"not a Secret such as openshift-ingress/router-certs");
    }

    #[test]
    fn release_is_a_version_or_an_image_by_digest() {
        let image = format!("registry.example/release@sha256:{}", "0".repeat(64));
        assert_eq!("5.1.0".parse(), Ok(ReleaseChoice::Version("5.1.0".to_owned())));
        assert_eq!(image.parse(), Ok(ReleaseChoice::Image(image.clone())));
        let refused = ["5.1", "registry.example/release:5.1.0", "registry.example/release"]
            .map(|text| text.parse::<ReleaseChoice>().unwrap_err());
        insta::assert_snapshot!(refused.join("\n"), @r#"
        "5.1" is not a semantic version such as 5.1.0 or 5.2.0-rc.1
        image is not pinned; specify its digest as @sha256:…
        no tag or digest specified, such as @sha256:…
        "#);
    }
}
