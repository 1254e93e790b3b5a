//! Tables compared with an API server: columns and cells.

mod objects;
mod pods;
mod printed;

use anyhow::{Context, Result, ensure};
use fairway_sandbox::catalog::{Catalog, Resource, Verb};
use fairway_sandbox::table::{IncludeObject, Table};
use fairway_testkit::{TestCluster, wait};
use jiff::Timestamp;
use kube::Client;
use kube::api::ListParams;
use kube::core::Request;
use serde_json::{Value, json};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn tables_of_builtin_kinds_match_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("table").await?;
    let client = cluster.client();
    let cluster_wide = objects::cluster_wide(namespace.name());
    let compared = async {
        for (path, object) in objects::namespaced(namespace.name()).iter().chain(&cluster_wide) {
            create(&client, path, object).await?;
        }
        compare_all(&client).await
    }
    .await;
    for (path, object) in &cluster_wide {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        // Objects that were not created are missing; the comparison reports why.
        send(&client, "DELETE", &format!("{path}/{name}"), "application/json", None).await.ok();
    }
    compared
}

/// Creates an object. Retries while the default ServiceAccount is missing.
async fn create(client: &Client, path: &str, object: &Value) -> Result<()> {
    let post = || send(client, "POST", path, "application/json", Some(object));
    let created = wait::until("the object to be created", || async {
        match post().await {
            Err(error) if format!("{error:#}").contains("serviceaccount") => Ok(None),
            created => created.map(Some),
        }
    });
    let created = created.await.with_context(|| format!("{path} {object}"))?;
    if let Some(status) = object.get("status") {
        let name = created["metadata"]["name"].as_str().unwrap_or_default();
        let change = json!({ "status": status });
        send(client, "PATCH", &format!("{path}/{name}/status"), "application/json", Some(&change))
            .await
            .with_context(|| format!("the status of {path}/{name}"))?;
    }
    Ok(())
}

async fn compare_all(client: &Client) -> Result<()> {
    let catalog = Catalog::default();
    let mut problems = Vec::new();
    for resource in catalog.resources().filter(|it| it.verbs.contains(&Verb::List)) {
        let table = Table::of(resource, [], json!({}), IncludeObject::None, now());
        // Kinds that the sandbox only stores have just a name and an age.
        if table.column_definitions.iter().map(|it| &*it.name).eq(["Name", "Age"]) {
            continue;
        }
        let path = match &*resource.group {
            "" => format!("/api/v1/{}", resource.plural),
            group => format!("/apis/{group}/v1/{}", resource.plural),
        };
        problems.extend(compare(client, resource, &path).await?);
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

/// Compares tables. The rows include their objects, so that both sides show the same state.
async fn compare(client: &Client, resource: &Resource, path: &str) -> Result<Vec<String>> {
    let theirs = get(client, &format!("{path}?includeObject=Object"), TABLE).await?;
    // A list without CRDs has no rows at all, not an empty list.
    let rows = theirs["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let objects: Vec<_> = rows.iter().map(|row| &row["object"]).collect();
    let ours =
        Table::of(resource, objects, theirs["metadata"].clone(), IncludeObject::Object, now());
    let ours = serde_json::to_value(ours)?;
    let mut problems = Vec::new();
    if columns(&ours) != columns(&theirs) {
        problems.push(format!(
            "{path}: the columns are {:?}, not {:?}",
            columns(&theirs),
            columns(&ours)
        ));
    }
    for (theirs, ours) in rows.iter().zip(ours["rows"].as_array().context("rows")?) {
        let (theirs, ours) = (shown(theirs), shown(ours));
        if theirs != ours {
            problems.push(format!("{path}: the row is\n  {theirs}, not\n  {ours}"));
        }
    }
    Ok(problems)
}

/// Long after the creation of all objects: ages are compared by presence only.
fn now() -> Timestamp {
    "2990-01-01T00:00:00Z".parse().unwrap()
}

fn columns(table: &Value) -> Vec<Value> {
    let columns = table["columnDefinitions"].as_array().into_iter().flatten();
    columns.map(|it| json!([it["name"], it["type"], it["format"], it["priority"]])).collect()
}

/// Cells and conditions, with ages replaced by `<age>`.
fn shown(row: &Value) -> Value {
    let cells = row["cells"].as_array().into_iter().flatten();
    let cells: Vec<_> =
        cells.map(|cell| if is_age(cell) { json!("<age>") } else { cell.clone() }).collect();
    json!([cells, row["conditions"]])
}

fn is_age(cell: &Value) -> bool {
    let Some(text) = cell.as_str() else { return false };
    text.starts_with(|it: char| it.is_ascii_digit())
        && text.ends_with(['s', 'm', 'h', 'd', 'y'])
        && text.chars().all(|it| it.is_ascii_digit() || "smhdy".contains(it))
}

async fn get(client: &Client, path: &str, accept: &str) -> Result<Value> {
    send(client, "GET", path, accept, None).await
}

async fn send(
    client: &Client,
    method: &str,
    path: &str,
    accept: &str,
    body: Option<&Value>,
) -> Result<Value> {
    let mut request = Request::new("/").list(&ListParams::default())?;
    *request.uri_mut() = path.parse()?;
    *request.method_mut() = method.parse()?;
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    request.headers_mut().insert("accept", accept.parse()?);
    request.headers_mut().insert("content-type", kind.parse()?);
    if let Some(body) = body {
        *request.body_mut() = serde_json::to_vec(body)?;
    }
    Ok(client.request(request).await?)
}
