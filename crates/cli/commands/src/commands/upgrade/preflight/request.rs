//! Preflight requests: the decision, the submission, and another run of the same preflight.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::anyhow;
use fairway_api::cluster_version::{ConditionalUpdate, Release, Update, UpdateMode};
use fairway_api::reason::recommended;
use fairway_api::{ClusterVersion, ClusterVersionStatus, Version};
use fairway_findings::consent::{self, SecretConsent};
use fairway_findings::record::KEEP_RESULTS;
use fairway_insight::PreflightPhase;
use fairway_insight::request::{
    is_desired, is_observed, is_rollout_in_progress, supports_preflights,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::acceptance::accepted_risks;
use super::super::change::{self, Change, Poll, desired_update_patch};
use super::super::release::{ReleaseReference, RequestTarget, listed_releases};
use super::super::risks;
use super::withdrawal;
use crate::args::upgrade::RequestArgs;
use crate::args::upgrade_preflight::PreflightArgs;
use crate::cluster::Cluster;
use crate::errors::{CannotTell, HintExt as _, Refused, WithHint, WrongUsage};
use crate::foreign_text::OneLine;

/// Preflight of the command line.
#[derive(Debug)]
pub(super) struct PreflightRequest {
    pub(super) target: RequestTarget,
    /// Whether the signature is waived.
    pub(super) force: bool,
    /// Whether the command restores the previous request afterwards.
    pub(super) temporary: bool,
    /// Secrets that checks may read, as `NAMESPACE/NAME`.
    pub(super) secrets: BTreeSet<String>,
}

impl PreflightRequest {
    /// The preflight of the arguments.
    pub(super) fn of(
        args: &RequestArgs,
        preflight: &PreflightArgs,
        temporary: bool,
    ) -> anyhow::Result<Self> {
        let no_target =
            || WrongUsage("a preflight requires --to, --to-image or --to-latest".to_owned());
        let target = RequestTarget::of(args)?.ok_or_else(no_target)?;
        let secrets = preflight.allow_secrets.iter().cloned().collect();
        Ok(Self { target, force: args.force, temporary, secrets })
    }

    /// A preflight with default options.
    pub(super) fn new(target: RequestTarget, temporary: bool) -> Self {
        Self { target, force: false, temporary, secrets: BTreeSet::new() }
    }
}

/// Decision on a preflight request.
#[derive(Debug)]
pub(super) struct PreflightDecision {
    /// Requested `spec.desiredUpdate`.
    pub(super) update: Update,
    /// Whether the preflight was already requested.
    pub(super) is_requested: bool,
    /// Whether it was already requested, and its run is over or has another consent.
    pub(super) is_finished: bool,
    /// Previous `spec.desiredUpdate`.
    pub(super) previous: Option<Update>,
    pub(super) target: ReleaseReference,
    pub(super) replaced: Option<ReplacedRequest>,
    /// Probable mistakes in the arguments.
    pub(super) warnings: Vec<String>,
}

/// Request that a preflight request replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReplacedRequest {
    /// Type of the request.
    #[serde(rename = "type")]
    type_: RequestType,
    #[serde(flatten)]
    release: ReleaseReference,
}

/// Type of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum RequestType {
    /// A preflight.
    Preflight,
    /// An update in progress, which continues.
    UpdateInProgress,
    /// An update that has not started.
    PendingUpdate,
}

