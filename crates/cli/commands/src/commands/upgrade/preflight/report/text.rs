//! The report as administrators read it.

use std::fmt;

use fairway_api::reason::preflight_failed;
use fairway_findings::{CheckKind, CheckReport, CheckStatus};
use fairway_insight::Word;
use fairway_text::counted;

use super::super::super::report::text::{Afterwards, Age, write_reason};
use super::super::super::request::outcome::Named;
use super::super::super::risks::Exposure;
use super::super::phase::Phase;
use super::{Counts, Finding, OtherRisk, Report, Run, Verdict};
use crate::foreign_text::{OneLine, lines};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(target) = &self.target else { return self.write_nothing(f) };
        write!(f, "Preflight of {}: {}", OneLine(target.name()), self.headline())?;
        self.write_facts(f, target)?;
        self.write_checks(f)?;
        self.write_findings(f)?;
        self.write_other_risks(f)?;
        self.write_hints(f, target)
    }
}

impl Report {
    fn write_nothing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.phase == Phase::Unsupported {
            return f.write_str(NOT_KNOWN);
        }
        f.write_str(
            "No preflight is requested, and no results are stored. Run one with\n  fairway upgrade \
             --mode=preflight --to=VERSION",
        )
    }

    /// What it comes to, in one line.
    pub(in super::super) fn headline(&self) -> String {
        let counting = self.findings.iter().filter(|finding| finding.acceptance_required).count();
        let open = self.open().count();
        match self.result {
            Verdict::NoFindings => "no findings".to_owned(),
            Verdict::FindingsAccepted => format!("{}, all accepted", counted(counting, "finding")),
            Verdict::Findings if open == counting => counted(open, "finding"),
            Verdict::Findings => {
                format!("{}, {open} not accepted", counted(counting, "finding"))
            }
            Verdict::Running => match self.phase {
                Phase::Pending => "the operator has not processed the request yet".to_owned(),
                Phase::Starting => "starting".to_owned(),
                Phase::Restarting => "restarting on another node".to_owned(),
                _ => "running".to_owned(),
            },
            Verdict::Incomplete => "incomplete, some checks have no result".to_owned(),
            Verdict::Stale => "stale, the cluster has changed since some checks ran".to_owned(),
            Verdict::Outdated => "outdated, the cluster had another version".to_owned(),
            Verdict::Failed => "failed".to_owned(),
            Verdict::NotRun => "not run".to_owned(),
            Verdict::Unsupported => "not supported".to_owned(),
        }
    }

    fn write_facts(&self, f: &mut fmt::Formatter<'_>, target: &Named) -> fmt::Result {
        f.write_str("\n")?;
        if let Some(image) = target.image.as_ref().filter(|_| target.version.is_some()) {
            write!(f, "\n  Image: {}", OneLine(image))?;
        }
        if let Some(run) = &self.run {
            write!(f, "\n  From: {}", OneLine(&run.source_version))?;
            write!(f, "\n  Checked: {}", run.progress())?;
            if let Some(age) = run.age_seconds {
                let monitored = if self.phase == Phase::Monitoring {
                    ", rechecked when the cluster changes"
                } else {
                    ""
                };
                write!(f, "\n  Age: {}{monitored}", Age(age))?;
            }
        }
        if !self.tells() {
            write_reason(f, self.reason.as_deref(), self.message.as_deref())?;
        }
        if let Some(why) = &self.details_message {
            write!(f, "\n  Details: unavailable, {}", OneLine(why))?;
        }
        if self.phase == Phase::Unsupported {
            write!(f, "\n  {NOT_KNOWN}")?;
        }
        Ok(())
    }

    fn write_checks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(run) = self.run.as_ref().filter(|run| !run.checks.is_empty()) else {
            return Ok(());
        };
        let longest = run.checks.iter().map(|check| check.name.chars().count()).max();
        let width = longest.unwrap_or_default().clamp("CHECK".len(), MAX_WIDTH) + 2;
        write!(f, "\n\n  {:width$}{:KIND_WIDTH$}RESULT", "CHECK", "SOURCE")?;
        for check in &run.checks {
            let name = OneLine(&check.name).to_string();
            let kind = match check.kind {
                CheckKind::Operator => "operator",
                CheckKind::BuiltIn => "Fairway",
            };
            write!(f, "\n  {name:width$}{kind:KIND_WIDTH$}{}", Outcome(check))?;
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

    /// What is known anyway, where the preflight does not tell.
    fn write_other_risks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.tells() || self.result == Verdict::Running || self.other_risks.is_empty() {
            return Ok(());
        }
        f.write_str("\n\nOther known risks:\n")?;
        self.other_risks.iter().try_for_each(|risk| write!(f, "\n  {risk}"))
    }

    fn write_hints(&self, f: &mut fmt::Formatter<'_>, target: &Named) -> fmt::Result {
        let choice = Choice(target);
        if let Some(remedy) = self.remedy() {
            write!(f, "\n\n{remedy}.")?;
        }
        match self.result {
            Verdict::NoFindings | Verdict::FindingsAccepted => {
                write!(f, "\n\nStart the update with\n  fairway upgrade {choice}")?;
            }
            Verdict::Findings => write!(
                f,
                "\n\nResolve the findings, or accept a risk with\n  fairway upgrade accept NAME{}",
                ForVersion(target)
            )?,
            Verdict::Running => {
                f.write_str("\n\nShow its progress with\n  fairway upgrade --status-preflight")?;
            }
            Verdict::NotRun | Verdict::Outdated => {
                write!(f, "\n\nRun it with\n  fairway upgrade --mode=preflight {choice}")?;
            }
            Verdict::Incomplete | Verdict::Stale if self.phase == Phase::NotRequested => {
                write!(f, "\n\nRun it again with\n  fairway upgrade --mode=preflight {choice}")?;
            }
            Verdict::Stale => f.write_str(
                "\n\nThe operator reruns these checks. Show their progress with\n  fairway upgrade \
                 --status-preflight",
            )?,
            Verdict::Incomplete | Verdict::Failed | Verdict::Unsupported => {}
        }
        if !self.other_releases.is_empty() {
            let names: Vec<&str> = self.other_releases.iter().map(Named::name).collect();
            write!(
                f,
                "\n\nResults of {} are also stored. Compare them with\n  fairway upgrade compare \
                 RELEASE…",
                OneLine(&names.join(", "))
            )?;
        }
        if !matches!(self.phase, Phase::NotRequested | Phase::Unsupported) {
            write!(f, "\n\n{ENDING}")?;
        }
        Ok(())
    }

    /// Whether it is answered what stands against the update.
    fn tells(&self) -> bool {
        matches!(self.result, Verdict::NoFindings | Verdict::FindingsAccepted | Verdict::Findings)
    }

    /// What to do about what went wrong.
    fn remedy(&self) -> Option<&'static str> {
        let reason = self.reason.as_deref()?;
        let known = preflight_failed::CONDITION.reasons.iter();
        known.into_iter().find(|known| known.code == reason)?.remedy
    }
}

