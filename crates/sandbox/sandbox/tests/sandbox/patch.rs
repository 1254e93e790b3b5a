//! Patches, applied here and by an API server.

mod examples;
mod merge_schemas;

use anyhow::{Context, Result, bail};
use fairway_sandbox::patch::{self, PatchError};
use fairway_sandbox::schema::Schema;
use fairway_testkit::TestCluster;
use kube::Client;
use kube::api::{DynamicObject, GetParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind, Request, Resource};
use serde_json::{Value, json};

use examples::{PatchExample, PatchType};

/// Result of a patch: the object or the HTTP status.
type PatchResult = Result<Value, u16>;

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn patches_match_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("patch").await?;
    let mut different = Vec::new();
    let mut compared = 0;
    for (group_version, kind, object, examples) in examples::all() {
        let server = ApiServer::new(cluster.client(), namespace.name(), group_version, kind);
        let before = server.create(&object).await?;
        let (group, _) = group_version.split_once('/').unwrap_or(("", group_version));
        let schema = Schema::builtin(group, kind).context("it is not in the table")?;
        for example in examples {
            let theirs = server.patch(&before, &example).await?;
            let ours = match apply(&example, &before, &schema) {
                Ok(object) => server.replace(&object).await?,
                Err(error) => Err(error.code()),
            };
            compared += 1;
            if ours != theirs {
                different.push(format!(
                    "{kind} {example}\n  ours: {}\ntheirs: {}",
                    text(&ours),
                    text(&theirs)
                ));
            }
        }
    }
    assert!(different.is_empty(), "{} of {compared}:\n{}", different.len(), different.join("\n"));
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn strategic_patch_of_custom_resource_matches_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    cluster.install_crds().await?;
    let request = Request::new("/apis/config.openshift.io/v1/clusteroperators");
    let request = request.patch("none", &PatchParams::default(), &Patch::Strategic(json!({})))?;
    let refused = result(cluster.client().request::<Value>(request).await)?;
    assert_eq!(refused, Err(PatchError::StrategicOnCustomResource.code()));
    Ok(())
}

fn apply(example: &PatchExample, object: &Value, schema: &Schema) -> Result<Value, PatchError> {
    match example.kind {
        PatchType::Json => patch::json(&example.patch, object),
        PatchType::Merge => patch::merge(&example.patch, object),
        PatchType::Strategic => patch::strategic(&example.patch, object, schema),
    }
}

/// An API server, with the objects of one kind in one namespace.
struct ApiServer {
    client: Client,
    path: String,
}

impl ApiServer {
    fn new(client: Client, namespace: &str, group_version: &str, kind: &str) -> Self {
        let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Self { client, path: DynamicObject::url_path(&resource, Some(namespace)) }
    }

    async fn create(&self, object: &Value) -> Result<Value> {
        let body = serde_json::to_vec(object)?;
        let request = Request::new(&*self.path).create(&PostParams::default(), body)?;
        Ok(self.client.request(request).await?)
    }

    /// Patches the object by a dry run.
    async fn patch(&self, object: &Value, example: &PatchExample) -> Result<PatchResult> {
        let dry = PatchParams { dry_run: true, ..PatchParams::default() };
        let request = Request::new(&*self.path);
        let mut request = request.patch(name_of(object)?, &dry, &Patch::Merge(&example.patch))?;
        let media_type = match example.kind {
            PatchType::Json => "application/json-patch+json",
            PatchType::Merge => "application/merge-patch+json",
            PatchType::Strategic => "application/strategic-merge-patch+json",
        };
        request.headers_mut().insert("content-type", media_type.parse()?);
        result(self.client.request(request).await)
    }

    /// Replaces the object by a dry run, which defaults and validates it like a patch does.
    async fn replace(&self, object: &Value) -> Result<PatchResult> {
        let mut object = object.clone();
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        loop {
            let name = name_of(&object)?;
            let request = Request::new(&*self.path).get(name, &GetParams::default())?;
            let current: Value = self.client.request(request).await?;
            object["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"].clone();
            let body = serde_json::to_vec(&object)?;
            let request = Request::new(&*self.path).replace(name_of(&object)?, &dry, body)?;
            match result(self.client.request(request).await)? {
                // A controller has updated the status. Retry with the new resource version.
                Err(409) => {}
                other => return Ok(other),
            }
        }
    }
}

fn text(result: &PatchResult) -> String {
    match result {
        Ok(object) => object.to_string(),
        Err(code) => code.to_string(),
    }
}

fn name_of(object: &Value) -> Result<&str> {
    object["metadata"]["name"].as_str().context("an object has a name")
}

fn result(answer: kube::Result<Value>) -> Result<PatchResult> {
    match answer {
        Ok(mut object) => {
            for field in ["resourceVersion", "generation", "managedFields"] {
                object["metadata"].as_object_mut().context("no metadata")?.remove(field);
            }
            // Controllers write the status concurrently.
            object.as_object_mut().context("no object")?.remove("status");
            Ok(Ok(object))
        }
        Err(kube::Error::Api(status)) => Ok(Err(status.code)),
        Err(error) => bail!(error),
    }
}
