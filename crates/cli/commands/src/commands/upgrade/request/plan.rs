//! What is to be written, and what comes of it.

use anyhow::{anyhow, ensure};
use fairway_api::cluster_version::{AcceptRisk, ConditionalUpdate, Update};
use fairway_api::image::same_content;
use fairway_api::reason::{progressing, recommended};
use fairway_api::{ClusterVersion, ClusterVersionStatus, ConditionStatus, Conditions as _};
use fairway_insight::Word;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::change::Change;
use super::super::preflight::before::under_way;
use super::super::risks::{self, Exposure};
use super::super::stored::{Others, Stored, accepted};
use super::choice::{Chosen, choose};
use super::outcome::{Accepted, Action, Named, Outcome};
use super::shown::{Shown, open_risks};
use super::unusual::Step;
use super::wish::{Target, UpdateWish, Wish};
use super::{checks, multi_arch, rollback, withdrawal};
use crate::errors::Unaccepted;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;

/// What is to be written, and what comes of it.
pub(super) struct Plan {
    /// A merge patch of ClusterVersion; none where nothing changes.
    pub(super) patch: Option<Value>,
    /// What is asked for then.
    pub(super) update: Update,
    pub(super) outcome: Outcome,
}

impl Plan {
    /// What the wish means for a ClusterVersion.
    pub(super) fn of(
        cluster_version: &ClusterVersion,
        wish: &Wish,
        now: Timestamp,
    ) -> anyhow::Result<Self> {
        let nothing = ClusterVersionStatus::default();
        let status = cluster_version.status.as_ref().unwrap_or(&nothing);
        match wish {
            Wish::Clear => clear(cluster_version, status),
            Wish::Update(wish) => Request { cluster_version, status, wish, now }.plan(),
            Wish::MultiArch(wish) => multi_arch::plan(cluster_version, status, wish),
            Wish::Rollback => rollback::plan(cluster_version, status),
        }
    }

    pub(super) fn changes_something(&self) -> bool {
        self.patch.is_some()
    }
}

impl Change for Plan {
    fn patch(&self) -> Option<&Value> {
        self.patch.as_ref()
    }

    /// The names of risks may be dropped: a cluster that does not keep them does not ask for them.
    fn check(&self, result: &ClusterVersion) -> anyhow::Result<()> {
        let nothing = Update::default();
        let kept = result.spec.desired_update.as_ref().unwrap_or(&nothing);
        ensure!(
            kept.mode.is_none() && same_release(kept, &self.update),
            "the API server drops or changes fields of spec.desiredUpdate; nothing changed: check \
             the ClusterVersion CRD and admission webhooks"
        );
        Ok(())
    }
}

/// Whether two requests are for the same release.
pub(super) fn same_release(one: &Update, other: &Update) -> bool {
    (one.version(), one.image(), one.architecture())
        == (other.version(), other.image(), other.architecture())
}

/// Withdraws what was asked for, and keeps the risks that are accepted.
fn clear(cluster_version: &ClusterVersion, status: &ClusterVersionStatus) -> anyhow::Result<Plan> {
    let nothing = Update::default();
    let asked = cluster_version.spec.desired_update.as_ref().unwrap_or(&nothing);
    if !asked.names_a_release() && asked.mode.is_none() {
        let outcome = Outcome::new(Action::NoRequest);
        return Ok(Plan { patch: None, update: nothing, outcome });
    }
    let goes_on = asked.mode.as_ref().and_then(|_| under_way(status)).unwrap_or_default();
    let update = Update { accept_risks: asked.accept_risks.clone(), ..goes_on };
    let desired = if update == Update::default() { Value::Null } else { update.merge_patch()? };
    let patch = json!({
        "metadata": { "resourceVersion": cluster_version.metadata.resource_version },
        "spec": { "desiredUpdate": desired },
    });
    let action = withdrawal::action(asked, status);
    let goes_on = (action == Action::Withdrawn).then(|| withdrawal::consequence(status));
    let outcome = Outcome {
        release: Some(Named::asked(asked)),
        accept_risks: names_of(&update.accept_risks),
        warnings: goes_on.into_iter().collect(),
        ..Outcome::new(action)
    };
    Ok(Plan { patch: Some(patch), update, outcome })
}

