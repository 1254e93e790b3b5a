//! Field ownership of new objects: all fields except structures of the kind.

use anyhow::{Result, ensure};
use fairway_sandbox::apply::{WritableFields, Writer, track_update};
use fairway_sandbox::catalog::Verb;
use fairway_sandbox::schema::Schema;
use fairway_testkit::TestCluster;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::api_server::ApiServer;
use super::cases::{self, Case};
use super::{WriteResult, kind_of, older_server};

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn ownership_of_new_objects_matches_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("builtin-owned").await?;
    namespace.wait_until_pods_are_admitted().await?;
    let server = ApiServer::new(cluster.client(), namespace.name());
    let mut different = Vec::new();
    let mut compared = 0;
    let kept = |(case, _): &(Case, Value)| case.resource.verbs.contains(&Verb::Get);
    for (case, object) in cases::to_create(namespace.name()).into_iter().filter(kept) {
        // Empty lists are dropped when the object is stored, not in a dry run.
        if object.get("rules") == Some(&json!([])) {
            continue;
        }
        let WriteResult::Stored(theirs) = server.create(&case.resource, &object).await? else {
            continue;
        };
        let Some(theirs) = fields(&theirs) else { continue };
        let ours = fields(&tracked(&case, object)?).unwrap_or_else(|| json!({}));
        compared += 1;
        if is_nothing(&ours) != is_nothing(&theirs) || !same(&ours, &theirs) {
            different.push(format!("{case}\n  ours   {ours}\n  theirs {theirs}"));
        }
    }
    let count = different.len();
    ensure!(
        different.is_empty() && compared > 0,
        "{count} of {compared}:\n{}",
        different.join("\n")
    );
    Ok(())
}

/// The owned fields, without the status, which the older server tracks although it drops it.
fn fields(object: &Value) -> Option<Value> {
    let mut fields = object.pointer("/metadata/managedFields/0/fieldsV1")?.clone();
    fields.as_object_mut()?.remove("f:status");
    Some(fields)
}

fn is_nothing(fields: &Value) -> bool {
    *fields == json!({})
}

/// Whether ownership is equal. The older server also tracks fields of structures that are atomic
/// now.
fn same(ours: &Value, theirs: &Value) -> bool {
    let (Some(ours), Some(theirs)) = (ours.as_object(), theirs.as_object()) else { return false };
    let parts = || {
        ours.iter().all(|(name, part)| theirs.get(name).is_some_and(|theirs| same(part, theirs)))
    };
    ours.is_empty() || ours.len() == theirs.len() && parts()
}

fn tracked(case: &Case, object: Value) -> Result<Value> {
    let kind = kind_of(&case.resource)?;
    let mut object = kind.read(object)?.object;
    kind.default(&mut object);
    older_server::remove_newer_fields(&mut object);
    let schema = Schema::builtin(&case.resource.group, &case.resource.kind);
    let schema = schema.unwrap_or(Schema::Deduced);
    let writer = Writer {
        manager: "a",
        api_version: &case.resource.api_version(),
        subresource: None,
        writable: WritableFields::All,
        now: Timestamp::UNIX_EPOCH,
        schema: &schema,
        blank: kind.blank(),
    };
    Ok(track_update(None, &object, &writer))
}
