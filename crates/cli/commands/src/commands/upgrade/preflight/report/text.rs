//! Text of a preflight report.

use std::fmt;

use fairway_api::reason::preflight_failed;
use fairway_findings::{CheckKind, CheckReport, CheckStatus};
use fairway_insight::fleet::PreflightResult;
use fairway_insight::{PreflightPhase, ShellWord};
use fairway_text::counted;

use super::super::super::release::{ReleaseArguments, ReleaseReference};
use super::super::super::report::text::{AcceptanceSuffix, Age, write_reason};
use super::super::super::risks::exposure_text;
use super::{CheckCounts, OtherRisk, PreflightFinding, PreflightReport, PreflightRun};
use crate::foreign_text::{OneLine, lines};

impl fmt::Display for PreflightReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(target) = &self.target else { return self.write_without_target(f) };
        write!(f, "Preflight of {}: {}", OneLine(target.name()), self.headline())?;
        self.write_facts(f, target)?;
        self.write_checks(f)?;
        self.write_findings(f)?;
        self.write_other_risks(f)?;
        self.write_hints(f, target)
    }
}

impl PreflightReport {
    fn write_without_target(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.phase == PreflightPhase::Unsupported {
            return f.write_str(UNSUPPORTED);
        }
        f.write_str(
            "No preflight is requested, and no results are stored. Run one with\n  fairway upgrade \
             --mode=preflight --to=VERSION",
        )
    }

    /// Result in one line.
    pub(in super::super) fn headline(&self) -> String {
        let (blocking, unaccepted) = (self.counts.blocking, self.counts.unaccepted);
        match self.result {
            PreflightResult::NoFindings => "no findings".to_owned(),
            PreflightResult::FindingsAccepted => {
                format!("{}, all accepted", counted(blocking, "finding"))
            }
            PreflightResult::Findings if unaccepted == blocking => counted(blocking, "finding"),
            PreflightResult::Findings => {
                format!("{}, {unaccepted} not accepted", counted(blocking, "finding"))
            }
            PreflightResult::Running => match self.phase {
                PreflightPhase::Pending => {
                    "the operator has not processed the request yet".to_owned()
                }
                PreflightPhase::Starting => "starting".to_owned(),
                PreflightPhase::Restarting => "restarting on another node".to_owned(),
                _ => "running".to_owned(),
            },
            PreflightResult::Incomplete => "incomplete, some checks have no result".to_owned(),
            PreflightResult::Stale => {
                "stale, the cluster has changed since some checks ran".to_owned()
            }
            PreflightResult::Outdated => {
                "outdated, the cluster version has changed since".to_owned()
            }
            PreflightResult::Failed => "failed".to_owned(),
            PreflightResult::NotRun => "not run".to_owned(),
            PreflightResult::Unsupported => "not supported".to_owned(),
        }
    }

    fn write_facts(&self, f: &mut fmt::Formatter<'_>, target: &ReleaseReference) -> fmt::Result {
        f.write_str("\n")?;
        if let Some(image) = target.image.as_ref().filter(|_| target.version.is_some()) {
            write!(f, "\n  Image: {}", OneLine(image))?;
        }
        if let Some(run) = &self.run {
            write!(f, "\n  From: {}", OneLine(&run.source_version))?;
            write!(f, "\n  Checked: {}", run.progress())?;
            if let Some(age) = run.age_seconds {
                let monitored = if self.phase == PreflightPhase::Monitoring {
                    ", rechecked when the cluster changes"
                } else {
                    ""
                };
                write!(f, "\n  Age: {}{monitored}", Age(age))?;
            }
        }
        if !self.is_conclusive() {
            write_reason(f, self.reason.as_deref(), self.message.as_deref())?;
        }
        if let Some(why) = &self.details_message {
            write!(f, "\n  Details: unavailable, {}", OneLine(why))?;
        }
        if self.phase == PreflightPhase::Unsupported {
            write!(f, "\n  {UNSUPPORTED}")?;
        }
        Ok(())
    }