pub(super) fn names_of(risks: &[AcceptRisk]) -> Vec<String> {
    risks.iter().map(|risk| risk.name.clone()).collect()
}

/// An update that is asked for.
struct Request<'a> {
    cluster_version: &'a ClusterVersion,
    status: &'a ClusterVersionStatus,
    wish: &'a UpdateWish,
    now: Timestamp,
}

impl Request<'_> {
    fn plan(&self) -> anyhow::Result<Plan> {
        if self.is_there() {
            return Ok(self.already_there(Action::AlreadyCurrent));
        }
        let Some(chosen) = choose(self.status, self.wish)? else {
            return Ok(self.already_there(Action::Latest));
        };
        if let Some(update) = chosen.conditional.filter(|_| !self.wish.allow_not_recommended) {
            return Err(self.not_recommended(update));
        }
        let mut warnings = Vec::new();
        if !chosen.is_listed {
            warnings.push("the image does not belong to an available update".to_owned());
        }
        let Consent { names, newly, metadata } = self.consent(&chosen)?;
        let release = &chosen.release;
        let update = Update {
            version: Some(release.version.clone()).filter(|version| !version.is_empty()),
            image: Some(release.image.clone()),
            force: self.wish.force.then_some(true),
            accept_risks: names,
            ..Update::default()
        };
        let is_asked =
            newly.is_empty() && self.asked().is_some_and(|asked| is_same(asked, &update));
        let action = if is_asked { Action::AlreadyRequested } else { Action::Requested };
        if !is_asked {
            warnings.extend(checks::check(self.status, self.wish.allow_warnings)?);
        }
        let patch = json!({
            "metadata": metadata,
            "spec": { "desiredUpdate": update.merge_patch()? },
        });
        let step = self.step(&chosen);
        let from = &self.status.desired.version;
        let outcome = Outcome {
            release: Some(Named::asked(&update)),
            from: Some(from.clone()).filter(|from| !from.is_empty()),
            step: step.kind(),
            cautions: step.unusual(),
            force: self.wish.force,
            accept_risks: names_of(&update.accept_risks),
            accepted: newly,
            warnings,
            ..Outcome::new(action)
        };
        Ok(Plan { patch: (!is_asked).then_some(patch), update, outcome })
    }

    fn asked(&self) -> Option<&Update> {
        self.cluster_version.spec.desired_update.as_ref()
    }

    /// Whether the cluster has the release, or is on its way to it.
    fn is_there(&self) -> bool {
        let desired = &self.status.desired;
        match &self.wish.target {
            Target::Version(version) => *version == desired.version,
            Target::Image { image, version } => {
                same_content(image, &desired.image)
                    && version.as_ref().is_none_or(|version| *version == desired.version)
            }
            Target::Latest => false,
        }
    }

    fn already_there(&self, action: Action) -> Plan {
        let progress = self.status.conditions.find(progressing::TYPE);
        let progress = progress
            .filter(|condition| condition.status == ConditionStatus::True)
            .and_then(|condition| condition.message.clone());
        let mut warnings = Vec::new();
        if let Some(other) = self.asked().filter(|asked| asked.is_update() && !self.is_at(asked)) {
            warnings.push(format!(
                "the request for {} remains; withdraw it with `fairway upgrade --clear`",
                OneLine(Named::asked(other).name())
            ));
        }
        if action == Action::Latest && !self.status.conditional_updates.is_empty() {
            warnings.push(
                "some updates are not recommended; list them with `fairway upgrade \
                 --include-not-recommended`"
                    .to_owned(),
            );
        }
        let update = self.asked().filter(|asked| asked.is_update() && self.is_at(asked));
        let release = Some(Named::of(&self.status.desired));
        let outcome = Outcome { release, progress, warnings, ..Outcome::new(action) };
        Plan { patch: None, update: update.cloned().unwrap_or_default(), outcome }
    }

    /// Whether a request is for the release that the cluster has.
    fn is_at(&self, asked: &Update) -> bool {
        let desired = &self.status.desired;
        asked.image().map_or_else(
            || asked.version() == Some(&desired.version),
            |image| same_content(image, &desired.image),
        )
    }

    /// The step to the release.
    fn step<'a>(&'a self, chosen: &'a Chosen) -> Step<'a> {
        let not_looked_up = self.wish.looked_up.as_ref().and_then(|found| found.as_ref().err());
        Step {
            status: self.status,
            channel: self.cluster_version.spec.channel.as_deref(),
            release: &chosen.release,
            not_looked_up: not_looked_up.map(String::as_str),
            force: self.wish.force,
        }
    }

    /// What is accepted so that the update may begin.
    fn consent(&self, chosen: &Chosen) -> anyhow::Result<Consent> {
        let object = self.cluster_version;
        let open = chosen
            .conditional
            .map(|update| open_risks(object, self.status, update, self.now))
            .unwrap_or_default();
        if open.is_empty() {
            let metadata = json!({ "resourceVersion": object.metadata.resource_version });
            return Ok(Consent { names: accepted(object).to_vec(), newly: Vec::new(), metadata });
        }
        let mut stored = Stored::of(object, Others::Stay)?;
        let mut newly = Vec::new();
        for risk in open {
            let by = self.wish.by.as_deref();
            let terms = risk.terms(self.status, &chosen.release.version, by);
            stored.accept(&risk.name, &terms)?;
            newly.push(Accepted { risk, terms });
        }
        stored.check()?;
        let metadata = stored.metadata(object)?;
        Ok(Consent { names: stored.names, newly, metadata })
    }

    /// Why an update that is not recommended is not asked for, and how it is.
    fn not_recommended(&self, update: &ConditionalUpdate) -> anyhow::Error {
        let version = OneLine(&update.release.version);
        let open = open_risks(self.cluster_version, self.status, update, self.now);
        let condition = update.conditions.find(recommended::TYPE);
        let why = condition.map_or_else(
            || "the operator has not evaluated the update yet".to_owned(),
            |condition| OneLine(&condition.message).to_string(),
        );
        let forced = if self.wish.force { "; --force does not waive this check" } else { "" };
        let word = Word(&update.release.version).to_string();
        let word = OneLine(&word);
        let hint = format!(
            "run `fairway upgrade --include-not-recommended` for details; to accept only these \
             risks for {version} and request the update, run `fairway upgrade --to={word} \
             --allow-not-recommended`{forced}"
        );
        let (message, status) = self.objection(update, &open);
        let risks = open.iter().map(Shown::refused).collect();
        anyhow!(why).context(Unaccepted { message, hint, risks, status })
    }

    /// What its risks mean for an update: they are new, speak against it, or may do so.
    fn objection(&self, update: &ConditionalUpdate, open: &[Shown]) -> (String, ExitStatus) {
        let version = OneLine(&update.release.version);
        let names =
            |risks: &[&Shown]| risks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let acceptance = risks::acceptance(self.cluster_version);
        let new: Vec<&Shown> = open.iter().filter(|risk| risk.was_never_accepted()).collect();
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

/// The risks that are accepted, and where that is written down.
struct Consent {
    /// All that are.
    names: Vec<AcceptRisk>,
    /// Those that were not before.
    newly: Vec<Accepted>,
    /// The metadata of a patch, with the terms.
    metadata: Value,
}

/// Whether what is asked for already is what is to be asked for.
pub(super) fn is_same(asked: &Update, update: &Update) -> bool {
    asked.mode.is_none()
        && same_release(asked, update)
        && asked.forced() == update.forced()
        && asked.accept_risks == update.accept_risks
}
