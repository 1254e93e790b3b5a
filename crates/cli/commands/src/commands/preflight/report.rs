//! The report of a preflight.

use std::fmt::{self, Display};

use fairway_findings::{CheckReport, CheckStatus, Document, Finding, Reason, Severity};
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::ExitStatus;
use crate::foreign_text::{OneLine, lines};
use crate::output::TypedReport;

impl TypedReport for Report<'_> {
    const KIND: &'static str = "Preflight";
}

/// Results of the checks of a release.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Report<'a>(pub(super) &'a Document);

impl Report<'_> {
    /// Exit code of the report.
    pub(super) fn status(&self) -> ExitStatus {
        let speaks_against = |finding: &&Finding| {
            finding.reason == Reason::PreflightValidation && finding.severity >= Severity::Warning
        };
        if self.0.risks.iter().any(|finding| speaks_against(&finding)) {
            ExitStatus::Refused
        } else if self.0.is_complete() {
            ExitStatus::Success
        } else {
            ExitStatus::Unknown
        }
    }
}

impl Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { source_version, target_version, checks, risks, .. } = self.0;
        let answered = checks.iter().filter(|check| check.status.has_result()).count();
        write!(
            f,
            "Preflight of {} on a cluster with {}: {} of {} checks completed\n\n",
            OneLine(target_version),
            OneLine(source_version),
            answered,
            checks.len()
        )?;
        table(f, checks)?;
        if risks.is_empty() {
            return f.write_str("\n\nNo findings.");
        }
        let mut worst_first: Vec<&Finding> = risks.iter().collect();
        worst_first.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), &finding.name));
        worst_first.into_iter().try_for_each(|finding| paragraph(f, finding))
    }
}

fn table(f: &mut fmt::Formatter<'_>, checks: &[CheckReport]) -> fmt::Result {
    let name = |check: &CheckReport| OneLine(&check.name).to_string();
    let names = checks.iter().map(|check| name(check).chars().count());
    let width = names.chain(["CHECK".len()]).max().unwrap_or_default();
    let words = checks.iter().map(|check| word(check.status).len());
    let column = words.chain(["RESULT".len()]).max().unwrap_or_default();
    write!(f, "{:width$}  {:column$}  MESSAGE", "CHECK", "RESULT")?;
    for check in checks {
        let (name, result) = (name(check), word(check.status));
        let row = format!("{name:width$}  {result:column$}  {}", OneLine(&check.message));
        write!(f, "\n{}", row.trim_end())?;
    }
    Ok(())
}

fn paragraph(f: &mut fmt::Formatter<'_>, finding: &Finding) -> fmt::Result {
    let Finding { name, message, url, severity, remediation, check, reason, target_version: _ } =
        finding;
    write!(f, "\n\n{severity}: {} ({}", OneLine(name), OneLine(check))?;
    match reason {
        Reason::PreflightValidation => f.write_str(")")?,
        Reason::PreflightPartial => f.write_str(", inconclusive)")?,
        Reason::PreflightVersionSkew => f.write_str(", version skew)")?,
    }
    lines(message).try_for_each(|line| write!(f, "\n  {line}"))?;
    if !remediation.is_empty() {
        write!(f, "\n  remediation: {}", OneLine(remediation))?;
    }
    if !url.is_empty() {
        write!(f, "\n  {}", OneLine(url))?;
    }
    Ok(())
}

/// Result of a check in one or two words.
pub(super) fn word(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Waiting => "waiting",
        CheckStatus::Running => "running",
        CheckStatus::Passed => "passed",
        CheckStatus::Found => "findings",
        CheckStatus::Skipped => "skipped",
        CheckStatus::CannotTell => "no result",
        CheckStatus::VersionSkew => "version skew",
        CheckStatus::TimedOut => "timed out",
        CheckStatus::Failed => "failed",
        CheckStatus::Refused | CheckStatus::AccessRefused => "refused",
        CheckStatus::NotStarted => "not started",
    }
}

#[cfg(test)]
mod tests {
    use fairway_findings::{CheckKind, ExecutionStatus};

    use super::*;
    use crate::args::report::ReportFormat;
    use crate::output;

