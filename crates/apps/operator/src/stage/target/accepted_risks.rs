//! The text of `history[].acceptedRisks`: what an update overrode when it started.

use fairway_api::condition::is_legal_reason;
use fairway_api::reason::{precondition, recommended};
use fairway_api::{ConditionStatus, limits};
use fairway_risk::UnacceptedRisks;
use fairway_risk::{RiskExposure, UpdateVerdict};

use super::preconditions::PreconditionFailure;
use crate::settings::OnUpdate;

/// What an update overrides.
pub(super) struct OverriddenRisks<'a> {
    /// Version of the accepted release.
    pub(super) from: &'a str,
    /// Version of the requested release.
    pub(super) to: &'a str,
    /// Verdict of the risk ledger.
    pub(super) verdict: &'a UpdateVerdict,
    /// Whether the update service offers the update.
    pub(super) offered: bool,
    /// Whether the update graph was retrieved.
    pub(super) is_answered: bool,
    /// Whether `spec.channel` is set; without it, the graph is not retrieved.
    pub(super) has_channel: bool,
    /// Handling of preflight results.
    pub(super) on_update: OnUpdate,
    /// Failed preconditions of a forced update.
    pub(super) forced: &'a [PreconditionFailure],
    /// Unaccepted risks of a forced update.
    pub(super) unaccepted: Option<&'a UnacceptedRisks>,
    /// Error of the signature verification of a forced update.
    pub(super) unverified: Option<&'a str>,
}

/// The text; `None` if nothing is overridden.
pub(super) fn text(overridden: &OverriddenRisks) -> Option<String> {
    let sections: Vec<String> =
        [not_recommended(overridden), advice(overridden), forced(overridden)]
            .into_iter()
            .flatten()
            .collect();
    let text = sections.join("\n\n");
    (!text.is_empty()).then(|| fairway_text::excerpt(&text, limits::MESSAGE).into_owned())
}

/// A headline, a machine-readable reason, a paragraph for each risk, and the names of accepted risks.
fn not_recommended(overridden: &OverriddenRisks) -> Option<String> {
    let OverriddenRisks { from, to, verdict, offered, is_answered, has_channel, .. } = overridden;
    let risks: Vec<&RiskExposure> =
        verdict.exposures.iter().filter(|risk| is_listed(risk)).collect();
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
    let parts: Vec<String> = parts.chain(acceptance(&risks)).collect();
    Some(parts.join("\n\n"))
}

/// Whether a risk is listed. The headline reports an update that is not offered.
fn is_listed(risk: &RiskExposure) -> bool {
    let not_offered = recommended::NOT_OFFERED_BY_UPDATE_SERVICE.code;
    risk.may_apply() && !risk.advisory && risk.name != not_offered
}

/// Preflight findings that do not block the update.
fn advice(OverriddenRisks { to, verdict, on_update, .. }: &OverriddenRisks) -> Option<String> {
    if *on_update == OnUpdate::Off {
        return None;
    }
    let advice = verdict.exposures.iter().filter(|risk| risk.is_advisory());
    let lines: Vec<String> = advice
        .map(|risk| format!("* {}: {} ({})", risk.name, risk.description, risk.message))
        .collect();
    (!lines.is_empty()).then(|| format!("The preflight of {to} reports:\n{}", lines.join("\n")))
}

/// The reason of the condition `Recommended` if no risk were accepted.
fn reason<'a>(risks: &[&'a RiskExposure]) -> &'a str {
    let applies = |risk: &&RiskExposure| risk.status == ConditionStatus::True;
    match risks {
        risks if !risks.iter().any(applies) => recommended::EVALUATION_FAILED.code,
        [only] if is_legal_reason(&only.name) => &only.name,
        [_] => recommended::EXPOSED_TO_RISKS.code,
        _ => recommended::MULTIPLE_REASONS.code,
    }
}

