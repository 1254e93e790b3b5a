//! `fairway release lint`: errors and warnings about manifests.

use std::fmt::{self, Display};
use std::path::Path;

use anyhow::Context;
use fairway_release::builder::PLACEHOLDERS;
use fairway_release::inclusion::{DEFAULT_PROFILE, is_for_no_cluster};
use fairway_release::payload::{
    LintReport, PayloadError, PayloadProblem, PayloadWarning, is_manifest_name, lint_manifests,
};
use fairway_release::{Release, Verification, metadata};
use schemars::JsonSchema;
use serde::Serialize;

use super::info::not_included_warning;
use super::{directory, input};
use crate::args::release::LintArgs;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

impl TypedReport for Lint {
    const KIND: &'static str = "ReleaseLint";
}

pub(crate) fn run(args: &LintArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let lint = check(args)?;
    output::report(printer.stdout(), args.output.output, &lint)?;
    Ok(lint.status(args.strict))
}

fn check(args: &LintArgs) -> anyhow::Result<Lint> {
    let path = Path::new(&args.release);
    let is_release = path.join(metadata::PATH).exists() || path.join("oci-layout").exists();
    if path.is_dir() && !is_release {
        let is_wanted = |name: &str| is_manifest_name(name) || name == PLACEHOLDERS;
        let files = directory::files(path, is_wanted)
            .with_context(|| format!("cannot read {}", args.release))?;
        anyhow::ensure!(!files.is_empty(), "no manifests in {}", args.release);
        return Ok(Lint::of_manifests(lint_manifests(&files)));
    }
    let found = input::read(&args.release, &args.access)?;
    let (release, warnings) =
        Release::load_with_warnings(&found.files, &args.release, DEFAULT_PROFILE);
    Ok(Lint::of_release(release, warnings))
}

/// Findings about a release.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Lint {
    /// Number of errors.
    errors: usize,
    /// Number of warnings.
    warnings: usize,
    /// Errors and warnings.
    findings: Vec<LintFinding>,
}

/// Finding about a release.
#[derive(Serialize, JsonSchema)]
struct LintFinding {
    /// Severity of the finding.
    severity: LintSeverity,
    /// File of the finding, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Line in the file, counted from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// Description of the problem.
    message: String,
}

/// Severity of a finding about a release or a catalog.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::commands) enum LintSeverity {
    /// The release or the catalog cannot be used.
    Error,
    /// The release or the catalog probably contains a mistake.
    Warning,
}

impl LintFinding {
    fn of_problem(problem: &PayloadProblem) -> Self {
        let location = problem.location();
        Self {
            severity: LintSeverity::Error,
            file: location.map(|(file, _)| file.to_owned()),
            line: location.and_then(|(_, line)| line),
            message: problem.to_string(),
        }
    }

    fn of_warning(warning: &PayloadWarning) -> Self {
        Self {
            severity: LintSeverity::Warning,
            file: Some(warning.file().to_owned()),
            line: warning.line(),
            message: warning.to_string(),
        }
    }

    fn warning(file: Option<String>, line: Option<u64>, message: String) -> Self {
        Self { severity: LintSeverity::Warning, file, line, message }
    }
}

impl Lint {
    fn of_manifests(LintReport { problems, warnings }: LintReport) -> Self {
        let problems = problems.iter().map(LintFinding::of_problem);
        Self::of(problems.chain(warnings.iter().map(LintFinding::of_warning)).collect())
    }

    fn of_release(release: Result<Release, PayloadError>, warnings: Vec<PayloadWarning>) -> Self {
        let release = match release {
            Ok(release) => release,
            Err(PayloadError { problems }) => {
                return Self::of_manifests(LintReport { problems, warnings });
            }
        };
        let mut findings: Vec<_> = warnings.iter().map(LintFinding::of_warning).collect();
        if let Err(error) = Verification::from_manifests(&release.manifests) {
            findings.push(LintFinding::warning(None, None, error.to_string()));
        }
        let unused = release.manifests.iter().filter(|manifest| is_for_no_cluster(manifest));
        findings.extend(unused.map(|manifest| {
            let (file, line) = (Some(manifest.file.clone()), Some(manifest.line));
            LintFinding::warning(file, line, not_included_warning(manifest))
        }));
        Self::of(findings)
    }

    fn of(findings: Vec<LintFinding>) -> Self {
        let count = |severity| findings.iter().filter(|it| it.severity == severity).count();
        let (errors, warnings) = (count(LintSeverity::Error), count(LintSeverity::Warning));
        Self { errors, warnings, findings }
    }

    fn status(&self, is_strict: bool) -> ExitStatus {
        let is_refused = self.errors > 0 || is_strict && self.warnings > 0;
        if is_refused { ExitStatus::Refused } else { ExitStatus::Success }
    }
}

impl Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for LintFinding { severity, message, .. } in &self.findings {
            let severity = match severity {
                LintSeverity::Error => "error",
                LintSeverity::Warning => "warning",
            };
            writeln!(f, "{severity}: {}", OneLine(message))?;
        }
        write!(f, "errors: {}, warnings: {}", self.errors, self.warnings)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn lint(files: &[(&str, &str)]) -> Lint {
        let bytes = |(name, text): &(&str, &str)| ((*name).to_owned(), text.as_bytes().to_vec());
        Lint::of_manifests(lint_manifests(&files.iter().map(bytes).collect::<BTreeMap<_, _>>()))
    }

    const ODD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  name: b\ndata:\n  \
                       mode: 0644\n  debug: off\n";

    #[test]
    fn lint_of_odd_manifests_prints_file_and_line() {
        let lint = lint(&[("a.yaml", ODD), ("b.yaml", "a: [\n---\nkind: A\n"), ("notes.txt", "")]);
        insta::assert_snapshot!(lint, @r#"
        error: b.yaml:1:4: '[' is not closed
        error: b.yaml:3:1: field apiVersion: expected a non-empty string
        warning: a.yaml:5: duplicate key "name" overrides line 4
        warning: a.yaml:7: unquoted 0644 is 420
        warning: a.yaml:8: unquoted off is the boolean false
        errors: 2, warnings: 3
        "#);
    }

    #[test]
    fn lint_of_image_references_prints_file_and_line() {
        let stream = "apiVersion: image.openshift.io/v1\nkind: ImageStream\nspec:\n  tags:\n  - name: a\n    \
                      from: {kind: DockerImage, Name: example/a}\n";
        insta::assert_snapshot!(lint(&[("image-references", stream)]), @r#"
        warning: image-references:6: key "Name" is read as "name"
        errors: 0, warnings: 1
        "#);
        insta::assert_snapshot!(lint(&[("image-references", "kind: ImageStream")]), @r#"
        error: image-references: field apiVersion: expected "image.openshift.io/v1", found ""
        errors: 1, warnings: 0
        "#);
    }

    #[test]
    fn status_depends_on_errors_and_on_strict_warnings() {
        let clean = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n";
        for (text, is_strict, status) in [
            (clean, false, ExitStatus::Success),
            (clean, true, ExitStatus::Success),
            (ODD, false, ExitStatus::Success),
            (ODD, true, ExitStatus::Refused),
            ("a: [", false, ExitStatus::Refused),
        ] {
            assert_eq!(lint(&[("a.yaml", text)]).status(is_strict), status, "{text}");
        }
    }
}
