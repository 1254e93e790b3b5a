//! Text of recommendations.

use std::fmt;

use fairway_api::Version;
use fairway_insight::recommend::{
    CONDITIONAL_UPDATE_RISK, FAILED_TO_COMPLETE_PRECHECK, Issue, RecommendResult, Target,
};
use fairway_insight::{Recommendation, ShellWord};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::notes::{self, Note};
use crate::foreign_text::{OneLine, lines};

/// Updates per minor version; older ones have no additional fixes.
const MAX_SHOWN: usize = 2;

/// Updates of a cluster, with their issues.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RecommendationText<'a> {
    #[serde(flatten)]
    pub(super) report: &'a Recommendation,
    /// Notes of components about the updates.
    pub(super) notes: Vec<Note>,
    /// Whether older updates are shown too.
    #[serde(skip)]
    pub(super) in_full: bool,
}

impl fmt::Display for RecommendationText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_issues(f)?;
        self.write_prechecks(f)?;
        self.write_source(f)?;
        match &self.report.result {
            RecommendResult::All { updates, .. } if updates.is_empty() => f.write_str(
                "No updates are available. To use a release that is not listed, run `fairway \
                 upgrade --to-image`.",
            ),
            RecommendResult::All { updates, .. } => self.write_updates(f, updates),
            RecommendResult::One { target: Some(target), .. } => self.write_target(f, target),
            RecommendResult::One { target: None, not_offered_message } => {
                let why = not_offered_message.as_deref().unwrap_or("it is not available");
                write!(f, "No recommendation for this version: {}.", OneLine(why))
            }
        }?;
        notes::write(f, &self.notes)
    }
}

impl RecommendationText<'_> {
    /// Writes issues of every update.
    fn write_issues(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let general = self.report.issues.iter().filter(|one| one.name != CONDITIONAL_UPDATE_RISK);
        let mut any = false;
        for issue in general {
            if !any {
                f.write_str("Issues for any update:\n")?;
            }
            any = true;
            write_issue(f, issue)?;
        }
        if any { f.write_str("\n") } else { Ok(()) }
    }

    /// Writes passed checks, and why alerts are unknown.
    fn write_prechecks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_reported =
            self.report.issues.iter().any(|one| one.name == FAILED_TO_COMPLETE_PRECHECK);
        if let Some(why) = self.report.alerts.message.as_ref().filter(|_| !is_reported) {
            write!(f, "Alerts are unknown: {}.\n\n", OneLine(why))?;
        }
        let passed = self.report.prechecks.iter().filter(|precheck| precheck.passed);
        let passed: Vec<&str> =
            passed.map(|one| one.type_.trim_start_matches("recommended/")).collect();
        if passed.is_empty() {
            return Ok(());
        }
        write!(f, "Passed checks: {}\n\n", passed.join(", "))
    }

    fn write_source(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(channel) = &self.report.channel else { return Ok(()) };
        match &self.report.upstream {
            Some(upstream) => writeln!(f, "Upstream: {}", OneLine(upstream))?,
            None => {
                f.write_str(
                    "Upstream is unset, so the cluster will use an appropriate default.\n",
                )?;
            }
        }
        write!(f, "Channel: {}", OneLine(channel))?;
        let channels = &self.report.channels;
        if !channels.is_empty() {
            write!(f, " (available channels: {})", OneLine(&channels.join(", ")))?;
        }
        f.write_str("\n\n")
    }

    fn write_updates(&self, f: &mut fmt::Formatter<'_>, updates: &[Target]) -> fmt::Result {
        let stream = |target: &Target| Version::parse(&target.version).map(|one| one.stream());
        for (index, group) in updates.chunk_by(|a, b| stream(a) == stream(b)).enumerate() {
            let stream = group.first().and_then(|one| stream(one).ok()).unwrap_or_default();
            let gap = if index == 0 { "" } else { "\n\n" };
            write!(f, "{gap}Updates to {stream}:")?;
            let shown = if self.in_full { group.len() } else { group.len().min(MAX_SHOWN) };
            let width = group[..shown].iter().map(|one| one.version.len()).max().unwrap_or(0);
            for target in &group[..shown] {
                write_row(f, target, width, !self.in_full)?;
            }
            let older = group.len() - shown;
            if older > 0 {
                write!(
                    f,
                    "\n  {older} older: use --show-outdated-releases or --version to show them"
                )?;
            }
        }
        self.write_not_versions(f)
    }

    fn write_not_versions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.report.invalid_versions.as_slice() {
            [] => Ok(()),
            some => {
                write!(f, "\n\nSkipped, not valid versions: {}", OneLine(&some.join(", ")))
            }
        }
    }

    fn write_target(&self, f: &mut fmt::Formatter<'_>, target: &Target) -> fmt::Result {
        let version = OneLine(&target.version);
        if target.is_recommended() {
            write!(f, "No known issues with {version}.")?;
        } else {
            let accepted = self.report.issues.iter();
            let accepted =
                accepted.filter(|one| one.name == CONDITIONAL_UPDATE_RISK).any(|one| one.accepted);
            let sign = if accepted { " (accepted)" } else { "" };
            write!(f, "Recommended={} for {version}{sign}:", OneLine(&target.recommended))?;
            write_why(f, target, "  ")?;
        }
        write!(f, "\n  Image: {}", OneLine(&target.image))?;
        if let Some(url) = &target.url {
            write!(f, "\n  Release URL: {}", OneLine(url))?;
        }
        let unaccepted = &self.report.unaccepted;
        let accepted: Vec<&str> = self
            .report
            .issues
            .iter()
            .filter(|one| one.accepted)
            .map(|one| one.name.as_str())
            .collect();
        if !unaccepted.is_empty() {
            let names = unaccepted.join(",");
            write!(f, "\n\nNot accepted: {}", OneLine(&names))?;
            let names = ShellWord(&names).to_string();
            write!(f, "\nTo ignore these issues, add --accept={}.", OneLine(&names))
        } else if accepted.is_empty() {
            Ok(())
        } else {
            write!(f, "\n\nAccepted: {}. No other known issues.", OneLine(&accepted.join(",")))
        }
    }
}