fn acceptance(risks: &[&RiskExposure]) -> Option<String> {
    let names = |accepted: bool| {
        let those = risks.iter().filter(|risk| risk.acceptance_state.is_accepted() == accepted);
        those.map(|risk| risk.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let sentences: Vec<String> =
        [("Accepted by name", names(true)), ("Not accepted by name", names(false))]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(what, names)| format!("{what}: {names}."))
            .collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn forced(overridden: &OverriddenRisks) -> Option<String> {
    let OverriddenRisks { to, forced, unaccepted, unverified, .. } = overridden;
    let signature = unverified.map(|why| {
        format!("The signature of release {to} is not verified, but the update is forced: {why}")
    });
    let guards = forced.iter().map(|failure| format!("Forced through: {failure}"));
    let risks = unaccepted.map(|UnacceptedRisks { applying, unknown, .. }| {
        let names: Vec<&str> = applying.iter().chain(unknown).map(String::as_str).collect();
        format!("Forced through: unaccepted risks: {}", names.join(", "))
    });
    let lines: Vec<String> = signature.into_iter().chain(guards).chain(risks).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use fairway_risk::{
        Acceptance, CandidateUpdate, EvaluationInput, Ledger, PreviousEvaluation, QueryOutcomes,
        QueryPolicy, Risk,
    };
    use fairway_testkit::blocked_edges;
    use fairway_testkit::objects::{beginning, release};

    use super::*;

    /// Verdict for an update to 4.7.4 with all risks of [`blocked_edges`]; each applies to the
    /// cluster.
    fn verdict() -> UpdateVerdict {
        let risk = |text: &str| {
            let field = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
                line.unwrap().to_owned()
            };
            Risk::always(field("name"), field("message"), field("url"))
        };
        let risks = blocked_edges::FILES.iter().map(|(_, text)| risk(text).into()).collect();
        let candidates = vec![CandidateUpdate { release: release("4.7.4"), risks }];
        Ledger::new("4.6.23", candidates, Vec::new()).verdict(
            &release("4.7.4"),
            EvaluationInput {
                outcomes: &QueryOutcomes::new(),
                policy: &QueryPolicy::default(),
                acceptance: &Acceptance::default(),
                previous: &PreviousEvaluation::default(),
                now: beginning().0,
            },
        )
    }

    fn text_of(verdict: &UpdateVerdict, offered: bool, has_channel: bool) -> String {
        text_with(verdict, (offered, true), has_channel)
    }

    fn text_with(
        verdict: &UpdateVerdict,
        (offered, is_answered): (bool, bool),
        has_channel: bool,
    ) -> String {
        let overridden = OverriddenRisks {
            from: "4.6.23",
            to: "4.7.4",
            verdict,
            offered,
            is_answered,
            has_channel,
            on_update: OnUpdate::Off,
            forced: &[],
            unaccepted: None,
            unverified: None,
        };
        text(&overridden).unwrap_or_default()
    }

    #[test]
    fn text_lists_every_risk() {
        insta::assert_snapshot!(text_of(&verdict(), true, true), @"
        Updating from 4.6.23 to 4.7.4 is supported, but not recommended for this cluster.

        Reason: MultipleReasons

        On clusters with a Proxy configured, the authentication operator may keep many oauth-server connections open, resulting in high memory consumption by the authentication operator and router pods. https://bugzilla.redhat.com/show_bug.cgi?id=1941840#c33

        Clusters on vSphere Virtual Hardware Version 14 and later may experience cross-node networking issues. https://access.redhat.com/solutions/5896081

        vSphere clusters leveraging the vSphere cloud provider may lose node names which can have serious impacts on the stability of the control plane and workloads. https://bugzilla.redhat.com/show_bug.cgi?id=1942207#c3

        Not accepted by name: AuthOAuthProxyLeakedConnections, VSphereHW14CrossNodeNetworkingError, VSphereNodeNameChanges.
        ");
    }

    #[test]
    fn text_reports_missing_update_and_channel() {
        let nothing = UpdateVerdict { release: release("4.7.4"), exposures: Vec::new() };
        assert_eq!(text_of(&nothing, true, true), "");
        let unanswered = text_with(&nothing, (false, false), true);
        let texts = [text_of(&nothing, false, true), text_of(&nothing, false, false), unanswered];
        insta::assert_snapshot!(texts.join("\n\n"), @"
        The update service does not offer the update from 4.6.23 to 4.7.4.

        Reason: UnknownUpdate

        The update from 4.6.23 to 4.7.4 is not looked up: no channel is set.

        Reason: NoChannel

        It is unknown whether the update service offers the update from 4.6.23 to 4.7.4, and which risks it has.

        Reason: UnknownUpdate
        ");
    }

    #[test]
    fn text_is_truncated() {
        let mut verdict = verdict();
        let many = verdict.exposures.iter().cycle().take(1000).cloned().collect();
        verdict.exposures = many;
        assert!(text_of(&verdict, true, true).len() <= limits::MESSAGE + "…".len());
    }
}
