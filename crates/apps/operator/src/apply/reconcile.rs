//! Drift correction of one object: compares it with its manifest, then writes, creates or deletes it.

use fairway_apply::drift::difference;
use fairway_apply::{ObjectWriter, three_way};
use fairway_release::Manifest;
use serde_json::Value;

use super::cache::{Key, KindCache};
use super::discovery::Kind;
use super::error::ApplyError;
use super::health::{self, Health};
use super::live_object::LiveObject;
use super::new_kinds::NewKinds;
use super::prepare::{ApplyContext, Intent, PrepareError, may_have_foreign_values, prepare};
use super::server_defaults::ServerDefaults;

/// Result of applying an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyResult {
    /// The action that was taken.
    pub outcome: ApplyOutcome,
    /// Readiness of the object.
    pub health: Health,
}

/// Action that was taken on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyOutcome {
    /// None: the object matches its manifest.
    Unchanged,
    /// The object was written.
    Written,
    /// None: the object is create-only and exists, or its deletion is not due.
    Skipped,
    /// The object is being deleted.
    Deleting,
    /// The object is deleted.
    Deleted,
}

/// Result for a deleted object.
pub(super) const DELETED: ApplyResult =
    ApplyResult { outcome: ApplyOutcome::Deleted, health: Health::Good };

/// One manifest and its object, with all that is needed to reconcile them.
pub(super) struct ObjectReconciler<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) context: &'a ApplyContext,
    pub(super) kind: &'a Kind,
    pub(super) writer: ObjectWriter<'a>,
    pub(super) cache: &'a KindCache,
    pub(super) key: &'a Key,
    pub(super) new_kinds: &'a NewKinds,
}