/// Decides how a preflight request changes ClusterVersion.
pub(super) fn decide(
    cluster_version: &ClusterVersion,
    request: &PreflightRequest,
) -> anyhow::Result<Change<PreflightDecision>> {
    let default = ClusterVersionStatus::default();
    let status = cluster_version.status.as_ref().unwrap_or(&default);
    if !supports_preflights(cluster_version) {
        return Err(unsupported().into());
    }
    let target = find_target(status, &request.target)?;
    if target.is_same_as(&ReleaseReference::from(&status.desired)) {
        return Err(already_current(&target).into());
    }
    let previous = cluster_version.spec.desired_update.as_ref();
    let replaced = previous.and_then(|previous| ReplacedRequest::of(previous, status));
    if let Some(replaced) = replaced.as_ref().filter(|_| request.temporary)
        && replaced.type_ == RequestType::PendingUpdate
    {
        return Err(pending_update(&replaced.release));
    }
    let update = Update {
        version: target.version.clone(),
        image: target.image.clone(),
        force: request.force.then_some(true),
        accept_risks: accepted_risks(cluster_version).to_vec(),
        mode: Some(UpdateMode::Preflight),
        ..Update::default()
    };
    let is_requested = previous.is_some_and(|previous| is_same_request(previous, &update));
    let replaced = replaced.filter(|replaced| !replaced.is_preflight_of(&target));
    let mut warnings: Vec<String> =
        replaced.iter().filter(|_| !request.temporary).map(ReplacedRequest::warning).collect();
    if request.force {
        warnings.push(
            "--force skips signature verification of a release whose code runs in this cluster: \
             make sure that you trust this image"
                .to_owned(),
        );
    }
    if !request.secrets.is_empty() {
        warnings.push(format!(
            "checks of this release can read the Secrets {}: make sure that you trust this release",
            join(&request.secrets)
        ));
    }
    let mut patch = desired_update_patch(cluster_version, &update)?;
    let annotations = cluster_version.metadata.annotations.as_ref();
    let annotation = |name: &str| annotations.and_then(|all| all.get(name)).map(String::as_str);
    if annotation(KEEP_RESULTS).is_some() {
        // The annotation belongs to the previous preflight.
        patch["metadata"]["annotations"][KEEP_RESULTS] = Value::Null;
    }
    let consent = consent_of(&update, &request.secrets)?;
    let has_consent = annotation(consent::ANNOTATION) == consent.as_deref();
    if !has_consent {
        patch["metadata"]["annotations"][consent::ANNOTATION] = json!(consent);
    }
    let expected = update.clone();
    Ok(Change {
        // A changed consent needs another run, which `submit_again` starts.
        patch: (!is_requested || !has_consent && request.temporary).then_some(patch),
        verify: Box::new(move |result| {
            let stored = result.spec.desired_update.as_ref();
            if stored.is_some_and(|stored| is_same_request(stored, &expected)) {
                Ok(())
            } else {
                Err(mode_not_stored().into())
            }
        }),
        outcome: PreflightDecision {
            is_finished: is_requested
                && (!has_consent || PreflightPhase::of(cluster_version).is_finished()),
            previous: previous.cloned(),
            update,
            is_requested,
            target,
            replaced,
            warnings,
        },
    })
}

/// Annotation with the consent that checks of the requested release read Secrets.
fn consent_of(update: &Update, secrets: &BTreeSet<String>) -> serde_json::Result<Option<String>> {
    if secrets.is_empty() {
        return Ok(None);
    }
    let release = update.image().or(update.version()).unwrap_or_default().to_owned();
    serde_json::to_string(&SecretConsent { release, secrets: secrets.clone() }).map(Some)
}

