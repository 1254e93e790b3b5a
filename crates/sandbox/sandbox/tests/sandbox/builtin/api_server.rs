//! Requests to the API server.

use anyhow::{Context, Result, bail};
use fairway_sandbox::catalog::Resource;
use kube::Client;
use kube::api::{DeleteParams, PostParams};
use kube::core::Request;
use serde_json::Value;

use super::{Case, WriteResult, older_server};

pub(super) struct ApiServer {
    client: Client,
    namespace: String,
}

impl ApiServer {
    pub(super) fn new(client: Client, namespace: &str) -> Self {
        Self { client, namespace: namespace.to_owned() }
    }

    /// Creates an object by a dry run.
    pub(super) async fn create(&self, resource: &Resource, object: &Value) -> Result<WriteResult> {
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        self.send_new(resource, object, &dry).await
    }

    /// Creates an object.
    pub(super) async fn create_stored(&self, resource: &Resource, object: &Value) -> Result<Value> {
        match self.send_new(resource, object, &PostParams::default()).await? {
            WriteResult::Stored(object) => Ok(object),
            other => bail!("{object} was not created: {other:?}"),
        }
    }

    async fn send_new(
        &self,
        resource: &Resource,
        object: &Value,
        how: &PostParams,
    ) -> Result<WriteResult> {
        let body = serde_json::to_vec(object)?;
        let request = Request::new(self.path(resource)).create(how, body)?;
        result(self.client.request(request).await).with_context(|| object.to_string())
    }

    /// Updates an object by a dry run, independent of its resource version.
    pub(super) async fn update(&self, case: &Case, object: &Value) -> Result<WriteResult> {
        let resource = &case.resource;
        let mut object = object.clone();
        let metadata = object["metadata"].as_object_mut().context("metadata")?;
        if older_server::can_be_overwritten(resource) {
            metadata.remove("resourceVersion");
        }
        let name = metadata["name"].as_str().context("name")?.to_owned();
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        let body = serde_json::to_vec(&object)?;
        let request = Request::new(self.path(resource));
        let request = match case.subresource {
            None => request.replace(&name, &dry, body)?,
            Some(place) => request.replace_subresource(place.as_str(), &name, &dry, body)?,
        };
        result(self.client.request(request).await).with_context(|| object.to_string())
    }

    pub(super) async fn delete(&self, resource: &Resource, object: &Value) -> Result<()> {
        let name = object["metadata"]["name"].as_str().context("name")?;
        let how = DeleteParams::background().grace_period(0);
        let request = Request::new(self.path(resource)).delete(name, &how)?;
        self.client.request::<Value>(request).await?;
        Ok(())
    }

    fn path(&self, resource: &Resource) -> String {
        let root = match &*resource.group {
            "" => format!("/api/{}", resource.version),
            group => format!("/apis/{group}/{}", resource.version),
        };
        if resource.namespaced {
            format!("{root}/namespaces/{}/{}", self.namespace, resource.plural)
        } else {
            format!("{root}/{}", resource.plural)
        }
    }
}

fn result(answer: kube::Result<Value>) -> Result<WriteResult> {
    match answer {
        Ok(object) => Ok(WriteResult::Stored(object)),
        Err(kube::Error::Api(status)) if status.code == 400 => Ok(WriteResult::Undecodable),
        Err(kube::Error::Api(status)) if status.code == 422 => {
            let causes = status.details.map(|details| details.causes).unwrap_or_default();
            let causes = causes.into_iter().map(|it| [it.reason, it.field, it.message]);
            Ok(WriteResult::Invalid(causes.collect()))
        }
        Err(kube::Error::Api(status)) => {
            Ok(WriteResult::OtherError(status.code, status.message.clone()))
        }
        Err(error) => bail!(error),
    }
}
