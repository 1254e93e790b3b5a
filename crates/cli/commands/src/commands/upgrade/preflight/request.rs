//! A preflight that is asked for: what is to be written.

use anyhow::anyhow;
use fairway_api::cluster_version::{ConditionalUpdate, Release, Update, UpdateMode};
use fairway_api::reason::recommended;
use fairway_api::{ClusterVersion, ClusterVersionStatus, Version};
use fairway_findings::record::KEEP_RESULTS;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::change::Change;
use super::super::request::outcome::Named;
use super::super::request::wish::Target;
use super::super::risks;
use super::super::stored::accepted;
use super::before::Before;
use super::phase::{Phase, is_supported};
use super::release::{is_same, listed};
use crate::errors::{CannotTell, Refused, WithHint};
use crate::foreign_text::OneLine;

/// A preflight to ask for.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) target: Target,
    /// Whether the signature is waived.
    pub(super) force: bool,
    /// What is asked for already is asked for again afterwards.
    pub(super) for_a_while: bool,
}

/// What is to be written.
#[derive(Debug)]
pub(super) struct Plan {
    /// A merge patch of ClusterVersion; none where it is asked for already.
    patch: Option<Value>,
    /// What is asked for then.
    pub(super) update: Update,
    /// Whether it is asked for already, and all of it was looked at.
    pub(super) is_through: bool,
    /// What was asked for before.
    pub(super) before: Option<Update>,
    pub(super) target: Named,
    pub(super) replaces: Option<Replaced>,
    /// What may not be what was meant.
    pub(super) warnings: Vec<String>,
}

/// Request that a preflight request replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Replaced {
    /// Type of the request.
    #[serde(rename = "type")]
    type_: RequestType,
    #[serde(flatten)]
    release: Named,
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

impl Plan {
    /// What the wish means for a ClusterVersion.
    pub(super) fn of(cluster_version: &ClusterVersion, wish: &Wish) -> anyhow::Result<Self> {
        let nothing = ClusterVersionStatus::default();
        let status = cluster_version.status.as_ref().unwrap_or(&nothing);
        if !is_supported(cluster_version) {
            return Err(unsupported().into());
        }
        let target = meant(status, &wish.target)?;
        if is_same(&target, &Named::of(&status.desired)) {
            return Err(already_there(&target).into());
        }
        let asked = cluster_version.spec.desired_update.as_ref();
        let before = Before::of(asked, status);
        if let (Before::Waiting(update), true) = (before, wish.for_a_while) {
            return Err(in_the_way(update));
        }
        let update = Update {
            version: target.version.clone(),
            image: target.image.clone(),
            force: wish.force.then_some(true),
            accept_risks: accepted(cluster_version).to_vec(),
            mode: Some(UpdateMode::Preflight),
            ..Update::default()
        };
        let is_asked = asked.is_some_and(|asked| is_asked(asked, &update));
        let replaces = replaced(before).filter(|replaced| !replaced.is_preflight_of(&target));
        let mut warnings: Vec<String> =
            replaces.iter().filter(|_| !wish.for_a_while).map(Replaced::warning).collect();
        if wish.force {
            warnings.push(
                "--force waives the signature of a release whose code runs in this cluster: make \
                 sure that you trust this image"
                    .to_owned(),
            );
        }
        let patch = if is_asked { None } else { Some(patch(cluster_version, &update)?) };
        let is_through = is_asked && Phase::of(cluster_version).is_through();
        let before = asked.cloned();
        Ok(Self { patch, update, is_through, before, target, replaces, warnings })
    }

    /// Whether it was asked for before.
    pub(super) fn is_asked_already(&self) -> bool {
        self.patch.is_none()
    }
}

impl Change for Plan {
    fn patch(&self) -> Option<&Value> {
        self.patch.as_ref()
    }

