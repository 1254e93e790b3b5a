//! What was overridden when an update began, as `history` keeps it for people to read.

use fairway_api::condition::is_legal_reason;
use fairway_api::reason::{precondition, recommended};
use fairway_api::{ConditionStatus, limits};
use fairway_risk::gate::Refusal;
use fairway_risk::{Exposure, Verdict};

use super::guards::Objection;
use crate::settings::OnUpdate;

/// What an update was begun in spite of.
pub(super) struct Overridden<'a> {
    /// The version that the cluster had.
    pub(super) from: &'a str,
    /// The version that it is to have.
    pub(super) to: &'a str,
    /// What the ledger says of the update.
    pub(super) verdict: &'a Verdict,
    /// Whether the update service offers it.
    pub(super) offered: bool,
    /// Whether it has said which updates there are.
    pub(super) is_answered: bool,
    /// Whether a channel was chosen: otherwise nobody was asked.
    pub(super) has_channel: bool,
    /// What becomes of what a preflight said besides.
    pub(super) on_update: OnUpdate,
    /// What the guards said, and was forced.
    pub(super) forced: &'a [Objection],
    /// The risks that had to be accepted and were not, which was forced, too.
    pub(super) unaccepted: Option<&'a Refusal>,
    /// Why its signature does not count, where that was forced.
    pub(super) unverified: Option<&'a str>,
}

/// The text; none where nothing was overridden.
pub(super) fn text(overridden: &Overridden) -> Option<String> {
    let sections: Vec<String> =
        [not_recommended(overridden), advice(overridden), forced(overridden)]
            .into_iter()
            .flatten()
            .collect();
    let told = sections.join("\n\n");
    (!told.is_empty()).then(|| fairway_text::excerpt(&told, limits::MESSAGE).into_owned())
}

/// The headline, one word for programs, a paragraph for each risk, and who took it.
fn not_recommended(overridden: &Overridden) -> Option<String> {
    let Overridden { from, to, verdict, offered, is_answered, has_channel, .. } = overridden;
    let risks: Vec<&Exposure> = verdict.exposures.iter().filter(|risk| is_told(risk)).collect();
    let headline = match (offered, risks.is_empty()) {
        (true, true) => return None,
        (true, false) => {
            format!(
                "Updating from {from} to {to} is supported, but not recommended for this cluster."
            )
        }
        (false, _) if !has_channel => {
            format!("The update from {from} to {to} is not looked up: no channel is set.")
        }
        (false, _) if !is_answered => format!(
            "It is unknown whether the update service offers the update from {from} to {to}, and \
             which risks it has."
        ),
        (false, _) => format!("The update service does not offer the update from {from} to {to}."),
    };
    let reason = match risks.as_slice() {
        [] if *has_channel => precondition::recommended_update::UNKNOWN_UPDATE.code,
        [] => precondition::recommended_update::NO_CHANNEL.code,
        risks => reason(risks),
    };
    let paragraphs = risks.iter().map(|risk| risk.description.clone());
    let parts = [headline, format!("Reason: {reason}")].into_iter().chain(paragraphs);
    let parts: Vec<String> = parts.chain(takers(&risks)).collect();
    Some(parts.join("\n\n"))
}

/// Whether a risk speaks against the update. That it is not offered is what the headline says.
fn is_told(risk: &Exposure) -> bool {
    let not_offered = recommended::NOT_OFFERED_BY_UPDATE_SERVICE.code;
    risk.concerns_this_cluster() && !risk.advisory && risk.name != not_offered
}

/// What a preflight said that stands against nothing.
fn advice(Overridden { to, verdict, on_update, .. }: &Overridden) -> Option<String> {
    if *on_update == OnUpdate::Off {
        return None;
    }
    let advice = verdict.exposures.iter().filter(|risk| risk.is_advice());
    let told: Vec<String> = advice
        .map(|risk| format!("* {}: {} ({})", risk.name, risk.description, risk.message))
        .collect();
    (!told.is_empty()).then(|| format!("The preflight of {to} reports:\n{}", told.join("\n")))
}

/// As the condition `Recommended` would say it if nothing had been accepted.
fn reason<'a>(risks: &[&'a Exposure]) -> &'a str {
    let applies = |risk: &&Exposure| risk.status == ConditionStatus::True;
    match risks {
        risks if !risks.iter().any(applies) => recommended::EVALUATION_FAILED.code,
        [only] if is_legal_reason(&only.name) => &only.name,
        [_] => recommended::EXPOSED_TO_RISKS.code,
        _ => recommended::MULTIPLE_REASONS.code,
    }
}

fn takers(risks: &[&Exposure]) -> Option<String> {
    let names = |accepted: bool| {
        let those = risks.iter().filter(|risk| risk.standing.is_accepted() == accepted);
        those.map(|risk| risk.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let told: Vec<String> =
        [("Accepted by name", names(true)), ("Not accepted by name", names(false))]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(what, names)| format!("{what}: {names}."))
            .collect();
    (!told.is_empty()).then(|| told.join(" "))
}

fn forced(overridden: &Overridden) -> Option<String> {
    let Overridden { to, forced, unaccepted, unverified, .. } = overridden;
    let signature = unverified.map(|why| {
        format!("The signature of release {to} is not verified, but the update is forced: {why}")
    });
    let guards = forced.iter().map(|objection| format!("Forced through: {objection}"));
    let risks = unaccepted.map(|Refusal { applying, unknown, .. }| {
        let names: Vec<&str> = applying.iter().chain(unknown).map(String::as_str).collect();
        format!("Forced through: unaccepted risks: {}", names.join(", "))
    });
    let told: Vec<String> = signature.into_iter().chain(guards).chain(risks).collect();
    (!told.is_empty()).then(|| told.join("\n"))
}

#[cfg(test)]
mod tests;
