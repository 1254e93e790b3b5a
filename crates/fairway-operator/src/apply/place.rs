//! One object in the API: how it is read and written.

use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde::Serialize;
use serde_json::{Value, json};

use super::error::{ApplyError, is_untypable};
use super::request::within_time;
use super::right::difference;
use super::{FIELD_MANAGER, MANAGED, ownership, three_way};
use crate::election::Leadership;

/// How often an object is written that changes at the same moment. More often, somebody else wants
/// it otherwise.
const TRIES: usize = 5;

/// One object in the API.
pub(crate) struct Place<'a> {
    pub(crate) api: Api<DynamicObject>,
    pub(crate) name: &'a str,
    pub(crate) leadership: &'a Leadership,
}

type Answer = Result<Value, ApplyError>;

impl Place<'_> {
    /// The object, if it is there.
    pub(crate) async fn get(&self) -> Result<Option<Value>, ApplyError> {
        within_time(self.api.get_opt(self.name)).await?.as_ref().map(value).transpose()
    }

    /// Creates the object as it is; `None` if somebody else was faster.
    pub(super) async fn create(&self, object: &Value) -> Result<Option<Value>, ApplyError> {
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
        let object = dynamic(object)?;
        match self.write(self.api.create(&params, &object)).await {
            Ok(created) => Ok(Some(created)),
            Err(error) if is_status(&error, 409) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes the object what is wanted, and nothing else of ours.
    pub(crate) async fn make(&self, wanted: &Value) -> Answer {
        match self.apply(wanted).await {
            Ok(applied) => self.own(wanted, applied).await,
            Err(ApplyError::Api(error)) if is_untypable(&error) => self.replace(wanted).await,
            Err(error) => Err(error),
        }
    }

    async fn apply(&self, wanted: &Value) -> Answer {
        let params = PatchParams::apply(FIELD_MANAGER).force();
        self.write(self.api.patch(self.name, &params, &Patch::Apply(wanted))).await
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
                    live = self.get().await?.ok_or(ApplyError::Overtaken)?;
                }
                moved => return self.without_the_rest(wanted, moved?).await,
            }
        }
        Err(ApplyError::Overtaken)
    }

    /// Applies once more where the object has something of ours that is not wanted.
    async fn without_the_rest(&self, wanted: &Value, moved: Value) -> Answer {
        match difference(wanted, &moved) {
            None => Ok(moved),
            Some(_) => self.apply(wanted).await,
        }
    }

    /// Writes the object as a whole: the server cannot merge it, so it is merged here.
    async fn replace(&self, wanted: &Value) -> Answer {
        let written = match self.get().await? {
            Some(_) => self.put_over(|live| three_way::merged(wanted, live)).await?,
            None => match self.create(&three_way::noted(wanted)).await? {
                Some(created) => created,
                None => return Err(ApplyError::Overtaken),
            },
        };
        if three_way::is_right(wanted, &written) {
            return Ok(written);
        }
        self.put_over(|live| three_way::settled(wanted, live)).await
    }

    /// Writes what comes of the object as it is; controllers may write its status meanwhile.
    async fn put_over(&self, change: impl Fn(&Value) -> Value) -> Answer {
        let mut written = Err(ApplyError::Overtaken);
        for _ in 0..TRIES {
            let Some(live) = self.get().await? else { return Err(ApplyError::Overtaken) };
            written = self.put(&change(&live)).await;
            if !written.as_ref().is_err_and(|error| is_status(error, 409)) {
                return written;
            }
        }
        written
    }

    async fn put(&self, object: &Value) -> Answer {
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
        let object = dynamic(object)?;
        self.write(self.api.replace(self.name, &params, &object)).await
    }

    async fn merge(&self, patch: &(impl Serialize + std::fmt::Debug + Sync)) -> Answer {
        let params =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        self.write(self.api.patch(self.name, &params, &Patch::Merge(patch))).await
    }

    /// Makes the watch tell of the object.
    pub(super) async fn label(&self) -> Answer {
        let (label, value) = MANAGED;
        self.merge(&json!({"metadata": {"labels": {label: value}}})).await
    }

    /// Asks for the object's deletion; whether it was there.
    pub(super) async fn delete(&self) -> Result<bool, ApplyError> {
        let params = DeleteParams::background();
        let deletion = within_time(self.api.delete(self.name, &params));
        match self.leadership.write(deletion).await? {
            Ok(_) => Ok(true),
            Err(error) if is_status(&error, 404) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn write(&self, write: impl Future<Output = kube::Result<DynamicObject>>) -> Answer {
        value(&self.leadership.write(within_time(write)).await??)
    }
}

fn is_status(error: &ApplyError, code: u16) -> bool {
    matches!(error, ApplyError::Api(kube::Error::Api(status)) if status.code == code)
}

fn value(object: &DynamicObject) -> Answer {
    serde_json::to_value(object).map_err(|error| ApplyError::Api(kube::Error::SerdeError(error)))
}

pub(super) fn dynamic(object: &Value) -> Result<DynamicObject, ApplyError> {
    serde_json::from_value(object.clone())
        .map_err(|error| ApplyError::Api(kube::Error::SerdeError(error)))
}
