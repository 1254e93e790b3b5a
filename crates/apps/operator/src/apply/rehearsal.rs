//! What the API server would say to an object of a release: it is asked, and nothing is written.

use std::sync::Arc;
use std::time::Duration;

use fairway_apply::{FIELD_MANAGER, WriteError, dynamic, is_untypable, three_way, within_time};
use fairway_release::Manifest;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::discovery::{Discovery, kind_of};
use super::error::ApplyError;
use super::prepare::{Context, Intent, is_left_to_its_owner, prepare};

/// Asks the API server about objects as an [`Applier`](super::Applier) would write them. Every
/// request that could write says `dryRun=All`, and each waits for its turn.
pub struct Rehearsal {
    client: Client,
    discovery: Discovery,
    turns: Mutex<Interval>,
}

/// What came of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rehearsed {
    /// The server would take it.
    Taken,
    /// An update would not write it: it is to be gone, or is there and belongs to others.
    Left,
    /// The server does not have its kind.
    UnknownKind,
}

impl Rehearsal {
    /// One that leaves so much time between its requests.
    pub fn new(client: Client, between: Duration) -> Self {
        let mut turns = interval(between);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            discovery: Discovery::new(client.clone(), Arc::default()),
            client,
            turns: Mutex::new(turns),
        }
    }

    async fn turn(&self) {
        self.turns.lock().await.tick().await;
    }

    /// Asks about the object of a manifest.
    pub async fn rehearse(
        &self,
        manifest: &Manifest,
        context: &Context,
    ) -> Result<Rehearsed, ApplyError> {
        let intent = Intent::of(manifest)?;
        if intent == Intent::Delete {
            return Ok(Rehearsed::Left);
        }
        self.turn().await;
        let Some(kind) = self.discovery.find_now(&kind_of(manifest)).await? else {
            return Ok(Rehearsed::UnknownKind);
        };
        let key = kind.key(&manifest.id)?;
        let api = kind.api(self.client.clone(), &key);
        // Another client may have set required fields that the manifest leaves out.
        let live = if is_left_to_its_owner(manifest) {
            self.turn().await;
            let live = within_time(api.get_opt(&key.1)).await?.map(serde_json::to_value);
            live.transpose().map_err(|error| WriteError::Api(kube::Error::SerdeError(error)))?
        } else {
            None
        };
        let wanted = kind.in_its_place(prepare(manifest, intent, live.as_ref(), context)?);
        match intent {
            Intent::CreateOnly => self.create_only(&api, &key.1, &wanted).await,
            _ => self.apply(&api, &key.1, &wanted).await,
        }
    }

    async fn apply(
        &self,
        api: &Api<DynamicObject>,
        name: &str,
        wanted: &Value,
    ) -> Result<Rehearsed, ApplyError> {
        let params = PatchParams::apply(FIELD_MANAGER).force().dry_run();
        match within_time(api.patch(name, &params, &Patch::Apply(wanted))).await {
            Err(WriteError::Api(error)) if is_untypable(&error) => {
                self.replace(api, name, wanted).await
            }
            applied => Ok(applied.map(|_| Rehearsed::Taken)?),
        }
    }

    /// The server cannot merge the object, so it is merged here, and tried as a whole.
    async fn replace(
        &self,
        api: &Api<DynamicObject>,
        name: &str,
        wanted: &Value,
    ) -> Result<Rehearsed, ApplyError> {
        self.turn().await;
        let Some(live) = within_time(api.get_opt(name)).await? else {
            return self.create(api, &three_way::noted(wanted)).await;
        };
        let live = serde_json::to_value(live).map_err(kube::Error::SerdeError);
        let merged = dynamic(&three_way::merged(wanted, &live.map_err(WriteError::Api)?))?;
        self.turn().await;
        within_time(api.replace(name, &dry(), &merged)).await?;
        Ok(Rehearsed::Taken)
    }

    async fn create_only(
        &self,
        api: &Api<DynamicObject>,
        name: &str,
        wanted: &Value,
    ) -> Result<Rehearsed, ApplyError> {
        match within_time(api.get_opt(name)).await? {
            Some(_) => Ok(Rehearsed::Left),
            None => self.create(api, wanted).await,
        }
    }

    async fn create(
        &self,
        api: &Api<DynamicObject>,
        wanted: &Value,
    ) -> Result<Rehearsed, ApplyError> {
        self.turn().await;
        within_time(api.create(&dry(), &dynamic(wanted)?)).await?;
        Ok(Rehearsed::Taken)
    }
}

fn dry() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: true }
}
