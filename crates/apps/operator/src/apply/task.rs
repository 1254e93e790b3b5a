//! What is done with one object.

use fairway_apply::drift::difference;
use fairway_apply::{ObjectWriter, three_way};
use fairway_release::Manifest;
use serde_json::Value;

use super::discovery::Kind;
use super::error::ApplyError;
use super::health::{self, Health};
use super::live::Live;
use super::new_kinds::NewKinds;
use super::prepare::{Context, Intent, Unprepared, is_left_to_its_owner, prepare};
use super::settled::Settled;
use super::watched::{Key, Watched};

/// What came of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// What was done.
    pub outcome: Outcome,
    /// Whether it does what it is there for.
    pub health: Health,
}

/// What was done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: it is as the manifest says.
    Right,
    /// It was written.
    Written,
    /// Nothing: it is there, and belongs to others, or it is not to be deleted now.
    Left,
    /// It is being deleted.
    Deleting,
    /// It is to be gone, and is.
    Gone,
}

/// What is to be gone, and is.
pub(super) const GONE: Applied = Applied { outcome: Outcome::Gone, health: Health::Good };

/// One object, and all that is needed to bring it into the cluster.
pub(super) struct Task<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) context: &'a Context,
    pub(super) kind: &'a Kind,
    pub(super) place: ObjectWriter<'a>,
    pub(super) watched: &'a Watched,
    pub(super) key: &'a Key,
    pub(super) new_kinds: &'a NewKinds,
}

impl Task<'_> {
    /// The object as it was last seen.
    fn known(&self) -> Option<Value> {
        self.watched.live(self.key).map(|live| live.object())
    }

    /// The object as it was last seen, or as it is if it is not watched.
    async fn there(&self) -> Result<Option<Value>, ApplyError> {
        match self.known() {
            Some(known) => Ok(Some(known)),
            None => Ok(self.place.get().await?),
        }
    }

    fn wanted(&self, intent: Intent, known: Option<&Value>) -> Result<Value, Unprepared> {
        let wanted = prepare(self.manifest, intent, known, self.context)?;
        Ok(self.kind.in_its_place(wanted))
    }

    /// What is found of the object, if there is nothing to be done. What is to be kept is watched; of
    /// what only has to be there, or to be gone, the API server is asked: it may be somebody else's.
    pub(super) async fn look(&self, intent: Intent) -> Result<Option<Applied>, ApplyError> {
        let well = |outcome| Applied { outcome, health: Health::Good };
        match intent {
            Intent::Keep => {
                let Some(known) = self.known() else { return Ok(None) };
                let wanted = self.wanted(intent, Some(&known))?;
                let health = health::check(&self.manifest.id, &known);
                let right = Applied { outcome: Outcome::Right, health };
                Ok(self.is_right(&wanted, &known).then_some(right))
            }
            Intent::CreateOnly => Ok(self.is_created().await?.then(|| well(Outcome::Left))),
            Intent::Delete if !self.context.updating && self.known().is_none() => {
                Ok(Some(well(Outcome::Left)))
            }
            Intent::Delete => Ok(match self.there().await? {
                None => Some(GONE),
                Some(object) if is_being_deleted(&object) => Some(well(Outcome::Deleting)),
                Some(_) if !self.context.updating => Some(well(Outcome::Left)),
                Some(_) => None,
            }),
        }
    }

    /// Makes the object what the manifest says.
    pub(super) async fn keep(&self) -> Result<Applied, ApplyError> {
        let known = self.known();
        let wanted = self.wanted(Intent::Keep, known.as_ref())?;
        let health = |object: &Value| health::check(&self.manifest.id, object);
        if let Some(object) = &known
            && self.is_right(&wanted, object)
        {
            return Ok(Applied { outcome: Outcome::Right, health: health(object) });
        }
        let (wanted, object) = self.write(wanted, known.is_some()).await?;
        let settled = wrong(&wanted, &object).map(|wrong| {
            let manifest = &self.manifest.id;
            tracing::info!(%manifest, drift = wrong, "API server changed the applied object");
            Settled::of(&wanted, &object)
        });
        self.watched.settle(self.key.clone(), settled);
        self.new_kinds.note(self.manifest, &object);
        let health = health(&object);
        self.watched.learn(self.key.clone(), Live::pack(object));
        Ok(Applied { outcome: Outcome::Written, health })
    }

    /// Writes the object; returns what is wanted and the object. An object that is not watched yet
    /// may have required fields that the manifest leaves out and another client has set: a conflict
    /// shows that without a request for each object.
    async fn write(&self, wanted: Value, is_known: bool) -> Result<(Value, Value), ApplyError> {
        if is_known || !is_left_to_its_owner(self.manifest) {
            return Ok(self.place.make(wanted).await?);
        }
        if let Some(made) = self.place.make_without_conflict(wanted).await? {
            return Ok(made);
        }
        let live = self.place.get().await?;
        Ok(self.place.make(self.wanted(Intent::Keep, live.as_ref())?).await?)
    }

    /// Whether writing would change nothing.
    fn is_right(&self, wanted: &Value, known: &Value) -> bool {
        let Some(wrong) = wrong(wanted, known) else { return true };
        let settled = self.watched.is_settled(self.key, &Settled::of(wanted, known));
        if !settled {
            let manifest = &self.manifest.id;
            tracing::debug!(%manifest, drift = wrong, "object differs from manifest");
        }
        settled
    }

    /// Whether the object is there. A new cluster has none that are not watched, so that a request
    /// for each would be for nothing: creating it finds those of others.
    async fn is_created(&self) -> Result<bool, ApplyError> {
        let is_known = self.known().is_some();
        Ok(is_known || (!self.context.installing && self.place.get().await?.is_some()))
    }

    /// Creates the object if it is not there.
    pub(super) async fn create_only(&self) -> Result<Applied, ApplyError> {
        let left = Applied { outcome: Outcome::Left, health: Health::Good };
        if self.is_created().await? {
            return Ok(left);
        }
        let wanted = self.wanted(Intent::CreateOnly, None)?;
        let created = match self.place.create(&wanted).await {
            // The API server validates before it looks whether the object exists.
            Err(error) if self.place.get().await?.is_none() => return Err(error.into()),
            created => created.unwrap_or_default(),
        };
        let Some(created) = created else { return Ok(left) };
        self.watched.learn(self.key.clone(), Live::pack(created));
        Ok(Applied { outcome: Outcome::Written, health: Health::Good })
    }

    /// Deletes the object, but only during an update: what appears again later belongs to others.
    pub(super) async fn delete(&self) -> Result<Applied, ApplyError> {
        let is_watched = self.known().is_some();
        if !is_watched && !self.context.updating {
            return Ok(Applied { outcome: Outcome::Left, health: Health::Good });
        }
        let Some(object) = self.there().await? else { return Ok(GONE) };
        let is_being_deleted = is_being_deleted(&object);
        if !is_being_deleted && !self.context.updating {
            return Ok(Applied { outcome: Outcome::Left, health: Health::Good });
        }
        if !is_watched {
            self.place.label().await?;
        }
        if is_being_deleted || self.place.delete().await? {
            Ok(Applied { outcome: Outcome::Deleting, health: Health::Good })
        } else {
            Ok(GONE)
        }
    }
}

fn is_being_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// What is wrong with an object, if anything is.
fn wrong(wanted: &Value, live: &Value) -> Option<String> {
    if three_way::was_replaced(live) {
        let is_right = three_way::is_right(wanted, live);
        return (!is_right).then(|| "the object differs from the manifest".to_owned());
    }
    difference(wanted, live).map(|found| found.to_string())
}
