//! Settings of a check: environment variables in a release, arguments for users.

use std::path::PathBuf;
use std::time::Duration;

use fairway_findings::environment;
use jiff::Timestamp;
use semver::Version;

/// Maximum time of a check.
const MAX_TIME: Duration = Duration::from_mins(5);

/// Reserve for writing and reading the result.
const RESULT_RESERVE: Duration = Duration::from_secs(5);

/// Output of `--help`.
pub(crate) const USAGE: &str = "\
Checks a cluster before an update and prints the findings as one line of JSON. A preflight sets the
environment variables in parentheses; to run the check manually, use the arguments:

  --source-version=VERSION  Version of the cluster (PREFLIGHT_SOURCE_VERSION)
  --target-version=VERSION  Version of the target release (PREFLIGHT_TARGET_VERSION)
  --manifests=DIR           Manifests of the target release (PREFLIGHT_MANIFESTS)
  --kubeconfig=FILE         Kubeconfig of the cluster (default: in-cluster, otherwise like kubectl)
  --help                    Print this help
";

/// Settings of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Version of the cluster.
    pub source: Version,
    /// Version of the target release.
    pub target: Version,
    /// Image of the target release, by digest; empty if not set.
    pub target_image: String,
    /// ID of the run; empty if not set.
    pub run: String,
    /// Namespace of the check's manifest; empty if not set.
    pub namespace: String,
    /// Deadline of the check.
    pub deadline: Option<Timestamp>,
    /// Directory with the manifests of the release.
    pub manifests: Option<PathBuf>,
    /// Kubeconfig, if not the default.
    pub kubeconfig: Option<PathBuf>,
    /// Further arguments, which are the check's own.
    pub arguments: Vec<String>,
}

/// Why the settings are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A required setting is missing.
    #[error("{variable} is not set: outside of a preflight, pass --{argument}")]
    Missing {
        /// Environment variable.
        variable: &'static str,
        /// Equivalent argument.
        argument: &'static str,
    },
    /// A setting is invalid.
    #[error("{variable} is {text:?}, expected a {wanted}")]
    Malformed {
        /// Environment variable.
        variable: &'static str,
        /// Value.
        text: String,
        /// Expected format.
        wanted: &'static str,
    },
}

impl Settings {
    /// Settings with versions only.
    pub fn new(source: Version, target: Version) -> Self {
        Self {
            source,
            target,
            target_image: String::new(),
            run: String::new(),
            namespace: String::new(),
            deadline: None,
            manifests: None,
            kubeconfig: None,
            arguments: Vec::new(),
        }
    }

    /// Parses arguments and environment. Arguments take precedence.
    pub fn parse(
        arguments: impl IntoIterator<Item = String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SettingsError> {
        let mut arguments: Vec<String> = arguments.into_iter().collect();
        let mut rendered = |name: &'static str, argument: &str| {
            take(&mut arguments, argument).or_else(|| variable(name))
        };
        let source = version(
            rendered(environment::SOURCE_VERSION, SOURCE_VERSION),
            environment::SOURCE_VERSION,
            SOURCE_VERSION,
        )?;
        let target = version(
            rendered(environment::TARGET_VERSION, TARGET_VERSION),
            environment::TARGET_VERSION,
            TARGET_VERSION,
        )?;
        let manifests = rendered(environment::MANIFESTS, "manifests").map(PathBuf::from);
        let kubeconfig = take(&mut arguments, "kubeconfig").map(PathBuf::from);
        let text = |name| variable(name).unwrap_or_default();
        let deadline = variable(environment::DEADLINE).map(|text| deadline(&text)).transpose()?;
        Ok(Self {
            source,
            target,
            target_image: text(environment::TARGET_IMAGE),
            run: text(environment::RUN),
            namespace: text(environment::NAMESPACE),
            deadline,
            manifests,
            kubeconfig,
            arguments,
        })
    }

    /// Timeout of a check that starts now.
    pub fn time(&self, now: Timestamp) -> Duration {
        let until = self.deadline.map(|deadline| now.duration_until(deadline));
        let until = until.map(|until| Duration::try_from(until).unwrap_or_default());
        until.unwrap_or(MAX_TIME).min(MAX_TIME).saturating_sub(RESULT_RESERVE)
    }
}

