//! Arguments of the example platform.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::ValueHint;
use clap::error::ErrorKind;
use fairway_example::images::{CHECK_PROGRAM, MISSING_COMMAND_VARIABLE};

/// Arguments of an example operator.
#[derive(clap::Args)]
pub(crate) struct ExampleOperatorArgs {
    /// Component, which is the name of its ClusterOperator
    #[arg(value_name = "COMPONENT")]
    pub(crate) name: String,

    /// Version of the release
    #[arg(long, value_name = "VERSION", env = "RELEASE_VERSION")]
    pub(crate) release_version: String,
}

/// Arguments of an example check.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ExampleCheckArgs {
    /// Component of the check
    #[arg(value_name = "COMPONENT")]
    pub(crate) name: String,

    /// Arguments of the check
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

/// Destination of the example platform.
#[derive(clap::Args)]
#[group(required = true, multiple = true)]
pub(crate) struct ExamplePlatformArgs {
    /// Directory for images, signatures, graph-data and the list of releases
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,

    /// Repository below which to push the images, such as registry.example/platform
    #[arg(long, value_name = "REPOSITORY")]
    pub(crate) push: Option<String>,
}

/// Inserts the subcommand for checks if the binary has the name of a check, as in the images of example
/// operators.
pub(crate) fn insert_check_subcommand(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let program = arguments.first().and_then(|program| Path::new(program).file_name());
    if program == Path::new(CHECK_PROGRAM).file_name() {
        arguments.insert(1, "example-check".into());
    }
    arguments
}

/// Returns the error of an unknown subcommand, for a release of the example platform that is older
/// than the subcommand.
pub(crate) fn forgotten(command: &clap::Command, typed: Option<&OsString>) -> Option<clap::Error> {
    unknown(command, typed, std::env::var_os(MISSING_COMMAND_VARIABLE))
}

fn unknown(
    command: &clap::Command,
    typed: Option<&OsString>,
    forgotten: Option<OsString>,
) -> Option<clap::Error> {
    let forgotten = forgotten.filter(|forgotten| Some(forgotten) == typed)?;
    let message = format!("unrecognized subcommand '{}'", forgotten.display());
    Some(command.clone().error(ErrorKind::InvalidSubcommand, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_named_as_check_runs_the_check() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let check = insert_check_subcommand(words(&["/bin/preflight", "network", "--help"]));
        assert_eq!(check, words(&["/bin/preflight", "example-check", "network", "--help"]));
        let other = words(&["/usr/bin/fairway", "preflight"]);
        assert_eq!(insert_check_subcommand(other.clone()), other);
    }

    #[test]
    fn old_release_refuses_later_subcommands() {
        let command = clap::Command::new("fairway");
        let said = |typed: &str, forgotten: Option<&str>| {
            unknown(&command, Some(&typed.into()), forgotten.map(OsString::from))
        };
        assert!(said("preflight", None).is_none());
        assert!(said("operator", Some("preflight")).is_none());
        let error = said("preflight", Some("preflight")).unwrap();
        assert!(error.use_stderr());
        insta::assert_snapshot!(error, @"
        error: unrecognized subcommand 'preflight'

        Usage: fairway

        For more information, try '--help'.
        ");
    }
}
