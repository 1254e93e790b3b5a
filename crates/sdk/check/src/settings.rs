//! What a check is told: by its environment in a release, by arguments where people run it.

use std::path::PathBuf;
use std::time::Duration;

use fairway_findings::environment;
use jiff::Timestamp;
use semver::Version;

/// How long a check may take, from its start.
const LONGEST: Duration = Duration::from_mins(5);

/// What is left of that for the answer to be written and read.
const FOR_THE_ANSWER: Duration = Duration::from_secs(5);

/// What `--help` prints.
pub(crate) const USAGE: &str = "\
Checks a cluster before an update and prints the findings as one line of JSON. A preflight sets the
environment variables in parentheses; to run the check by hand, use the arguments:

  --source-version=VERSION  Version of the cluster (PREFLIGHT_SOURCE_VERSION)
  --target-version=VERSION  Version of the target release (PREFLIGHT_TARGET_VERSION)
  --manifests=DIR           Manifests of the target release (PREFLIGHT_MANIFESTS)
  --kubeconfig=FILE         Kubeconfig of the cluster (default: in-cluster, or as kubectl)
  --help                    Print this help
";

/// What a check is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The version of the cluster.
    pub source: Version,
    /// The version of the release that the check is from.
    pub target: Version,
    /// The image of that release, by digest; empty if nobody says.
    pub target_image: String,
    /// The run that it is part of; empty if nobody says.
    pub run: String,
    /// The namespace that its manifest declares; empty if nobody says.
    pub namespace: String,
    /// When it has to be done.
    pub deadline: Option<Timestamp>,
    /// The directory with the manifests of the release.
    pub manifests: Option<PathBuf>,
    /// How the cluster is reached, if not as usual.
    pub kubeconfig: Option<PathBuf>,
    /// The arguments that are the check's own.
    pub arguments: Vec<String>,
}

/// Why a check cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Something is missing.
    #[error("{variable} is not set: outside of a preflight, pass --{argument}")]
    Missing {
        /// The variable of the environment.
        variable: &'static str,
        /// The argument that does the same.
        argument: &'static str,
    },
    /// Something cannot be read.
    #[error("{variable} is {text:?}, expected a {wanted}")]
    Malformed {
        /// The variable of the environment.
        variable: &'static str,
        /// What it says.
        text: String,
        /// What it should.
        wanted: &'static str,
    },
}

impl Settings {
    /// For a check that nobody tells more than the versions.
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

    /// What arguments and environment say; arguments come first.
    pub fn parse(
        arguments: impl IntoIterator<Item = String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SettingsError> {
        let mut arguments: Vec<String> = arguments.into_iter().collect();
        let mut told = |name: &'static str, argument: &str| {
            take(&mut arguments, argument).or_else(|| variable(name))
        };
        let source = version(
            told(environment::SOURCE_VERSION, SOURCE_VERSION),
            environment::SOURCE_VERSION,
            SOURCE_VERSION,
        )?;
        let target = version(
            told(environment::TARGET_VERSION, TARGET_VERSION),
            environment::TARGET_VERSION,
            TARGET_VERSION,
        )?;
        let manifests = told(environment::MANIFESTS, "manifests").map(PathBuf::from);
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

    /// How long the check may look, if it begins now.
    pub fn time(&self, now: Timestamp) -> Duration {
        let until = self.deadline.map(|deadline| now.duration_until(deadline));
        let until = until.map(|until| Duration::try_from(until).unwrap_or_default());
        until.unwrap_or(LONGEST).min(LONGEST).saturating_sub(FOR_THE_ANSWER)
    }
}

const SOURCE_VERSION: &str = "source-version";
const TARGET_VERSION: &str = "target-version";

/// Takes `--name=value` or `--name value` out of the arguments.
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
    fn the_environment_says_everything() {
        let settings = parse(&["foo", "--baar"], ENVIRONMENT).unwrap();
        assert_eq!(settings.source, Version::new(5, 0, 0));
        assert_eq!(settings.target, Version::new(5, 2, 0));
        assert_eq!(settings.namespace, "openshift-network");
        assert_eq!(settings.manifests, Some("/preflight/manifests".into()));
        assert_eq!(settings.arguments, ["foo", "--baar"], "they are the check's own");
    }

    #[test]
    fn arguments_come_first() {
        let arguments = ["--target-version=5.3.0", "foo", "--source-version", "5.1.0", "bar"];
        let settings = parse(&arguments, ENVIRONMENT).unwrap();
        assert_eq!(settings.source, Version::new(5, 1, 0));
        assert_eq!(settings.target, Version::new(5, 3, 0));
        assert_eq!(settings.arguments, ["foo", "bar"]);
        let settings = parse(&arguments, &[]).unwrap();
        assert_eq!((settings.deadline, settings.manifests), (None, None));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        insta::assert_snapshot!(parse(&[], &[]).unwrap_err(), @"PREFLIGHT_SOURCE_VERSION is not set: outside of a preflight, pass --source-version");
        let wrong = parse(&["--source-version=5"], ENVIRONMENT).unwrap_err();
        insta::assert_snapshot!(wrong, @r#"PREFLIGHT_SOURCE_VERSION is "5", expected a version such as 5.2.0"#);
        let last = parse(&["--source-version"], &[]).unwrap_err();
        assert!(matches!(last, SettingsError::Missing { .. }), "{last}");
    }

    #[test]
    fn there_is_time_until_the_deadline_and_never_more_than_a_check_gets() {
        let at = |time: &str| parse(&[], ENVIRONMENT).unwrap().time(time.parse().unwrap());
        assert_eq!(at("2026-01-01T00:00:00Z"), Duration::from_secs(115));
        assert_eq!(at("2025-12-31T00:00:00Z"), Duration::from_secs(295));
        assert_eq!(at("2026-01-01T00:01:58Z"), Duration::ZERO);
        assert_eq!(at("2026-01-01T01:00:00Z"), Duration::ZERO);
    }
}
