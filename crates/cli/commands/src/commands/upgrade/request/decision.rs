//! Decision on update requests: the change of ClusterVersion, or a refusal.

use anyhow::{anyhow, ensure};
use fairway_api::cluster_version::{AcceptRisk, ConditionalUpdate, Update};
use fairway_api::image::same_content;
use fairway_api::reason::{failing, invalid, progressing, recommended, rollout};
use fairway_api::{
    ClusterVersion, ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition,
};
use fairway_insight::ShellWord;
use fairway_insight::request::{is_desired, is_same_release};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::acceptance::{OtherRisks, StoredAcceptances, accepted_risks};
use super::super::change::{Change, Verify};
use super::super::release::{ReleaseReference, RequestTarget};
use super::super::risks::{self, Exposure};
use super::arguments::{ReleaseRequest, UpdateRequest};
use super::cautions::UpdateStep;
use super::outcome::{AcceptedRisk, Action, UpdateOutcome};
use super::selection::{SelectedRelease, select};
use super::unaccepted_risk::{UnacceptedRisk, unaccepted_risks};
use super::{multi_arch, rollback, withdrawal};
use crate::errors::{Refused, Unaccepted};
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;

/// Decides how a request changes ClusterVersion.
pub(super) fn decide(
    cluster_version: &ClusterVersion,
    request: &UpdateRequest,
    now: Timestamp,
) -> anyhow::Result<Change<UpdateOutcome>> {
    let default = ClusterVersionStatus::default();
    let status = cluster_version.status.as_ref().unwrap_or(&default);
    match request {
        UpdateRequest::Clear => withdrawal::decide(cluster_version, status),
        UpdateRequest::Release(request) => {
            ReleaseDecision { cluster_version, status, request, now }.decide()
        }
        UpdateRequest::MultiArch(request) => multi_arch::decide(cluster_version, status, request),
        UpdateRequest::Rollback => rollback::decide(cluster_version, status),
    }
}

/// Requires that the API server stores the requested release. It may drop accepted risks: a cluster
/// that does not store them does not evaluate them either.
pub(super) fn verify_release(update: &Update) -> Verify {
    let update = update.clone();
    Box::new(move |result| {
        let default = Update::default();
        let stored = result.spec.desired_update.as_ref().unwrap_or(&default);
        ensure!(
            stored.mode.is_none() && is_same_release(stored, &update),
            "the API server drops or changes fields of spec.desiredUpdate; nothing changed: check \
             the ClusterVersion CRD and admission webhooks"
        );
        Ok(())
    })
}

pub(super) fn names_of(risks: &[AcceptRisk]) -> Vec<String> {
    risks.iter().map(|risk| risk.name.clone()).collect()
}

/// Decision on an update to a release.
struct ReleaseDecision<'a> {
    cluster_version: &'a ClusterVersion,
    status: &'a ClusterVersionStatus,
    request: &'a ReleaseRequest,
    now: Timestamp,
}