    fn check(name: &str, status: CheckStatus, message: &str) -> CheckReport {
        let (name, message) = (name.to_owned(), message.to_owned());
        CheckReport { name, kind: CheckKind::BuiltIn, status, message, ..CheckReport::default() }
    }

    fn finding(name: &str, severity: Severity, reason: Reason) -> Finding {
        Finding {
            name: name.to_owned(),
            message: "Something is in the way.".to_owned(),
            severity,
            check: "drain".to_owned(),
            reason,
            ..Finding::default()
        }
    }

    fn document(checks: Vec<CheckReport>, risks: Vec<Finding>) -> Document {
        Document {
            format: "preflight-v1-json".to_owned(),
            preflight_id: "0123456789abcdef0123456789abcdef".to_owned(),
            source_version: "5.0.0".to_owned(),
            target_version: "5.2.0".to_owned(),
            target_image: "registry.example/releases@sha256:0".to_owned(),
            execution_status: ExecutionStatus::Completed,
            checks,
            risks,
            ..Document::default()
        }
    }

    fn printed(format: ReportFormat, document: &Document) -> String {
        let mut out = Vec::new();
        output::report(&mut out, format, &Report(document)).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn example() -> Document {
        let blocked = Finding {
            url: "https://docs.example/drain".to_owned(),
            remediation: "Let the budget allow a disruption".to_owned(),
            ..finding(
                "PodDisruptionBudgetBlocksDrain",
                Severity::Critical,
                Reason::PreflightValidation,
            )
        };
        let unknown = Finding {
            check: "images".to_owned(),
            ..finding("ImagesCheckFailed", Severity::Warning, Reason::PreflightPartial)
        };
        document(
            vec![
                check("drain", CheckStatus::Found, ""),
                check("images", CheckStatus::CannotTell, "the registry does not answer\u{1b}[2J"),
                check("nodes", CheckStatus::Passed, ""),
            ],
            vec![unknown, blocked],
        )
    }

    #[test]
    fn text_has_checks_and_findings() {
        insta::assert_snapshot!(printed(ReportFormat::Text, &example()), @r"
        Preflight of 5.2.0 on a cluster with 5.0.0: 2 of 3 checks completed

        CHECK   RESULT     MESSAGE
        drain   findings
        images  no result  the registry does not answer\u{1b}[2J
        nodes   passed

        critical: PodDisruptionBudgetBlocksDrain (drain)
          Something is in the way.
          remediation: Let the budget allow a disruption
          https://docs.example/drain

        warning: ImagesCheckFailed (images, inconclusive)
          Something is in the way.
        ");
        let clean = document(vec![check("nodes", CheckStatus::Passed, "")], Vec::new());
        insta::assert_snapshot!(printed(ReportFormat::Text, &clean), @"
        Preflight of 5.2.0 on a cluster with 5.0.0: 1 of 1 checks completed

        CHECK  RESULT  MESSAGE
        nodes  passed

        No findings.
        ");
    }

    #[test]
    fn exit_status_depends_on_findings_and_results() {
        use CheckStatus::{CannotTell, Found, Passed, Skipped};
        use Reason::{PreflightPartial, PreflightValidation};
        for (status, findings, expected) in [
            (Passed, &[][..], ExitStatus::Success),
            (Skipped, &[], ExitStatus::Success),
            (CannotTell, &[(Severity::Warning, PreflightPartial)], ExitStatus::Unknown),
            (Found, &[(Severity::Info, PreflightValidation)], ExitStatus::Success),
            (Found, &[(Severity::Warning, PreflightValidation)], ExitStatus::Refused),
            (Found, &[(Severity::Critical, PreflightValidation)], ExitStatus::Refused),
            (CannotTell, &[(Severity::Critical, PreflightValidation)], ExitStatus::Refused),
        ] {
            let risks = findings.iter().map(|(severity, reason)| finding("A", *severity, *reason));
            let document = document(vec![check("a", status, "")], risks.collect());
            assert_eq!(Report(&document).status(), expected, "{status:?} {findings:?}");
        }
        let unfinished =
            Document { execution_status: ExecutionStatus::Running, ..Document::default() };
        assert_eq!(Report(&unfinished).status(), ExitStatus::Unknown);
    }
}