impl ObjectReconciler<'_> {
    /// The object in the cache.
    fn cached(&self) -> Option<Value> {
        self.cache.live(self.key).map(|live| live.object())
    }

    /// The object in the cache, otherwise from the API server: it may lack the managed label.
    async fn find(&self) -> Result<Option<Value>, ApplyError> {
        match self.cached() {
            Some(known) => Ok(Some(known)),
            None => Ok(self.writer.get().await?),
        }
    }

    fn wanted(&self, intent: Intent, known: Option<&Value>) -> Result<Value, PrepareError> {
        let wanted = prepare(self.manifest, intent, known, self.context)?;
        Ok(self.kind.scoped(wanted))
    }

    /// The result of reconciling, if nothing has to be written. Objects to reconcile are read from
    /// the cache. For other intents they are read from the API server, because the object may belong
    /// to another client and lack the managed label.
    pub(super) async fn check(&self, intent: Intent) -> Result<Option<ApplyResult>, ApplyError> {
        let well = |outcome| ApplyResult { outcome, health: Health::Good };
        match intent {
            Intent::Reconcile => {
                let Some(known) = self.cached() else { return Ok(None) };
                let wanted = self.wanted(intent, Some(&known))?;
                let health = health::check(&self.manifest.id, &known);
                let right = ApplyResult { outcome: ApplyOutcome::Unchanged, health };
                Ok(self.matches_desired(&wanted, &known).then_some(right))
            }
            Intent::CreateOnly => Ok(self.is_created().await?.then(|| well(ApplyOutcome::Skipped))),
            Intent::Delete if !self.context.updating && self.cached().is_none() => {
                Ok(Some(well(ApplyOutcome::Skipped)))
            }
            Intent::Delete => Ok(match self.find().await? {
                None => Some(DELETED),
                Some(object) if is_being_deleted(&object) => Some(well(ApplyOutcome::Deleting)),
                Some(_) if !self.context.updating => Some(well(ApplyOutcome::Skipped)),
                Some(_) => None,
            }),
        }
    }

    /// Corrects drift: writes the object if it differs from its manifest.
    pub(super) async fn reconcile(&self) -> Result<ApplyResult, ApplyError> {
        let known = self.cached();
        let wanted = self.wanted(Intent::Reconcile, known.as_ref())?;
        let health = |object: &Value| health::check(&self.manifest.id, object);
        if let Some(object) = &known
            && self.matches_desired(&wanted, object)
        {
            return Ok(ApplyResult { outcome: ApplyOutcome::Unchanged, health: health(object) });
        }
        let (wanted, object) = self.write(wanted, known.is_some()).await?;
        let server_defaults = drift(&wanted, &object).map(|drift| {
            let manifest = &self.manifest.id;
            tracing::info!(%manifest, drift = drift, "API server changed the applied object");
            ServerDefaults::new(&wanted, &object)
        });
        self.cache.set_server_defaults(self.key.clone(), server_defaults);
        self.new_kinds.record(self.manifest, &object);
        let health = health(&object);
        self.cache.store(self.key.clone(), LiveObject::pack(object));
        Ok(ApplyResult { outcome: ApplyOutcome::Written, health })
    }

    /// Writes the object; returns the desired and the live object. An object that is not cached may
    /// have required fields that the manifest leaves out and another client has set. A conflict
    /// shows that without a GET for each object.
    async fn write(&self, wanted: Value, is_known: bool) -> Result<(Value, Value), ApplyError> {
        if is_known || !may_have_foreign_values(self.manifest) {
            return Ok(self.writer.make(wanted).await?);
        }
        if let Some(made) = self.writer.make_without_conflict(wanted).await? {
            return Ok(made);
        }
        let live = self.writer.get().await?;
        Ok(self.writer.make(self.wanted(Intent::Reconcile, live.as_ref())?).await?)
    }

    /// Whether a write would change nothing.
    fn matches_desired(&self, wanted: &Value, known: &Value) -> bool {
        let Some(drift) = drift(wanted, known) else { return true };
        let server_defaults =
            self.cache.has_server_defaults(self.key, &ServerDefaults::new(wanted, known));
        if !server_defaults {
            let manifest = &self.manifest.id;
            tracing::debug!(%manifest, drift = drift, "object differs from manifest");
        }
        server_defaults
    }

    /// Whether the object exists. During an installation there is no GET for each object: the
    /// creation finds existing ones.
    async fn is_created(&self) -> Result<bool, ApplyError> {
        let is_known = self.cached().is_some();
        Ok(is_known || (!self.context.installing && self.writer.get().await?.is_some()))
    }

    /// Creates the object if it does not exist.
    pub(super) async fn create_only(&self) -> Result<ApplyResult, ApplyError> {
        let left = ApplyResult { outcome: ApplyOutcome::Skipped, health: Health::Good };
        if self.is_created().await? {
            return Ok(left);
        }
        let wanted = self.wanted(Intent::CreateOnly, None)?;
        let created = match self.writer.create(&wanted).await {
            // The API server validates the object before it checks whether it exists.
            Err(error) if self.writer.get().await?.is_none() => return Err(error.into()),
            created => created.unwrap_or_default(),
        };
        let Some(created) = created else { return Ok(left) };
        self.cache.store(self.key.clone(), LiveObject::pack(created));
        Ok(ApplyResult { outcome: ApplyOutcome::Written, health: Health::Good })
    }

    /// Deletes the object, but only during an update: an object that appears later belongs to others.
    pub(super) async fn delete(&self) -> Result<ApplyResult, ApplyError> {
        let is_watched = self.cached().is_some();
        if !is_watched && !self.context.updating {
            return Ok(ApplyResult { outcome: ApplyOutcome::Skipped, health: Health::Good });
        }
        let Some(object) = self.find().await? else { return Ok(DELETED) };
        let is_being_deleted = is_being_deleted(&object);
        if !is_being_deleted && !self.context.updating {
            return Ok(ApplyResult { outcome: ApplyOutcome::Skipped, health: Health::Good });
        }
        if !is_watched {
            self.writer.label().await?;
        }
        if is_being_deleted || self.writer.delete().await? {
            Ok(ApplyResult { outcome: ApplyOutcome::Deleting, health: Health::Good })
        } else {
            Ok(DELETED)
        }
    }
}

fn is_being_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// The drift of an object, if it has any.
fn drift(wanted: &Value, live: &Value) -> Option<String> {
    if three_way::was_replaced(live) {
        let matches = three_way::is_applied(wanted, live);
        return (!matches).then(|| "the object differs from the manifest".to_owned());
    }
    difference(wanted, live).map(|found| found.to_string())
}
