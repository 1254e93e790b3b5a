//! The answer about one update for whoever asks by exit code alone.

use fairway_api::Version;
use fairway_insight::Recommendation;
use fairway_insight::recommend::{Answer, CANNOT_RETRIEVE_UPDATES};

use crate::errors::{CannotTell, Refused, Unaccepted};
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;

/// Nothing is said but what keeps the answer from being yes.
pub(super) fn answer(
    report: &Recommendation,
    version: &Version,
    status: ExitStatus,
) -> anyhow::Result<ExitStatus> {
    let (message, hint) = why_not(report, version);
    match status {
        ExitStatus::Refused => Err(Refused { message, hint }.into()),
        ExitStatus::NewRisks => Err(Unaccepted { message, hint, risks: Vec::new(), status }.into()),
        ExitStatus::Unknown => Err(CannotTell { message, hint }.into()),
        status => Ok(status),
    }
}

/// What keeps the answer from being yes, and who tells more.
fn why_not(report: &Recommendation, version: &Version) -> (String, String) {
    let told = format!("run `fairway upgrade recommend --version={version}` for details");
    match (&report.answer, &report.alerts.message) {
        (Answer::One { not_offered_message: Some(why), .. }, _) => {
            let is_known = !report.issues.iter().any(|it| it.name == CANNOT_RETRIEVE_UPDATES);
            let hint = if is_known {
                "run `fairway upgrade recommend --show-outdated-releases` to list available updates"
            } else {
                "run `fairway upgrade` for the reason"
            };
            (OneLine(why).to_string(), hint.to_owned())
        }
        _ if !report.unaccepted.is_empty() => {
            let names = report.unaccepted.join(",");
            let names = OneLine(&names);
            (format!("the update to {version} has unaccepted issues: {names}"), told)
        }
        (_, why) => {
            let why = why.as_deref().unwrap_or("no reason given");
            (format!("the alerts are unknown: {}", OneLine(why)), told)
        }
    }
}