const SOURCE_VERSION: &str = "source-version";
const TARGET_VERSION: &str = "target-version";

/// Removes `--name=value` or `--name value` from the arguments.
fn take(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let flag = format!("--{name}");
    let value_of =
        |argument: &String| argument.strip_prefix(&flag)?.strip_prefix('=').map(str::to_owned);
    let position =
        arguments.iter().position(|argument| *argument == flag || value_of(argument).is_some())?;
    let argument = arguments.remove(position);
    match value_of(&argument) {
        Some(value) => Some(value),
        None => (position < arguments.len()).then(|| arguments.remove(position)),
    }
}

fn version(
    text: Option<String>,
    variable: &'static str,
    argument: &'static str,
) -> Result<Version, SettingsError> {
    let text = text.filter(|text| !text.is_empty());
    let text = text.ok_or(SettingsError::Missing { variable, argument })?;
    Version::parse(&text).map_err(|_| SettingsError::Malformed {
        variable,
        text,
        wanted: "version such as 5.2.0",
    })
}

fn deadline(text: &str) -> Result<Timestamp, SettingsError> {
    text.parse().map_err(|_| SettingsError::Malformed {
        variable: environment::DEADLINE,
        text: text.to_owned(),
        wanted: "time such as 2026-01-01T00:00:00Z",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENVIRONMENT: &[(&str, &str)] = &[
        ("PREFLIGHT_ID", "0123456789abcdef0123456789abcdef"),
        ("PREFLIGHT_SOURCE_VERSION", "5.0.0"),
        ("PREFLIGHT_TARGET_VERSION", "5.2.0"),
        ("PREFLIGHT_DEADLINE", "2026-01-01T00:02:00Z"),
        ("PREFLIGHT_NAMESPACE", "openshift-network"),
        ("PREFLIGHT_MANIFESTS", "/preflight/manifests"),
    ];

    fn parse(arguments: &[&str], environment: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned());
        Settings::parse(arguments, |name| {
            let found = environment.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn parse_reads_environment() {
        let settings = parse(&["foo", "--baar"], ENVIRONMENT).unwrap();
        assert_eq!(settings.source, Version::new(5, 0, 0));
        assert_eq!(settings.target, Version::new(5, 2, 0));
        assert_eq!(settings.namespace, "openshift-network");
        assert_eq!(settings.manifests, Some("/preflight/manifests".into()));
        assert_eq!(settings.arguments, ["foo", "--baar"], "they are the check's own");
    }

    #[test]
    fn parse_prefers_arguments() {
        let arguments = ["--target-version=5.3.0", "foo", "--source-version", "5.1.0", "bar"];
        let settings = parse(&arguments, ENVIRONMENT).unwrap();
        assert_eq!(settings.source, Version::new(5, 1, 0));
        assert_eq!(settings.target, Version::new(5, 3, 0));
        assert_eq!(settings.arguments, ["foo", "bar"]);
        let settings = parse(&arguments, &[]).unwrap();
        assert_eq!((settings.deadline, settings.manifests), (None, None));
    }

    #[test]
    fn parse_error_names_setting() {
        insta::assert_snapshot!(parse(&[], &[]).unwrap_err(), @"PREFLIGHT_SOURCE_VERSION is not set: outside of a preflight, pass --source-version");
        let wrong = parse(&["--source-version=5"], ENVIRONMENT).unwrap_err();
        insta::assert_snapshot!(wrong, @r#"PREFLIGHT_SOURCE_VERSION is "5", expected a version such as 5.2.0"#);
        let last = parse(&["--source-version"], &[]).unwrap_err();
        assert!(matches!(last, SettingsError::Missing { .. }), "{last}");
    }

    #[test]
    fn time_is_limited_by_deadline_and_maximum() {
        let at = |time: &str| parse(&[], ENVIRONMENT).unwrap().time(time.parse().unwrap());
        assert_eq!(at("2026-01-01T00:00:00Z"), Duration::from_secs(115));
        assert_eq!(at("2025-12-31T00:00:00Z"), Duration::from_secs(295));
        assert_eq!(at("2026-01-01T00:01:58Z"), Duration::ZERO);
        assert_eq!(at("2026-01-01T01:00:00Z"), Duration::ZERO);
    }
}