/// How a preflight is ended; and how not.
pub(in super::super) const ENDING: &str = "End the preflight with\n  fairway upgrade \
                                           --clear-preflight\nDo not remove only `mode`: the rest \
                                           of spec.desiredUpdate would start the update.";

const NOT_KNOWN: &str = "The operator of this cluster does not support preflights: ClusterVersion \
                         has no condition PreflightRunning.";

/// Names that are longer push what follows aside.
const MAX_WIDTH: usize = 40;

/// As wide as the longer word, and two blanks.
const KIND_WIDTH: usize = 10;

/// The arguments that choose a release.
pub(in super::super) struct Choice<'a>(pub(in super::super) &'a Named);

impl fmt::Display for Choice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |text: &String| Word(text).to_string();
        match (self.0.version.as_ref().map(word), self.0.image.as_ref().map(word)) {
            (Some(version), _) => write!(f, "--to={}", OneLine(&version)),
            (None, Some(image)) => {
                write!(f, "--to-image={} --allow-explicit-upgrade", OneLine(&image))
            }
            (None, None) => f.write_str("--to=VERSION"),
        }
    }
}

struct ForVersion<'a>(&'a Named);

impl fmt::Display for ForVersion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.version {
            Some(version) => write!(f, " --for={}", OneLine(&Word(version).to_string())),
            None => Ok(()),
        }
    }
}

impl Run {
    /// How many checks have answered.
    pub(in super::super) fn progress(&self) -> String {
        let Self { operators, built_in, .. } = self;
        match built_in.total {
            0 => format!("{operators} operators"),
            _ => format!("{operators} operators, {built_in} built-in checks"),
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.answered, self.total)
    }
}

/// What became of a check.
struct Outcome<'a>(&'a CheckReport);

impl fmt::Display for Outcome<'_> {
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

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}", OneLine(&self.name))?;
        if let Some(severity) = self.severity {
            write!(f, ": {severity}")?;
        }
        if let Some(check) = &self.check {
            write!(f, ", from {}", OneLine(check))?;
        }
        if self.is_unsure() {
            write!(f, ", inconclusive ({})", OneLine(&self.reason))?;
        }
        write!(f, "{}", Afterwards(&self.standing))?;
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
        let exposure = match self.exposure {
            Exposure::Exposed => "applies",
            Exposure::NotExposed => "does not apply",
            Exposure::Unknown | Exposure::NotReported => "may apply",
        };
        write!(f, "{}: {exposure}{}", OneLine(&self.name), Afterwards(&self.standing))?;
        match &self.message {
            Some(message) => write!(f, "\n    {}", OneLine(message)),
            None => Ok(()),
        }
    }
}
