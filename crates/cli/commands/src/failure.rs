//! The document that a command prints if it fails: `Failure`.

use std::io::Write;

use clap::ArgMatches;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::report::ReportFormat;
use crate::errors::{self, OpenRisk};
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

impl TypedReport for Failure {
    const KIND: &'static str = "Failure";
}

/// Error of a command.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Failure {
    /// Meaning of the exit code.
    reason: ExitStatus,
    /// Exit code of the command.
    exit_code: u8,
    /// Error message.
    message: String,
    /// Causes of the error, the root cause last.
    causes: Vec<String>,
    /// Next step, with a command.
    hint: Option<String>,
    /// Unaccepted risks, if they are the cause.
    risks: Vec<OpenRisk>,
}

impl Failure {
    /// The document of an error.
    pub(crate) fn of(error: &anyhow::Error, printer: &Printer) -> Self {
        let mut messages = errors::chain(error).into_iter();
        let reason = errors::status(error);
        Self {
            reason,
            exit_code: reason.code(),
            message: messages.next().unwrap_or_default(),
            causes: messages.collect(),
            hint: errors::hint(error).map(|hint| printer.as_typed(hint)),
            risks: errors::open_risks(error).to_vec(),
        }
    }

    /// Writes the document. With text output there is none: the error is on standard error.
    pub(crate) fn write(&self, out: impl Write, format: ReportFormat) -> anyhow::Result<()> {
        match format {
            ReportFormat::Text => Ok(()),
            ReportFormat::Json => output::document(out, self),
            ReportFormat::Yaml => output::yaml_document(out, self),
        }
    }
}

/// The output format of a command line.
pub(crate) fn format(matches: &ArgMatches) -> ReportFormat {
    let mut command = matches;
    while let Some((_, typed)) = command.subcommand() {
        command = typed;
    }
    // Some commands have other formats or none.
    let format = command.try_get_one("output").ok().flatten();
    format.copied().unwrap_or(ReportFormat::Text)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use anstream::ColorChoice;
    use anyhow::anyhow;
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Args;
    use crate::errors::{Exposure, Unaccepted};
    use crate::settings::Verbosity;
    use crate::text::{ClusterFlags, Invocation};

    fn written(error: &anyhow::Error, format: ReportFormat, arguments: &[&str]) -> String {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let invocation = Invocation::of(arguments.first());
        let printer = Printer::new(ColorChoice::Never, Verbosity::Normal, invocation)
            .with_cluster_flags(ClusterFlags::of(&arguments));
        let mut out = Vec::new();
        Failure::of(error, &printer).write(&mut out, format).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn document_of_unaccepted_risks_lists_them() {
        let risk = OpenRisk {
            name: "SlowDisks".to_owned(),
            exposure: Exposure::Exposed,
            message: Some("Disks are slow.".to_owned()),
            url: Some("https://example.com/slow".to_owned()),
            acceptance: "expired",
        };
        let unaccepted = Unaccepted {
            message: "5.2.0 is not recommended".to_owned(),
            hint: "`fairway upgrade accept SlowDisks` takes it".to_owned(),
            risks: vec![risk],
            status: ExitStatus::NewRisks,
        };
        let error = anyhow!("not now").context(unaccepted);
        let arguments = ["kubectl-fairway", "upgrade", "--to=5.2.0", "--context=prod"];
        insta::assert_snapshot!(written(&error, ReportFormat::Json, &arguments), @r#"
        {
          "apiVersion": "fairway.dev/v1alpha1",
          "kind": "Failure",
          "reason": "newRisks",
          "exitCode": 6,
          "message": "5.2.0 is not recommended",
          "causes": [
            "not now"
          ],
          "hint": "`kubectl fairway upgrade accept SlowDisks --context=prod` takes it",
          "risks": [
            {
              "name": "SlowDisks",
              "exposure": "exposed",
              "message": "Disks are slow.",
              "url": "https://example.com/slow",
              "acceptance": "expired"
            }
          ]
        }
        "#);
    }

    #[test]
    fn format_is_that_of_the_arguments() {
        for (typed, is_document) in [
            ("fairway upgrade -o json", true),
            ("fairway upgrade rollback --output=yaml", true),
            ("fairway upgrade", false),
            ("fairway crds -o json", false),
            ("fairway graph lint . -o json", false),
            ("fairway completion bash", false),
        ] {
            let matches = Args::command().try_get_matches_from(typed.split(' ')).unwrap();
            assert_eq!(!matches!(format(&matches), ReportFormat::Text), is_document, "{typed}");
        }
    }
}
