//! Arguments of `fairway upgrade explain`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueHint;
use fairway_api::Version;
use fairway_insight::explain::Subject;

use super::report::ReportArgs;
use super::source::SourceArgs;

#[derive(clap::Args)]
pub(crate) struct ExplainArgs {
    /// Name of a risk, or version of an update
    #[arg(value_name = "RISK|VERSION")]
    pub(crate) subject: SubjectChoice,

    /// With a version: file with the update graph, to explain why the version is not available
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) graph: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Subject of an explanation. Names of risks do not begin with a digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubjectChoice(pub(crate) Subject);

impl FromStr for SubjectChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err(
                "risk or version is missing; to list them, run `fairway upgrade`".to_owned()
            );
        }
        if !text.starts_with(|first: char| first.is_ascii_digit()) {
            return Ok(Self(Subject::Risk(text.to_owned())));
        }
        let version = Version::parse(text).map_err(|error| error.to_string())?;
        Ok(Self(Subject::Update(version)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_with_leading_digit_is_a_version() {
        let risk = |name: &str| Ok(SubjectChoice(Subject::Risk(name.to_owned())));
        assert_eq!("SlowDisks".parse(), risk("SlowDisks"));
        assert_eq!(" SlowDisks ".parse(), risk("SlowDisks"));
        let version = Version::parse("5.2.0-rc.1").unwrap();
        assert_eq!("5.2.0-rc.1".parse(), Ok(SubjectChoice(Subject::Update(version))));
        for wrong in ["", " ", "5.2", "5.2.x"] {
            assert!(wrong.parse::<SubjectChoice>().is_err(), "{wrong:?}");
        }
    }
}
