//! The catalog compared with an API server: discovery, paths and selectable fields.

use anyhow::{Context, Result, ensure};
use fairway_sandbox::catalog::{Catalog, PathError, Target, Verb};
use fairway_testkit::{TestCluster, wait};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::client::Body;
use kube::core::Request;
use serde_json::{Value, json};

/// Resources that Kubernetes 1.20 serves in another version only.
const NEWER_RESOURCES: [&str; 3] = ["cronjobs", "poddisruptionbudgets", "selfsubjectreviews"];

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn discovery_of_builtin_resources_matches_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let catalog = Catalog::default();
    let mut problems = Vec::new();
    for group in catalog.groups().into_iter().chain([""]) {
        let ours = catalog.resource_list(group, "v1").context("a group")?;
        let theirs = get(&cluster.client(), &version_path(group)).await.unwrap_or_default();
        problems.extend(differences(&ours, &theirs));
    }
    assert_eq!(problems, Vec::<String>::new());
    Ok(())
}

/// Entries of ours that differ from theirs.
fn differences(ours: &Value, theirs: &Value) -> Vec<String> {
    let find = |name: &Value| entries(theirs).iter().find(|entry| entry["name"] == *name);
    let mut problems = Vec::new();
    for entry in entries(ours) {
        let name = entry["name"].as_str().unwrap_or_default();
        let Some(real) = find(&entry["name"]) else {
            if !NEWER_RESOURCES.contains(&name.split('/').next().unwrap_or_default()) {
                problems.push(format!("{name} is not there"));
            }
            continue;
        };
        for field in ["kind", "namespaced", "shortNames", "categories", "group", "version"] {
            if entry[field] != real[field] {
                problems.push(format!("{name}: {field} is {}, not {}", real[field], entry[field]));
            }
        }
        // Old servers omit the singular name of built-in resources.
        if real["singularName"] != "" && entry["singularName"] != real["singularName"] {
            problems.push(format!("{name}: the singular is {}", real["singularName"]));
        }
        let (mut verbs, mut real_verbs) = (words(&entry["verbs"]), words(&real["verbs"]));
        verbs.sort_unstable();
        real_verbs.sort_unstable();
        if verbs != real_verbs {
            problems.push(format!("{name}: the verbs are {real_verbs:?}, not {verbs:?}"));
        }
    }
    problems
}