fn join(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Whether two requests are for the same preflight or update.
pub(super) fn is_same_request(one: &Update, other: &Update) -> bool {
    one.mode == other.mode
        && (one.version(), one.image()) == (other.version(), other.image())
        && one.forced() == other.forced()
}

/// Stores a preflight request.
pub(super) async fn submit(
    cluster: &Cluster,
    request: &PreflightRequest,
) -> anyhow::Result<PreflightDecision> {
    let applied = change::apply(cluster, false, |object| decide(object, request)).await?;
    let change = applied.change;
    if applied.stored.is_none_or(|stored| (change.verify)(&stored).is_ok()) {
        return Ok(change.outcome);
    }
    // An older CRD was installed between the dry run and the patch, and the API server dropped the
    // mode: the stored request would start an update.
    let PreflightDecision { update, previous, .. } = change.outcome;
    let without_mode = Update { mode: None, ..update };
    let withdraw = |object: &_| withdrawal::restore(object, &without_mode, previous.as_ref(), true);
    change::apply(cluster, false, withdraw).await.with_hint(
        "the API server dropped the mode of the request, and the remaining update request \
         cannot be withdrawn",
        "withdraw it immediately with `fairway upgrade --clear`",
    )?;
    Err(mode_dropped().into())
}

/// Starts another run of a requested preflight: withdraws the request, waits until the operator has
/// observed it, and requests the preflight again. The previous results are kept until then. An
/// operator that does not observe the withdrawal in time continues the current run.
pub(super) async fn submit_again(
    cluster: &Cluster,
    request: &PreflightRequest,
    requested: &Update,
    timeout: Duration,
) -> anyhow::Result<PreflightDecision> {
    let withdraw = |object: &_| withdrawal::restore(object, requested, None, true);
    change::apply(cluster, false, withdraw).await?;
    let poll = Poll { timeout, max_failures: 0 };
    let observed = poll.run(cluster, async |object| {
        let phase = PreflightPhase::of(&object);
        if phase == PreflightPhase::NotRequested && is_observed(&object) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let observed = observed.await;
    // The request is stored again even if polling failed.
    let decision = submit(cluster, request).await.with_hint(
        "cannot request the preflight again after withdrawing it",
        "run the same command again; the results are kept",
    )?;
    observed?;
    Ok(decision)
}

/// Target release. The operator looks up releases in the graph that ClusterVersion does not list.
fn find_target(
    status: &ClusterVersionStatus,
    target: &RequestTarget,
) -> anyhow::Result<ReleaseReference> {
    match target {
        RequestTarget::Version(version) => {
            let listed = listed_releases(status).find(|release| release.version == *version);
            Ok(listed.map_or_else(|| ReleaseReference::of_version(version), Into::into))
        }
        RequestTarget::Image { image, version } => {
            Ok(ReleaseReference { version: version.clone(), image: Some(image.clone()) })
        }
        RequestTarget::Latest => {
            latest(status).map(Into::into).ok_or_else(|| no_later_release().into())
        }
    }
}

/// Latest release that the update service offers, recommended or not: the findings of a preflight
/// must not change which release is the latest.
fn latest(status: &ClusterVersionStatus) -> Option<&Release> {
    let current = Version::parse(&status.desired.version).ok();
    let is_offered = |update: &&ConditionalUpdate| {
        !risks::names(update).contains(recommended::NOT_OFFERED_BY_UPDATE_SERVICE.code)
    };
    let conditional = status.conditional_updates.iter().filter(is_offered);
    let conditional = conditional.map(|update| &update.release);
    let all = status.available_updates.iter().flatten().chain(conditional);
    let all = all.filter_map(|release| Some((Version::parse(&release.version).ok()?, release)));
    let later = all.filter(|(version, _)| current.as_ref().is_none_or(|now| version > now));
    later.max_by(|(one, _), (other, _)| one.cmp(other)).map(|(_, release)| release)
}

impl ReplacedRequest {
    /// The previous request, `None` if it is for no release or its update is complete.
    fn of(previous: &Update, status: &ClusterVersionStatus) -> Option<Self> {
        let type_ = if previous.mode.is_some() {
            RequestType::Preflight
        } else if !previous.is_update() {
            return None;
        } else if !is_desired(status, previous) {
            RequestType::PendingUpdate
        } else if is_rollout_in_progress(status) {
            RequestType::UpdateInProgress
        } else {
            return None;
        };
        Some(Self { type_, release: ReleaseReference::requested(previous) })
    }

    /// Whether only the options of the same preflight change.
    fn is_preflight_of(&self, target: &ReleaseReference) -> bool {
        self.type_ == RequestType::Preflight && self.release.is_same_as(target)
    }

    fn warning(&self) -> String {
        let name = OneLine(self.release.name());
        match self.type_ {
            RequestType::Preflight => {
                format!("this replaces the preflight of {name}; its results are kept")
            }
            RequestType::UpdateInProgress => {
                format!("the update to {name} continues: a preflight does not interrupt it")
            }
            RequestType::PendingUpdate => format!(
                "this replaces the request to update to {name}, which has not started; request it \
                 again after the preflight"
            ),
        }
    }
}

fn unsupported() -> CannotTell {
    CannotTell::new(
        "the operator of this cluster does not support preflights, and would start an \
         update; nothing changed",
        "preflights require an operator that sets the condition PreflightRunning of \
         ClusterVersion; run `fairway upgrade --include-not-recommended` to list known risks",
    )
}

fn already_current(target: &ReleaseReference) -> WithHint {
    WithHint::new(
        format!("this cluster is already at {}", OneLine(target.name())),
        "choose another release; run `fairway upgrade` to list updates",
    )
}

fn no_later_release() -> CannotTell {
    CannotTell::new(
        "no later release is available",
        "run `fairway upgrade` for the reason; to use an unlisted release, pass --to or \
         --to-image",
    )
}

fn pending_update(release: &ReleaseReference) -> anyhow::Error {
    let name = OneLine(release.name());
    anyhow!("the preflight would replace this request, and the update could start afterwards")
        .context(Refused::new(
            format!("an update to {name} is requested and has not started"),
            "withdraw it with `fairway upgrade --clear`, or replace it with the preflight by \
             running `fairway upgrade --mode=preflight`",
        ))
}

fn mode_not_stored() -> CannotTell {
    CannotTell::new(
        "this cluster does not store the mode of a request, so the request would start an \
         update: its ClusterVersion CRD is too old; nothing changed",
        "install the current CRD with `fairway crds | kubectl apply -f -`",
    )
}

fn mode_dropped() -> CannotTell {
    CannotTell::new(
        "the API server dropped the mode of the request, and the remaining update request is \
         withdrawn: the installed ClusterVersion CRD is too old",
        "run `fairway upgrade` to check whether an update has started; install the current CRD \
         with `fairway crds | kubectl apply -f -`",
    )
}
