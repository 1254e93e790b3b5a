//! Reading and writing one object.

use fairway_election::Leadership;
use kube::api::{DeleteParams, DynamicObject, GetParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::{Api, Client};
use serde::Serialize;
use serde_json::{Value, json};

use crate::drift::difference;
use crate::error::{WriteError, is_untypable};
use crate::request::within_time;
use crate::{FIELD_MANAGER, MANAGED, ownership, three_way};

/// How often an object is written that changes at the same moment. More often, somebody else wants
/// it otherwise.
const TRIES: usize = 5;

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
    /// A writer for the object of that name. It writes for as long as its process leads.
    pub fn new(api: &Api<DynamicObject>, name: &'a str, leadership: &'a Leadership) -> Self {
        let requests = Request::new(api.resource_url());
        Self { client: api.clone().into_client(), requests, name, leadership }
    }

    /// The object, if it is there.
    pub async fn get(&self) -> Result<Option<Value>, WriteError> {
        let request = self.requests.get(self.name, &GetParams::default()).map_err(built)?;
        match within_time(self.client.request(request)).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if is_status(&error, 404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates the object as it is; `None` if somebody else was faster.
    pub async fn create(&self, object: &Value) -> Result<Option<Value>, WriteError> {
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
        let request = self.requests.create(&params, bytes(object)?).map_err(built)?;
        match self.write(request).await {
            Ok(created) => Ok(Some(created)),
            Err(error) if is_status(&error, 409) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes the object what is wanted, and nothing else of ours. Returns what is wanted, and the
    /// object.
    pub async fn make(&self, wanted: Value) -> Result<(Value, Value), WriteError> {
        self.make_with(&PatchParams::apply(FIELD_MANAGER).force(), wanted).await
    }

    /// Like [`Self::make`], but leaves the object alone and returns `None` where another manager has
    /// set one of the fields to another value.
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
        // While the API server works, the text is enough.
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

    /// Goes on with an object that was applied: what we or our predecessor wrote otherwise is
    /// owned by having been applied from now on, so that what is not wanted goes.
    async fn own(&self, wanted: &Value, applied: Value) -> Answer {
        let mut live = if three_way::was_replaced(&applied) {
            self.put_over(|live| three_way::released(wanted, live)).await?
        } else {
            applied
        };
        for _ in 0..TRIES {
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

    /// Applies once more where the object has something of ours that is not wanted.
    async fn without_the_rest(&self, wanted: &Value, moved: Value) -> Answer {
        match difference(wanted, &moved) {
            None => Ok(moved),
            Some(_) => self.apply(&PatchParams::apply(FIELD_MANAGER).force(), bytes(wanted)?).await,
        }
    }

    /// Writes the object as a whole: the server cannot merge it, so it is merged here.
    async fn replace(&self, wanted: &Value) -> Answer {
        let written = match self.get().await? {
            Some(_) => self.put_over(|live| three_way::merged(wanted, live)).await?,
            None => match self.create(&three_way::noted(wanted)).await? {
                Some(created) => created,
                None => return Err(WriteError::Overtaken),
            },
        };
        if three_way::is_right(wanted, &written) {
            return Ok(written);
        }
        let settled = |live: &Value| three_way::settled(wanted, live);
        // Reading the object first would save a conflict where a controller writes it at the same
        // moment, and cost a request everywhere else.
        match self.put(&settled(&written)).await {
            Err(error) if is_status(&error, 409) => self.put_over(settled).await,
            put => put,
        }
    }

    /// Reads the object and writes it changed. Retries a conflict: controllers may write its status
    /// meanwhile.
    async fn put_over(&self, change: impl Fn(&Value) -> Value) -> Answer {
        let mut written = Err(WriteError::Overtaken);
        for _ in 0..TRIES {
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

    /// Makes the watch tell of the object.
    pub async fn label(&self) -> Answer {
        let (label, value) = MANAGED;
        self.merge(&json!({"metadata": {"labels": {label: value}}})).await
    }

    /// Asks for the object's deletion; whether it was there.
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

/// An object as the client library has it.
pub fn dynamic(object: &Value) -> Result<DynamicObject, WriteError> {
    serde_json::from_value(object.clone())
        .map_err(|error| WriteError::Api(kube::Error::SerdeError(error)))
}