    fn write_checks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(run) = self.run.as_ref().filter(|run| !run.checks.is_empty()) else {
            return Ok(());
        };
        let longest = run.checks.iter().map(|check| check.name.chars().count()).max();
        let width = longest.unwrap_or_default().clamp("CHECK".len(), MAX_NAME_WIDTH) + 2;
        write!(f, "\n\n  {:width$}{:KIND_WIDTH$}RESULT", "CHECK", "SOURCE")?;
        for check in &run.checks {
            let name = OneLine(&check.name).to_string();
            let kind = match check.kind {
                CheckKind::Operator => "operator",
                CheckKind::BuiltIn => "Fairway",
            };
            write!(f, "\n  {name:width$}{kind:KIND_WIDTH$}{}", CheckText(check))?;
            if !check.granted.is_empty() {
                let indent = 2 + width + KIND_WIDTH;
                let granted = check.granted.join("; ");
                write!(f, "\n{:indent$}granted: {}", "", OneLine(&granted))?;
            }
        }
        Ok(())
    }

    fn write_findings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.findings.is_empty() {
            return Ok(());
        }
        f.write_str("\n\nFindings:")?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n\n{finding}"))
    }

    /// Writes other risks if the preflight has no result.
    fn write_other_risks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_conclusive()
            || self.result == PreflightResult::Running
            || self.other_risks.is_empty()
        {
            return Ok(());
        }
        f.write_str("\n\nOther known risks:\n")?;
        self.other_risks.iter().try_for_each(|risk| write!(f, "\n  {risk}"))
    }

    fn write_hints(&self, f: &mut fmt::Formatter<'_>, target: &ReleaseReference) -> fmt::Result {
        let choice = ReleaseArguments(target);
        if self.counts.total > self.findings.len() {
            f.write_str("\n\nList the findings with\n  fairway upgrade --include-not-recommended")?;
        }
        if let Some(remediation) = self.remediation() {
            write!(f, "\n\n{remediation}.")?;
        }
        match self.result {
            PreflightResult::NoFindings | PreflightResult::FindingsAccepted => {
                write!(f, "\n\nStart the update with\n  fairway upgrade {choice}")?;
            }
            PreflightResult::Findings => write!(
                f,
                "\n\nResolve the findings, or accept a risk with\n  fairway upgrade accept NAME{}",
                ForVersion(target)
            )?,
            PreflightResult::Running => {
                f.write_str("\n\nShow its progress with\n  fairway upgrade --status-preflight")?;
            }
            PreflightResult::NotRun | PreflightResult::Outdated => {
                write!(f, "\n\nRun it with\n  fairway upgrade --mode=preflight {choice}")?;
            }
            PreflightResult::Incomplete | PreflightResult::Stale
                if self.phase == PreflightPhase::NotRequested =>
            {
                write!(f, "\n\nRun it again with\n  fairway upgrade --mode=preflight {choice}")?;
            }
            PreflightResult::Stale => f.write_str(
                "\n\nThe operator reruns these checks. Show their progress with\n  fairway upgrade \
                 --status-preflight",
            )?,
            PreflightResult::Incomplete
            | PreflightResult::Failed
            | PreflightResult::Unsupported => {}
        }
        if !self.other_releases.is_empty() {
            let names: Vec<&str> = self.other_releases.iter().map(ReleaseReference::name).collect();
            write!(
                f,
                "\n\nResults of {} are also stored. Compare them with\n  fairway upgrade compare \
                 RELEASE…",
                OneLine(&names.join(", "))
            )?;
        }
        if !matches!(self.phase, PreflightPhase::NotRequested | PreflightPhase::Unsupported) {
            write!(f, "\n\n{CLEAR_HINT}")?;
        }
        Ok(())
    }

    /// Whether all checks have a result.
    fn is_conclusive(&self) -> bool {
        matches!(
            self.result,
            PreflightResult::NoFindings
                | PreflightResult::FindingsAccepted
                | PreflightResult::Findings
        )
    }

    /// Remediation of the failure.
    fn remediation(&self) -> Option<&'static str> {
        let reason = self.reason.as_deref()?;
        let known = preflight_failed::CONDITION.reasons.iter();
        known.into_iter().find(|known| known.code == reason)?.remedy
    }
}

