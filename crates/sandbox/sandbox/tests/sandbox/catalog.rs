//! Discovery compared with an API server.

use anyhow::{Context, Result};
use fairway_sandbox::catalog::Catalog;
use fairway_testkit::TestCluster;
use kube::Client;
use kube::api::ListParams;
use kube::core::Request;
use serde_json::Value;

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

async fn get(client: &Client, path: &str) -> Result<Value> {
    let mut request = Request::new("/").list(&ListParams::default())?;
    *request.uri_mut() = path.parse()?;
    Ok(client.request(request).await?)
}
