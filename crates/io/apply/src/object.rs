//! Writer of one object: server-side apply, with a fallback to PUT.

use fairway_election::Leadership;
use kube::api::{DeleteParams, DynamicObject, GetParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::{Api, Client};
use serde::Serialize;
use serde_json::{Value, json};

use crate::drift::difference;
use crate::error::{WriteError, is_untypable, within_time};
use crate::{FIELD_MANAGER, MANAGED, ownership, three_way};

/// Maximum attempts after conflicts. More of them mean contention.
const MAX_ATTEMPTS: usize = 5;

/// Reads and writes one object. Responses are decoded as plain JSON: a CRD may have megabytes, and
/// every typed copy of it takes ten times as much.
pub struct ObjectWriter<'a> {
    client: Client,
    requests: Request,
    name: &'a str,
    leadership: &'a Leadership,
}

type Answer = Result<Value, WriteError>;

impl<'a> ObjectWriter<'a> {
    /// Creates a writer for an object. It writes while its process is the leader.
    pub fn new(api: &Api<DynamicObject>, name: &'a str, leadership: &'a Leadership) -> Self {
        let requests = Request::new(api.resource_url());
        Self { client: api.clone().into_client(), requests, name, leadership }
    }

    /// The object, if it exists.
    pub async fn get(&self) -> Result<Option<Value>, WriteError> {
        let request = self.requests.get(self.name, &GetParams::default()).map_err(built)?;
        match within_time(self.client.request(request)).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if is_status(&error, 404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates the object; `None` if it exists already.
    pub async fn create(&self, object: &Value) -> Result<Option<Value>, WriteError> {
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
        let request = self.requests.create(&params, bytes(object)?).map_err(built)?;
        match self.write(request).await {
            Ok(created) => Ok(Some(created)),
            Err(error) if is_status(&error, 409) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Applies the desired object, and removes fields that earlier operators set. Returns the desired
    /// and the live object.
    pub async fn make(&self, wanted: Value) -> Result<(Value, Value), WriteError> {
        self.make_with(&PatchParams::apply(FIELD_MANAGER).force(), wanted).await
    }

    /// Like [`Self::make`], but without `force`: returns `None` if another manager has set one of the
    /// fields to another value.
    pub async fn make_without_conflict(
        &self,
        wanted: Value,
    ) -> Result<Option<(Value, Value)>, WriteError> {
        match self.make_with(&PatchParams::apply(FIELD_MANAGER), wanted).await {
            Err(error) if is_status(&error, 409) => Ok(None),
            made => made.map(Some),
        }
    }

    async fn make_with(
        &self,
        params: &PatchParams,
        wanted: Value,
    ) -> Result<(Value, Value), WriteError> {
        // Keeps only the text in memory during the request.
        let body = bytes(&wanted)?;
        drop(wanted);
        let applied = self.apply(params, body.clone()).await;
        let wanted: Value = serde_json::from_slice(&body).map_err(read)?;
        drop(body);
        let made = match applied {
            Ok(applied) => self.own(&wanted, applied).await,
            Err(WriteError::Api(error)) if is_untypable(&error) => self.replace(&wanted).await,
            Err(error) => Err(error),
        };
        Ok((wanted, made?))
    }

    async fn apply(&self, params: &PatchParams, body: Vec<u8>) -> Answer {
        let empty = Patch::Apply(Value::Null);
        let request = self.requests.patch(self.name, params, &empty).map_err(built)?;
        self.write(request.map(|_| body)).await
    }

    /// Moves fields that Fairway or the Go operator wrote by update to the apply entry of
    /// `managedFields`, so that server-side apply removes those that the manifest no longer has.
    async fn own(&self, wanted: &Value, applied: Value) -> Answer {
        let mut live = if three_way::was_replaced(&applied) {
            self.put_over(|live| three_way::released(wanted, live)).await?
        } else {
            applied
        };
        for _ in 0..MAX_ATTEMPTS {
            let Some(patch) = ownership::moved_to_apply(&live) else { return Ok(live) };
            match self.merge(&patch).await {
                Err(error) if is_status(&error, 409) => {
                    live = self.get().await?.ok_or(WriteError::Overtaken)?;
                }
                moved => return self.without_the_rest(wanted, moved?).await,
            }
        }
        Err(WriteError::Overtaken)
    }

    /// Applies again if the object has fields that the manifest no longer has.
    async fn without_the_rest(&self, wanted: &Value, moved: Value) -> Answer {
        match difference(wanted, &moved) {
            None => Ok(moved),
            Some(_) => self.apply(&PatchParams::apply(FIELD_MANAGER).force(), bytes(wanted)?).await,
        }
    }

    /// Falls back to a client-side merge and a PUT, because the API server cannot merge the object.
    async fn replace(&self, wanted: &Value) -> Answer {
        let written = match self.get().await? {
            Some(_) => self.put_over(|live| three_way::merged(wanted, live)).await?,
            None => match self.create(&three_way::noted(wanted)).await? {
                Some(created) => created,
                None => return Err(WriteError::Overtaken),
            },
        };
        if three_way::is_applied(wanted, &written) {
            return Ok(written);
        }
        let accepted = |live: &Value| three_way::accepted(wanted, live);
        // A GET first would save a conflict if a controller writes the object at the same time, and
        // cost a request in all other cases.
        match self.put(&accepted(&written)).await {
            Err(error) if is_status(&error, 409) => self.put_over(accepted).await,
            put => put,
        }
    }

    /// Reads, changes and writes the object. Retries conflicts, because controllers may write its
    /// status meanwhile.
    async fn put_over(&self, change: impl Fn(&Value) -> Value) -> Answer {
        let mut written = Err(WriteError::Overtaken);
        for _ in 0..MAX_ATTEMPTS {
            let Some(live) = self.get().await? else { return Err(WriteError::Overtaken) };
            written = self.put(&change(&live)).await;
            if !written.as_ref().is_err_and(|error| is_status(error, 409)) {
                return written;
            }
        }
        written
    }

    async fn put(&self, object: &Value) -> Answer {
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
        let request = self.requests.replace(self.name, &params, bytes(object)?).map_err(built)?;
        self.write(request).await
    }

    async fn merge(&self, patch: &(impl Serialize + std::fmt::Debug + Sync)) -> Answer {
        let params =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(patch);
        let request = self.requests.patch(self.name, &params, &patch).map_err(built)?;
        self.write(request).await
    }

    /// Adds the managed label, so that the watch includes the object.
    pub async fn label(&self) -> Answer {
        let (label, value) = MANAGED;
        self.merge(&json!({"metadata": {"labels": {label: value}}})).await
    }

    /// Deletes the object; returns whether it existed.
    pub async fn delete(&self) -> Result<bool, WriteError> {
        let params = DeleteParams::background();
        let request = self.requests.delete(self.name, &params).map_err(built)?;
        match self.write(request).await {
            Ok(_) => Ok(true),
            Err(error) if is_status(&error, 404) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn write(&self, request: http::Request<Vec<u8>>) -> Answer {
        self.leadership.write(within_time(self.client.request(request))).await?
    }
}

fn bytes(object: &Value) -> Result<Vec<u8>, WriteError> {
    serde_json::to_vec(object).map_err(read)
}

fn read(error: serde_json::Error) -> WriteError {
    WriteError::Api(kube::Error::SerdeError(error))
}

fn built(error: kube::core::request::Error) -> WriteError {
    WriteError::Api(kube::Error::BuildRequest(error))
}

fn is_status(error: &WriteError, code: u16) -> bool {
    matches!(error, WriteError::Api(kube::Error::Api(status)) if status.code == code)
}

/// Converts an object to the type of the client library.
pub fn dynamic(object: &Value) -> Result<DynamicObject, WriteError> {
    serde_json::from_value(object.clone())
        .map_err(|error| WriteError::Api(kube::Error::SerdeError(error)))
}