    /// A server whose definition is older drops the mode without a word, and what is left would be
    /// an update.
    fn check(&self, result: &ClusterVersion) -> anyhow::Result<()> {
        let kept = result.spec.desired_update.as_ref();
        if kept.is_some_and(|kept| is_asked(kept, &self.update)) {
            Ok(())
        } else {
            Err(CannotTell {
                message: "this cluster does not store the mode of a request, so the request would \
                          start an update: its ClusterVersion CRD is too old; nothing changed"
                    .to_owned(),
                hint: "install the current CRD with `fairway crds | kubectl apply -f -`".to_owned(),
            }
            .into())
        }
    }
}

/// Whether a request is the one for this preflight.
pub(super) fn is_asked(asked: &Update, update: &Update) -> bool {
    asked.mode == update.mode
        && (asked.version(), asked.image()) == (update.version(), update.image())
        && asked.forced() == update.forced()
}

fn patch(cluster_version: &ClusterVersion, update: &Update) -> serde_json::Result<Value> {
    let mut metadata = json!({ "resourceVersion": cluster_version.metadata.resource_version });
    let annotations = cluster_version.metadata.annotations.as_ref();
    if annotations.is_some_and(|all| all.contains_key(KEEP_RESULTS)) {
        // It was about the request before.
        metadata["annotations"] = json!({ KEEP_RESULTS: null });
    }
    Ok(json!({ "metadata": metadata, "spec": { "desiredUpdate": update.merge_patch()? } }))
}

/// The release that is meant. One that is not listed may be in the graph all the same: the operator
/// looks it up.
fn meant(status: &ClusterVersionStatus, target: &Target) -> anyhow::Result<Named> {
    match target {
        Target::Version(version) => {
            let found = listed(status).find(|release| release.version == *version);
            let version = Some(version.clone());
            Ok(found.map_or(Named { version, image: None }, Named::of))
        }
        Target::Image { image, version } => {
            Ok(Named { version: version.clone(), image: Some(image.clone()) })
        }
        Target::Latest => latest(status).map(Named::of).ok_or_else(|| none_is_later().into()),
    }
}

/// The latest release that the update service offers, recommended or not: a preflight that finds
/// something must not change which one that is.
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

fn replaced(before: Before) -> Option<Replaced> {
    let (type_, update) = match before {
        Before::Nothing | Before::Done(_) => return None,
        Before::Mode(update) => (RequestType::Preflight, update),
        Before::UnderWay(update) => (RequestType::UpdateInProgress, update),
        Before::Waiting(update) => (RequestType::PendingUpdate, update),
    };
    Some(Replaced { type_, release: Named::asked(update) })
}

impl Replaced {
    /// Whether nothing but the terms of the same preflight changes.
    fn is_preflight_of(&self, target: &Named) -> bool {
        self.type_ == RequestType::Preflight && is_same(&self.release, target)
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
    CannotTell {
        message: "the operator of this cluster does not support preflights, and would start an \
                  update; nothing changed"
            .to_owned(),
        hint: "preflights require an operator that sets the condition PreflightRunning of \
               ClusterVersion; run `fairway upgrade --include-not-recommended` to list known risks"
            .to_owned(),
    }
}

fn already_there(target: &Named) -> WithHint {
    WithHint {
        message: format!("this cluster is already at {}", OneLine(target.name())),
        hint: "choose another release; run `fairway upgrade` to list updates".to_owned(),
    }
}

fn none_is_later() -> CannotTell {
    CannotTell {
        message: "no later release is available".to_owned(),
        hint: "run `fairway upgrade` for the reason; to use an unlisted release, pass --to or \
               --to-image"
            .to_owned(),
    }
}

fn in_the_way(update: &Update) -> anyhow::Error {
    let named = Named::asked(update);
    let name = OneLine(named.name());
    anyhow!("the preflight would replace this request, and the update could start afterwards")
        .context(Refused {
            message: format!("an update to {name} is requested and has not started"),
            hint:
                "withdraw it with `fairway upgrade --clear`, or replace it by the preflight with \
                   `fairway upgrade --mode=preflight`"
                    .to_owned(),
        })
}
