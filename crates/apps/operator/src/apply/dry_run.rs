//! Dry run of the objects of a release.

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
use super::prepare::{ApplyContext, Intent, may_have_foreign_values, prepare};

/// Sends the requests of an [`Applier`](super::Applier) with `dryRun=All`, at a limited rate.
pub struct DryRun {
    client: Client,
    discovery: Discovery,
    interval: Mutex<Interval>,
}

/// Result of a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRunResult {
    /// The API server accepts the object.
    Taken,
    /// An update does not write the object: it is deleted, or exists and is create-only.
    Left,
    /// The API server does not serve the kind.
    UnknownKind,
}

impl DryRun {
    /// Creates a dry run with a minimum time between its requests.
    pub fn new(client: Client, between: Duration) -> Self {
        let mut interval = interval(between);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            discovery: Discovery::new(client.clone(), Arc::default()),
            client,
            interval: Mutex::new(interval),
        }
    }

    async fn wait_turn(&self) {
        self.interval.lock().await.tick().await;
    }

    /// Sends the dry run of a manifest.
    pub async fn run(
        &self,
        manifest: &Manifest,
        context: &ApplyContext,
    ) -> Result<DryRunResult, ApplyError> {
        let intent = Intent::from_manifest(manifest)?;
        if intent == Intent::Delete {
            return Ok(DryRunResult::Left);
        }
        self.wait_turn().await;
        let Some(kind) = self.discovery.find_now(&kind_of(manifest)).await? else {
            return Ok(DryRunResult::UnknownKind);
        };
        let key = kind.key(&manifest.id)?;
        let api = kind.api(self.client.clone(), &key);
        // Another client may have set required fields that the manifest leaves out.
        let live = if may_have_foreign_values(manifest) {
            self.wait_turn().await;
            let live = within_time(api.get_opt(&key.1)).await?.map(serde_json::to_value);
            live.transpose().map_err(|error| WriteError::Api(kube::Error::SerdeError(error)))?
        } else {
            None
        };
        let wanted = kind.scoped(prepare(manifest, intent, live.as_ref(), context)?);
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
    ) -> Result<DryRunResult, ApplyError> {
        let params = PatchParams::apply(FIELD_MANAGER).force().dry_run();
        match within_time(api.patch(name, &params, &Patch::Apply(wanted))).await {
            Err(WriteError::Api(error)) if is_untypable(&error) => {
                self.replace(api, name, wanted).await
            }
            applied => Ok(applied.map(|_| DryRunResult::Taken)?),
        }
    }

    /// Falls back to a client-side merge and a PUT, for objects that the API server cannot merge.
    async fn replace(
        &self,
        api: &Api<DynamicObject>,
        name: &str,
        wanted: &Value,
    ) -> Result<DryRunResult, ApplyError> {
        self.wait_turn().await;
        let Some(live) = within_time(api.get_opt(name)).await? else {
            return self.create(api, &three_way::noted(wanted)).await;
        };
        let live = serde_json::to_value(live).map_err(kube::Error::SerdeError);
        let merged = dynamic(&three_way::merged(wanted, &live.map_err(WriteError::Api)?))?;
        self.wait_turn().await;
        within_time(api.replace(name, &dry_run_params(), &merged)).await?;
        Ok(DryRunResult::Taken)
    }

    async fn create_only(
        &self,
        api: &Api<DynamicObject>,
        name: &str,
        wanted: &Value,
    ) -> Result<DryRunResult, ApplyError> {
        match within_time(api.get_opt(name)).await? {
            Some(_) => Ok(DryRunResult::Left),
            None => self.create(api, wanted).await,
        }
    }

    async fn create(
        &self,
        api: &Api<DynamicObject>,
        wanted: &Value,
    ) -> Result<DryRunResult, ApplyError> {
        self.wait_turn().await;
        within_time(api.create(&dry_run_params(), &dynamic(wanted)?)).await?;
        Ok(DryRunResult::Taken)
    }
}

fn dry_run_params() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: true }
}