fn write_issue(f: &mut fmt::Formatter<'_>, issue: &Issue) -> fmt::Result {
    write!(f, "  {}", OneLine(&issue.name))?;
    if let Some(reason) = &issue.reason {
        write!(f, " ({})", OneLine(reason))?;
    }
    f.write_str(if issue.accepted { ", accepted\n" } else { "\n" })?;
    for line in lines(issue.message.as_deref().unwrap_or_default()) {
        writeln!(f, "    {line}")?;
    }
    Ok(())
}

/// Writes one update of the list, with or without its message.
fn write_row(
    f: &mut fmt::Formatter<'_>,
    target: &Target,
    width: usize,
    with_message: bool,
) -> fmt::Result {
    let version = OneLine(&target.version).to_string();
    let reason = target.reason.as_deref().unwrap_or_default();
    if target.is_recommended() {
        return write!(f, "\n  {version:width$}  no known issues");
    }
    let status = OneLine(&target.recommended);
    write!(f, "\n  {version:width$}  Recommended={status}: {}", OneLine(reason))?;
    if with_message { write_message(f, target, "    ") } else { Ok(()) }
}

fn write_why(f: &mut fmt::Formatter<'_>, target: &Target, indent: &str) -> fmt::Result {
    if let Some(reason) = &target.reason {
        write!(f, "\n{indent}Reason: {}", OneLine(reason))?;
    }
    if !target.risks.is_empty() {
        write!(f, "\n{indent}Risks: {}", OneLine(&target.risks.join(", ")))?;
    }
    write_message(f, target, indent)
}

fn write_message(f: &mut fmt::Formatter<'_>, target: &Target, indent: &str) -> fmt::Result {
    for line in lines(target.message.as_deref().unwrap_or_default()) {
        let line = line.to_string();
        if line.is_empty() { f.write_str("\n")? } else { write!(f, "\n{indent}{line}")? }
    }
    Ok(())
}
