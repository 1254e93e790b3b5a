//! Who owns what of an object that was just created: everything but what its kind always has.

use anyhow::{Result, ensure};
use fairway_sandbox::apply::{Reach, Writer, track_update};
use fairway_sandbox::catalog::Verb;
use fairway_sandbox::schema::Schema;
use fairway_testkit::TestCluster;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::cases::{self, Case};
use super::real::Server;
use super::{Outcome, kind_of, newer};

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn new_objects_are_owned_as_on_a_real_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("builtin-owned").await?;
    namespace.until_pods_are_admitted().await?;
    let server = Server::new(cluster.client(), namespace.name());
    let mut different = Vec::new();
    let mut compared = 0;
    let kept = |(case, _): &(Case, Value)| case.resource.verbs.contains(&Verb::Get);
    for (case, object) in cases::to_create(namespace.name()).into_iter().filter(kept) {
        // That a list without items was sent is forgotten only when the object is stored.
        if ["/rules", "/spec/limits"].iter().any(|at| object.pointer(at) == Some(&json!([]))) {
            continue;
        }
        let Outcome::Stored(theirs) = server.create(&case.resource, &object).await? else {
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

/// The status, which is dropped after all, is owned on the older server.
fn fields(object: &Value) -> Option<Value> {
    let mut fields = object.pointer("/metadata/managedFields/0/fieldsV1")?.clone();
    fields.as_object_mut()?.remove("f:status");
    Some(fields)
}

fn is_nothing(fields: &Value) -> bool {
    *fields == json!({})
}

/// Newer servers take some structures whole; the older one owns the parts of these, too.
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
    newer::take_away(&mut object);
    let schema = Schema::builtin(&case.resource.group, &case.resource.kind);
    let schema = schema.unwrap_or(Schema::Deduced);
    let writer = Writer {
        manager: "a",
        api_version: &case.resource.api_version(),
        subresource: None,
        reach: Reach::Everything,
        now: Timestamp::UNIX_EPOCH,
        schema: &schema,
        blank: kind.blank(),
    };
    Ok(track_update(None, &object, &writer))
}