/// How to end a preflight.
pub(in super::super) const CLEAR_HINT: &str = "End the preflight with\n  fairway upgrade \
                                           --clear-preflight\nDo not remove only `mode`: the rest \
                                           of spec.desiredUpdate would start the update.";

const UNSUPPORTED: &str = "The operator of this cluster does not support preflights: ClusterVersion \
                         has no condition PreflightRunning.";

/// Maximum width of the column of check names; longer names shift the following columns.
const MAX_NAME_WIDTH: usize = 40;

/// Width of the column `SOURCE`: `operator` and two spaces.
const KIND_WIDTH: usize = 10;

/// Option that limits an acceptance to the version of a release.
struct ForVersion<'a>(&'a ReleaseReference);

impl fmt::Display for ForVersion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.version {
            Some(version) => write!(f, " --for={}", OneLine(&ShellWord(version).to_string())),
            None => Ok(()),
        }
    }
}

impl PreflightRun {
    /// Numbers of checks with a result.
    pub(in super::super) fn progress(&self) -> String {
        let Self { operators, built_in, .. } = self;
        match built_in.total {
            0 => format!("{operators} operators"),
            _ => format!("{operators} operators, {built_in} built-in checks"),
        }
    }
}

impl fmt::Display for CheckCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.answered, self.total)
    }
}

/// Status of a check.
struct CheckText<'a>(&'a CheckReport);

impl fmt::Display for CheckText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(check) = self;
        f.write_str(match check.status {
            CheckStatus::Waiting => "waiting",
            CheckStatus::Running => "running",
            CheckStatus::Passed => "passed",
            CheckStatus::Found => "findings",
            CheckStatus::Skipped => "skipped",
            CheckStatus::CannotTell => "no result",
            CheckStatus::VersionSkew => "unsupported version skew",
            CheckStatus::TimedOut => "timed out",
            CheckStatus::Failed => "failed",
            CheckStatus::Refused => "refused",
            CheckStatus::AccessRefused => "refused, requested access is not allowed",
            CheckStatus::NotStarted => "not started",
        })?;
        f.write_str(if check.stale { " (rechecking)" } else { "" })?;
        match check.message.as_str() {
            "" => Ok(()),
            message => write!(f, ": {}", OneLine(message)),
        }
    }
}

impl fmt::Display for PreflightFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}", OneLine(&self.name))?;
        if let Some(severity) = self.severity {
            write!(f, ": {severity}")?;
        }
        if let Some(check) = &self.check {
            write!(f, ", from {}", OneLine(check))?;
        }
        if self.is_inconclusive() {
            write!(f, ", inconclusive ({})", OneLine(&self.reason))?;
        }
        write!(f, "{}", AcceptanceSuffix(&self.acceptance_state))?;
        for line in lines(&self.message) {
            write!(f, "\n    {line}")?;
        }
        if let Some(remediation) = &self.remediation {
            write!(f, "\n    Remediation: {}", OneLine(remediation))?;
        }
        match &self.url {
            Some(url) => write!(f, "\n    {}", OneLine(url)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for OtherRisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exposure = exposure_text(self.exposure);
        write!(
            f,
            "{}: {exposure}{}",
            OneLine(&self.name),
            AcceptanceSuffix(&self.acceptance_state)
        )?;
        match &self.message {
            Some(message) => write!(f, "\n    {}", OneLine(message)),
            None => Ok(()),
        }
    }
}