impl ReleaseDecision<'_> {
    fn decide(&self) -> anyhow::Result<Change<UpdateOutcome>> {
        if self.is_current() {
            return Ok(self.unchanged(Action::AlreadyCurrent));
        }
        let Some(selected) = select(self.status, self.request)? else {
            return Ok(self.unchanged(Action::Latest));
        };
        if let Some(update) = selected.conditional.filter(|_| !self.request.allow_not_recommended) {
            return Err(self.not_recommended(update));
        }
        let mut warnings = Vec::new();
        if !selected.is_listed {
            warnings.push("the image does not belong to an available update".to_owned());
        }
        let Acceptances { names, newly, metadata } = self.acceptances(&selected)?;
        let release = &selected.release;
        let update = Update {
            version: Some(release.version.clone()).filter(|version| !version.is_empty()),
            image: Some(release.image.clone()),
            force: self.request.force.then_some(true),
            accept_risks: names,
            ..Update::default()
        };
        let is_requested = newly.is_empty()
            && self.requested().is_some_and(|requested| is_same_request(requested, &update));
        let action = if is_requested { Action::AlreadyRequested } else { Action::Requested };
        if !is_requested {
            warnings.extend(cluster_warnings(self.status, self.request.allow_warnings)?);
        }
        let patch = json!({
            "metadata": metadata,
            "spec": { "desiredUpdate": update.merge_patch()? },
        });
        let step = self.step(&selected);
        let from = &self.status.desired.version;
        let outcome = UpdateOutcome {
            release: Some(ReleaseReference::requested(&update)),
            from: Some(from.clone()).filter(|from| !from.is_empty()),
            step: step.kind(),
            cautions: step.cautions(),
            force: self.request.force,
            accept_risks: names_of(&update.accept_risks),
            accepted: newly,
            warnings,
            update,
            ..UpdateOutcome::new(action)
        };
        let verify = verify_release(&outcome.update);
        Ok(Change { patch: (!is_requested).then_some(patch), verify, outcome })
    }

    fn requested(&self) -> Option<&Update> {
        self.cluster_version.spec.desired_update.as_ref()
    }

    /// Whether the cluster has the release, or its rollout is in progress.
    fn is_current(&self) -> bool {
        let desired = &self.status.desired;
        match &self.request.target {
            RequestTarget::Version(version) => *version == desired.version,
            RequestTarget::Image { image, version } => {
                same_content(image, &desired.image)
                    && version.as_ref().is_none_or(|version| *version == desired.version)
            }
            RequestTarget::Latest => false,
        }
    }

    fn unchanged(&self, action: Action) -> Change<UpdateOutcome> {
        let progress = self.status.conditions.find(progressing::TYPE);
        let progress = progress
            .filter(|condition| condition.status == ConditionStatus::True)
            .and_then(|condition| condition.message.clone());
        let mut warnings = Vec::new();
        if let Some(other) =
            self.requested().filter(|update| update.is_update() && !self.is_at(update))
        {
            warnings.push(format!(
                "the request for {} remains; withdraw it with `fairway upgrade --clear`",
                OneLine(ReleaseReference::requested(other).name())
            ));
        }
        if action == Action::Latest && !self.status.conditional_updates.is_empty() {
            warnings.push(
                "some updates are not recommended; list them with `fairway upgrade \
                 --include-not-recommended`"
                    .to_owned(),
            );
        }
        let update = self.requested().filter(|update| update.is_update() && self.is_at(update));
        Change::none(UpdateOutcome {
            release: Some(ReleaseReference::from(&self.status.desired)),
            progress,
            warnings,
            update: update.cloned().unwrap_or_default(),
            ..UpdateOutcome::new(action)
        })
    }

    /// Whether a request is for the release of the cluster.
    fn is_at(&self, update: &Update) -> bool {
        is_desired(self.status, update)
    }

    /// Version change and cautions of the update.
    fn step<'a>(&'a self, selected: &'a SelectedRelease) -> UpdateStep<'a> {
        let metadata_error =
            self.request.image_metadata.as_ref().and_then(|found| found.as_ref().err());
        UpdateStep {
            status: self.status,
            channel: self.cluster_version.spec.channel.as_deref(),
            release: &selected.release,
            metadata_error: metadata_error.map(String::as_str),
            force: self.request.force,
        }
    }

    /// Acceptances that the update needs.
    fn acceptances(&self, selected: &SelectedRelease) -> anyhow::Result<Acceptances> {
        let object = self.cluster_version;
        let open = selected
            .conditional
            .map(|update| unaccepted_risks(object, self.status, update, self.now))
            .unwrap_or_default();
        if open.is_empty() {
            let metadata = json!({ "resourceVersion": object.metadata.resource_version });
            return Ok(Acceptances {
                names: accepted_risks(object).to_vec(),
                newly: Vec::new(),
                metadata,
            });
        }
        let mut stored = StoredAcceptances::of(object, OtherRisks::Keep)?;
        let mut newly = Vec::new();
        for risk in open {
            let by = self.request.user.as_deref();
            let terms = risk.terms(self.status, &selected.release.version, by);
            stored.accept(&risk.name, &terms)?;
            newly.push(AcceptedRisk { risk, terms });
        }
        stored.check()?;
        let metadata = stored.metadata(object)?;
        Ok(Acceptances { names: stored.names, newly, metadata })
    }

    /// Refusal of an update that is not recommended, with the risks and the command that accepts
    /// them.
    fn not_recommended(&self, update: &ConditionalUpdate) -> anyhow::Error {
        let version = OneLine(&update.release.version);
        let open = unaccepted_risks(self.cluster_version, self.status, update, self.now);
        let condition = update.conditions.find(recommended::TYPE);
        let why = condition.map_or_else(
            || "the operator has not evaluated the update yet".to_owned(),
            |condition| OneLine(&condition.message).to_string(),
        );
        let forced = if self.request.force { "; --force does not waive this check" } else { "" };
        let word = ShellWord(&update.release.version).to_string();
        let word = OneLine(&word);
        let hint = format!(
            "run `fairway upgrade --include-not-recommended` for details; to accept only these \
             risks for {version} and request the update, run `fairway upgrade --to={word} \
             --allow-not-recommended`{forced}"
        );
        let (message, status) = self.risk_message(update, &open);
        let risks = open.iter().map(UnacceptedRisk::refusal).collect();
        anyhow!(why).context(Unaccepted { message, hint, risks, status })
    }

    /// Message and exit status for unaccepted risks: new, applying, or unknown.
    fn risk_message(
        &self,
        update: &ConditionalUpdate,
        open: &[UnacceptedRisk],
    ) -> (String, ExitStatus) {
        let version = OneLine(&update.release.version);
        let names = |risks: &[&UnacceptedRisk]| {
            risks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let acceptance = risks::acceptance(self.cluster_version);
        let new: Vec<&UnacceptedRisk> = open.iter().filter(|risk| risk.is_new()).collect();
        let risks = names(&open.iter().collect::<Vec<_>>());
        if !new.is_empty()
            && risks::any_accepted_for(&acceptance, &update.release.version, self.now)
        {
            let new = names(&new);
            let message = format!("{version} has new unaccepted risks: {new}");
            (message, ExitStatus::NewRisks)
        } else if open.is_empty() {
            (format!("{version} is not recommended for this cluster"), ExitStatus::Refused)
        } else if open.iter().any(|risk| risk.exposure == Exposure::Exposed) {
            (format!("{version} is not recommended for this cluster: {risks}"), ExitStatus::Refused)
        } else {
            let message =
                format!("it is unknown whether {version} is recommended for this cluster: {risks}");
            (message, ExitStatus::Unknown)
        }
    }
}