fn entries(list: &Value) -> &[Value] {
    list["resources"].as_array().map_or(&[], Vec::as_slice)
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn version_path(group: &str) -> String {
    if group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{group}/v1") }
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn selectable_fields_match_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let mut problems = Vec::new();
    for resource in Catalog::default().resources() {
        if !resource.verbs.contains(&Verb::List) || NEWER_RESOURCES.contains(&&*resource.plural) {
            continue;
        }
        let ours: Vec<_> = resource.fields.iter().map(|field| field.label().to_owned()).collect();
        for label in ours.iter().map(String::as_str).chain(["metadata.namespace", "spec.nonsense"])
        {
            let list = format!("{}/{}", version_path(&resource.group), resource.plural);
            let path = format!("{list}?limit=1&fieldSelector={label}%3Dx");
            let accepted = get(&cluster.client(), &path).await.is_ok();
            if accepted != ours.iter().any(|it| it == label) {
                problems.push(format!("{list} {label}: there {accepted}"));
            }
        }
    }
    assert_eq!(problems, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn paths_match_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("catalog").await?;
    let catalog = Catalog::default();
    compare_paths(&cluster.client(), &catalog, PATHS, namespace.name(), "").await
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn discovery_of_custom_resources_matches_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("catalog").await?;
    let group = format!("{}.fairway.test", namespace.name());
    let definition: CustomResourceDefinition = serde_json::from_value(gadgets(&group))?;
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let created = definitions.create(&PostParams::default(), &definition).await?;
    let name = created.metadata.name.clone().context("a name")?;
    let compared = compare_custom(&cluster.client(), &created, &group, namespace.name()).await;
    definitions.delete(&name, &DeleteParams::default()).await?;
    compared
}

fn gadgets(group: &str) -> Value {
    let version = |name: &str, served: bool| {
        json!({
            "name": name, "served": served, "storage": name == "v1",
            "subresources": {
                "status": {},
                "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" },
            },
            "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
        })
    };
    json!({
        "metadata": { "name": format!("gadgets.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {
                "kind": "Gadget", "plural": "gadgets", "shortNames": ["gd", "gdt"], "categories": ["toys"],
            },
            "versions": [
                version("v1alpha1", true), version("v2", true), version("v1", true),
                version("v1beta1", true), version("v10", false), version("v1beta2", true),
            ],
        },
    })
}

async fn compare_custom(
    client: &Client,
    definition: &CustomResourceDefinition,
    group: &str,
    namespace: &str,
) -> Result<()> {
    let mut catalog = Catalog::default();
    catalog.define(definition)?;
    let path = format!("/apis/{group}/v1/gadgets");
    wait::until("gadgets to be served", || async { Ok(get(client, &path).await.ok()) }).await?;
    let document = format!("/apis/{group}");
    let theirs = wait::until("the group to be discovered", || async {
        let document = get(client, &document).await.ok();
        Ok(document.filter(|group| group["versions"].as_array().is_some_and(|it| it.len() == 5)))
    })
    .await?;
    assert_eq!(catalog.group(group), Some(theirs));
    for version in catalog.versions(group) {
        let ours = catalog.resource_list(group, version).context("a version")?;
        let theirs = get(client, &format!("/apis/{group}/{version}")).await?;
        assert_eq!(differences(&ours, &theirs), Vec::<String>::new());
        assert_eq!(entries(&ours).len(), entries(&theirs).len());
    }
    compare_paths(client, &catalog, CUSTOM_PATHS, namespace, group).await
}

/// `{ns}` is a namespace. Writes are dry runs, or for objects that do not exist.
const PATHS: &[(&str, &str)] = &[
    ("GET", "/api"),
    ("GET", "/api/"),
    ("GET", "/api/v1"),
    ("GET", "/api/v1/"),
    ("GET", "/api/v2"),
    ("GET", "/api/v2/pods"),
    ("GET", "/apis"),
    ("GET", "/apis/"),
    ("GET", "/apis/apps"),
    ("GET", "/apis/apps/"),
    ("GET", "/apis/nope"),
    ("GET", "/apis/nope/v1"),
    ("GET", "/apis/apps/v1"),
    ("GET", "/apis/apps/v2"),
    ("GET", "/apis/apps/v1/deployments"),
    ("GET", "/version"),
    ("GET", "/version/"),
    ("POST", "/api"),
    ("DELETE", "/api/v1"),
    ("GET", "/api/v1/pods"),
    ("GET", "/api/v1/pods/"),
    ("GET", "/api/v1//pods"),
    ("GET", "/api//pods"),
    ("GET", "/api/v1/pods/x"),
    ("GET", "/api/v1/namespaces"),
    ("GET", "/api/v1/namespaces/{ns}"),
    ("GET", "/api/v1/n%61mespaces/{ns}/"),
    ("GET", "/api/v1/namespaces/{ns}/status"),
    ("GET", "/api/v1/namespaces/{ns}/finalize"),
    ("GET", "/api/v1/namespaces/{ns}/status/x"),
    ("GET", "/api/v1/namespaces/{ns}/nope"),
    ("GET", "/api/v1/namespaces/{ns}/namespaces"),
    ("GET", "/api/v1/namespaces/{ns}/namespaces/{ns}"),
    ("GET", "/api/v1/namespaces/{ns}/nodes"),
    ("GET", "/api/v1/namespaces/{ns}/nodes/x"),
    ("GET", "/api/v1/namespaces/{ns}/pods/"),
    ("GET", "/api/v1/namespaces/{ns}/pods/x"),
    ("GET", "/api/v1/namespaces/{ns}/pods/x/"),
    ("GET", "/api/v1/namespaces/{ns}/pods/x/log"),
    ("GET", "/api/v1/namespaces/{ns}/pods/x%2flog"),
    ("GET", "/api/v1/namespaces/{ns}/pods/x/nope"),
    ("GET", "/api/v1/namespaces/{ns}/pods/x/log/more"),
    ("GET", "/api/v1/namespaces/{ns}/pods/x/scale"),
    ("GET", "/api/v1/namespaces/{ns}/pods/%2e%2e"),
    ("GET", "/api/v1/namespaces/{ns}/pods/%2e"),
    ("GET", "/api/v1/namespaces/{ns}/pods/a%2525"),
    ("GET", "/api/v1/namespaces/{ns}/pods/a%20b"),
    ("GET", "/api/v1/namespaces/{ns}/configmaps/x?watch=1"),
    ("GET", "/api/v1/namespaces/{ns}/configmaps?watch=1&timeoutSeconds=1"),
    ("GET", "/api/v1/namespaces/{ns}/serviceaccounts/default/token"),
    ("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
    ("GET", "/apis/authorization.k8s.io/v1/localsubjectaccessreviews"),
    ("POST", "/apis/authorization.k8s.io/v1/localsubjectaccessreviews"),
    ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
    ("POST", "/api/v1/configmaps"),
    ("POST", "/api/v1/namespaces/{ns}/configmaps"),
    ("POST", "/api/v1/namespaces/{ns}/configmaps/x"),
    ("POST", "/api/v1/namespaces/{ns}/serviceaccounts/default/token"),
    ("POST", "/api/v1/namespaces/{ns}/pods/x/status"),
    ("PUT", "/api/v1/namespaces/{ns}/configmaps"),
    ("PUT", "/api/v1/namespaces/{ns}/configmaps/x"),
    ("PUT", "/api/v1/namespaces/{ns}/pods/x/log"),
    ("PUT", "/api/v1/namespaces/x/finalize"),
    ("PATCH", "/api/v1/namespaces/x/finalize"),
    ("PATCH", "/api/v1/namespaces/{ns}/configmaps"),
    ("PATCH", "/api/v1/namespaces/{ns}/configmaps/x"),
    ("DELETE", "/api/v1/namespaces"),
    ("DELETE", "/api/v1/namespaces/{ns}/services"),
    ("DELETE", "/api/v1/namespaces/{ns}/configmaps?dryRun=All"),
    ("DELETE", "/api/v1/configmaps?dryRun=All"),
    ("DELETE", "/api/v1/namespaces/{ns}/pods/x/status"),
    ("HEAD", "/api/v1/namespaces/{ns}"),
    ("OPTIONS", "/api/v1/namespaces/{ns}"),
];

/// `{group}` is the group of the CRD of a namespaced resource.
const CUSTOM_PATHS: &[(&str, &str)] = &[
    ("GET", "/apis/{group}/v1/gadgets"),
    ("GET", "/apis/{group}/v10/gadgets"),
    ("GET", "/apis/{group}/v1/gadgets/x"),
    ("GET", "/apis/{group}/v1/namespaces/{ns}/gadgets/"),
    ("GET", "/apis/{group}/v1/namespaces/{ns}/gadgets/x"),
    ("GET", "/apis/{group}/v1/namespaces/{ns}/gadgets/x/status"),
    ("GET", "/apis/{group}/v1/namespaces/{ns}/gadgets/x/scale"),
    ("GET", "/apis/{group}/v1/namespaces/{ns}/nope"),
    ("POST", "/apis/{group}/v1/gadgets"),
    ("POST", "/apis/{group}/v1/namespaces/{ns}/gadgets"),
    ("DELETE", "/apis/{group}/v1/gadgets?dryRun=All"),
    ("DELETE", "/apis/{group}/v1/namespaces/{ns}/gadgets?dryRun=All"),
];

async fn compare_paths(
    client: &Client,
    catalog: &Catalog,
    paths: &[(&str, &str)],
    namespace: &str,
    group: &str,
) -> Result<()> {
    let mut problems = Vec::new();
    for (method, path) in paths {
        let path = path.replace("{ns}", namespace).replace("{group}", group);
        let (bare, query) = path.split_once('?').unwrap_or((&path, ""));
        let ours = match Target::parse(catalog, method, bare, query) {
            Ok(Target::Other(path)) => format!("other: {path}"),
            Ok(_) => "served".to_owned(),
            Err(PathError::Invalid { message }) => message,
            Err(PathError::NotFound) => "no such path".to_owned(),
            Err(PathError::MethodNotAllowed) => "no such method".to_owned(),
        };
        let theirs = target_on_server(client, method, &path).await?;
        if ours != theirs {
            problems.push(format!("{method} {path}: here {ours:?}, there {theirs:?}"));
        }
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

/// The result of the API server for a path.
async fn target_on_server(client: &Client, method: &str, path: &str) -> Result<String> {
    let mut request = Request::new("/").list(&ListParams::default())?;
    *request.uri_mut() = path.parse()?;
    *request.method_mut() = method.parse()?;
    let response = client.send(request.map(Body::from)).await?;
    let status = response.status().as_u16();
    let body = response.into_body().collect_bytes().await?;
    let body = String::from_utf8_lossy(&body);
    let message = serde_json::from_str::<Value>(&body).ok();
    let message = message.and_then(|it| it["message"].as_str().map(str::to_owned));
    let about_path = ["could not find the requested resource", "404 page not found"];
    Ok(match (status, message) {
        (405, _) => "no such method".to_owned(),
        (404, _) if about_path.iter().any(|words| body.contains(words)) => {
            "no such path".to_owned()
        }
        (400, Some(message)) if message.starts_with("Name parameter") => message,
        _ => "served".to_owned(),
    })
}

async fn get(client: &Client, path: &str) -> Result<Value> {
    let mut request = Request::new("/").list(&ListParams::default())?;
    *request.uri_mut() = path.parse()?;
    Ok(client.request(request).await?)
}
