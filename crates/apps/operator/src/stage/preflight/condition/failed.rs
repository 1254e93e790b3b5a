//! `PreflightFailed`: what could not be carried out.

use fairway_api::OperatorCondition;
use fairway_api::reason::{Reason, preflight_failed as reason};
use fairway_findings::{CheckReport, CheckStatus, Document};

use super::{Phase, Situation};
use crate::stage::preflight::diagnosis::Trouble;
use crate::stage::preflight::request::Held;
use crate::text;

pub(super) fn condition(situation: &Situation) -> OperatorCondition {
    let (has_failed, reason, message) = said(situation);
    super::condition(reason::TYPE, has_failed, reason, &message)
}

fn said(situation: &Situation) -> (bool, Reason, String) {
    match situation.phase {
        Phase::NotRequested => {
            (false, reason::NOT_REQUESTED, "No preflight is requested.".to_owned())
        }
        Phase::Held(held) => (true, reason_of(held), sentence(&held.to_string())),
        _ => {
            let checks = situation.document.into_iter().filter_map(of_checks);
            let troubles: Vec<Trouble> = situation.troubles.iter().cloned().chain(checks).collect();
            of_troubles(situation, &troubles)
        }
    }
}

fn of_troubles(situation: &Situation, troubles: &[Trouble]) -> (bool, Reason, String) {
    let about = situation.phase.target().map(|target| format!("Preflight of {target}: "));
    let about = about.unwrap_or_default();
    match troubles {
        [] => (false, reason::AS_EXPECTED, "The preflight reports no errors.".to_owned()),
        [one] => (true, one.reason, format!("{about}{}.", one.message)),
        several => {
            let lines: Vec<_> = several.iter().map(|one| one.message.as_str()).collect();
            let message = format!("{}\n* {}", about.trim_end(), lines.join("\n* "));
            (true, reason::MULTIPLE_ERRORS, message)
        }
    }
}

/// What became of checks that gave no answer; one trouble for all of them.
fn of_checks(document: &Document) -> Option<Trouble> {
    let failed: Vec<(&CheckReport, Reason)> = document
        .checks
        .iter()
        .filter_map(|check| Some((check, of_status(check.status)?)))
        .collect();
    let (_, first) = failed.first()?;
    let is_same = failed.iter().all(|(_, reason)| reason == first);
    let reason = if is_same { *first } else { reason::PREFLIGHT_PARTIAL };
    let told: Vec<String> = failed
        .iter()
        .map(|(check, reason)| {
            let why = text::excerpt(&check.message);
            let meaning = if why.is_empty() { reason.meaning } else { &why };
            format!("{}: {meaning}", text::excerpt(&check.name))
        })
        .collect();
    let count = told.len();
    let checks = if count == 1 { "1 check".to_owned() } else { format!("{count} checks") };
    let message = format!("{checks} returned no result ({})", told.join("; "));
    Some(Trouble::passing(reason, message))
}

fn of_status(status: CheckStatus) -> Option<Reason> {
    match status {
        CheckStatus::Waiting
        | CheckStatus::Running
        | CheckStatus::Passed
        | CheckStatus::Found
        | CheckStatus::Skipped => None,
        CheckStatus::CannotTell => Some(reason::PREFLIGHT_PARTIAL),
        CheckStatus::VersionSkew => Some(reason::PREFLIGHT_VERSION_SKEW),
        CheckStatus::TimedOut => Some(reason::CHECK_TIMED_OUT),
        CheckStatus::Failed => Some(reason::CHECK_FAILED),
        CheckStatus::Refused => Some(reason::CHECK_REFUSED),
        CheckStatus::AccessRefused => Some(reason::CHECK_ACCESS_REFUSED),
        CheckStatus::NotStarted => Some(reason::CHECK_NOT_STARTED),
    }
}

fn reason_of(held: &Held) -> Reason {
    match held {
        Held::UnknownMode { .. } => reason::UNKNOWN_MODE,
        Held::Disabled => reason::PREFLIGHT_DISABLED,
        Held::NotRetrieved { .. } => reason::UPDATES_NOT_RETRIEVED,
        Held::NotFound { .. } | Held::Several { .. } | Held::NoRelease => reason::VERSION_NOT_FOUND,
        Held::NotByDigest { .. } => reason::RETRIEVE_PAYLOAD,
    }
}

/// A text with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}