/// Accepted risks of a request.
struct Acceptances {
    /// All accepted risks.
    names: Vec<AcceptRisk>,
    /// Newly accepted risks.
    newly: Vec<AcceptedRisk>,
    /// Metadata of the patch, with the terms.
    metadata: Value,
}

/// Whether a request is already in the spec.
pub(super) fn is_same_request(requested: &Update, update: &Update) -> bool {
    requested.mode.is_none()
        && is_same_release(requested, update)
        && requested.forced() == update.forced()
        && requested.accept_risks == update.accept_risks
}

/// Problems of the cluster as warnings, or a refusal unless `allow_warnings` is set.
pub(super) fn cluster_warnings(
    status: &ClusterVersionStatus,
    allow_warnings: bool,
) -> anyhow::Result<Vec<String>> {
    let found = [
        (invalid::TYPE, "ClusterVersion is invalid"),
        (failing::TYPE, "the cluster is failing"),
        (progressing::TYPE, "another update is in progress"),
    ];
    let found = found.into_iter().filter_map(|(type_, what)| {
        let condition = status.conditions.find(type_)?;
        status
            .conditions
            .is_true(type_)
            .then(|| (describe(what, condition), is_harmless(condition)))
    });
    let found: Vec<(String, bool)> = found.collect();
    let serious: Vec<&str> =
        found.iter().filter(|(_, harmless)| !harmless).map(|(text, _)| text.as_str()).collect();
    if serious.is_empty() || allow_warnings {
        return Ok(found.into_iter().map(|(text, _)| text).collect());
    }
    let refused = Refused::new(
        "cannot update now",
        "run `fairway upgrade` for details; to update anyway, add --allow-upgrade-with-warnings",
    );
    Err(anyhow!("{}", serious.join("; ")).context(refused))
}

fn describe(what: &str, condition: &OperatorCondition) -> String {
    let parts = [&condition.reason, &condition.message].into_iter().flatten();
    let parts = parts.filter(|part| !part.is_empty());
    let parts: Vec<String> = parts.map(|part| OneLine(part).to_string()).collect();
    if parts.is_empty() { what.to_owned() } else { format!("{what}: {}", parts.join(": ")) }
}

/// Whether the condition only reports degraded operators, which never block an update.
fn is_harmless(condition: &OperatorCondition) -> bool {
    let degraded = [rollout::CLUSTER_OPERATOR_DEGRADED, rollout::CLUSTER_OPERATORS_DEGRADED];
    let reason = condition.reason.as_deref();
    degraded.iter().any(|degraded| reason == Some(degraded.code))
}
