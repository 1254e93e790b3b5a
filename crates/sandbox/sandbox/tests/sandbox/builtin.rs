//! Objects of built-in kinds, created and updated here and on an API server.

mod api_server;
mod cases;
mod older_server;
mod ownership;

use anyhow::{Context, Result, ensure};
use fairway_sandbox::builtin::{self, Kind};
use fairway_sandbox::catalog::{Resource, Verb};
use fairway_sandbox::field_error::FieldError;
use fairway_sandbox::metadata;
use fairway_testkit::TestCluster;
use serde_json::{Value, json};

use api_server::ApiServer;
use cases::Case;

/// Result of a write: the stored object, or its errors.
#[derive(Clone, Debug, PartialEq)]
enum WriteResult {
    Stored(Value),
    /// Reason, field and message of each cause.
    Invalid(Vec<[String; 3]>),
    /// It could not be decoded.
    Undecodable,
    /// Another error.
    OtherError(u16, String),
}

impl WriteResult {
    fn without(mut self, field: &str) -> Self {
        if let Self::Stored(Value::Object(fields)) = &mut self {
            fields.remove(field);
        }
        self
    }
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn create_of_builtin_objects_matches_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("builtin").await?;
    namespace.wait_until_pods_are_admitted().await?;
    let server = ApiServer::new(cluster.client(), namespace.name());
    let mut comparison = Comparison::default();
    for (case, object) in cases::to_create(namespace.name()) {
        let theirs = server.create(&case.resource, &object).await?;
        let ours = create(&case, object)?;
        comparison.compare(&case, ours, theirs);
    }
    comparison.finish()
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn update_of_builtin_objects_matches_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("builtin-update").await?;
    namespace.wait_until_pods_are_admitted().await?;
    let server = ApiServer::new(cluster.client(), namespace.name());
    let mut comparison = Comparison::default();
    for (resource, object, changes) in cases::to_change(namespace.name()) {
        let live = server.create_stored(&resource, &object).await?;
        let compared = compare_changes(&server, &live, changes, &mut comparison).await;
        server.delete(&resource, &live).await?;
        compared?;
    }
    comparison.finish()
}

async fn compare_changes(
    server: &ApiServer,
    live: &Value,
    cases: Vec<Case>,
    comparison: &mut Comparison,
) -> Result<()> {
    for case in cases {
        let changed = case.edited(live);
        let theirs = server.update(&case, &changed).await?;
        let ours = update(&case, changed, live)?;
        match case.subresource {
            Some(_) => comparison.compare(&case, ours, theirs),
            // Controllers write the status concurrently.
            None => comparison.compare(&case, ours.without("status"), theirs.without("status")),
        }
    }
    Ok(())
}

fn kind_of(resource: &Resource) -> Result<&'static Kind> {
    builtin::kind(&resource.group, &resource.kind).context("a kind that is not built in")
}

fn create(case: &Case, object: Value) -> Result<WriteResult> {
    let kind = kind_of(&case.resource)?;
    let Ok(read) = kind.read(object) else { return Ok(WriteResult::Undecodable) };
    let mut object = read.object;
    let metadata = &mut object["metadata"];
    if metadata.get("name").is_none()
        && let Some(prefix) = metadata["generateName"].as_str()
    {
        metadata["name"] = format!("{prefix}abcde").into();
    }
    kind.default(&mut object);
    object["metadata"]["uid"] = "the-uid".into();
    kind.prepare_create(&mut object);
    let mut errors = kind.validate(&object);
    if case.resource.verbs.contains(&Verb::Get) {
        let namespaced = case.resource.namespaced;
        errors.extend(metadata::validate(&object, namespaced, kind.name_rule()));
    }
    Ok(result(object, &errors))
}

fn update(case: &Case, object: Value, live: &Value) -> Result<WriteResult> {
    let kind = kind_of(&case.resource)?;
    let mut old = kind.read(live.clone())?.object;
    kind.default(&mut old);
    let Ok(read) = kind.read(object) else { return Ok(WriteResult::Undecodable) };
    let mut object = read.object;
    kind.default(&mut object);
    kind.prepare_update(&mut object, &old, case.subresource);
    let mut errors = metadata::validate_update(&object, &old);
    errors.extend(kind.validate_update(&object, &old, case.subresource));
    Ok(result(object, &errors))
}

fn result(object: Value, errors: &[FieldError]) -> WriteResult {
    if errors.is_empty() {
        return WriteResult::Stored(object);
    }
    let cause =
        |error: &FieldError| [error.kind.reason().to_owned(), error.path.clone(), error.message()];
    WriteResult::Invalid(errors.iter().map(cause).collect())
}

#[derive(Default)]
struct Comparison {
    stored: usize,
    refused: usize,
    different: Vec<String>,
}

impl Comparison {
    fn compare(&mut self, case: &Case, ours: WriteResult, theirs: WriteResult) {
        match theirs {
            WriteResult::Stored(_) => self.stored += 1,
            _ => self.refused += 1,
        }
        let (ours, theirs) = (older_server::comparable(ours), older_server::comparable(theirs));
        if ours != theirs {
            self.different.push(format!("{case}\n{}", difference(&ours, &theirs)));
        }
    }

    /// Fails if there are differences, or nothing of both results to compare.
    fn finish(self) -> Result<()> {
        let Self { stored, refused, different } = self;
        let count = different.len();
        ensure!(
            different.is_empty() && stored > 0 && refused > 0,
            "{stored} stored, {refused} refused, {count} different:\n{}",
            different.join("\n")
        );
        Ok(())
    }
}

fn difference(ours: &WriteResult, theirs: &WriteResult) -> String {
    match (ours, theirs) {
        (WriteResult::Stored(ours), WriteResult::Stored(theirs)) => {
            let mut lines = Vec::new();
            differing(ours, theirs, "", &mut lines);
            lines.join("\n")
        }
        (WriteResult::Invalid(ours), WriteResult::Invalid(theirs)) => {
            let only = |these: &[[String; 3]], those: &[[String; 3]], sign: &str| {
                let lone = these.iter().filter(|it| !those.contains(it));
                lone.map(|it| format!("  {sign} {}", it.join(" | "))).collect::<Vec<_>>().join("\n")
            };
            format!("{}\n{}", only(ours, theirs, "ours"), only(theirs, ours, "theirs"))
        }
        _ => format!("  ours   {}\n  theirs {}", summary(ours), summary(theirs)),
    }
}

fn summary(result: &WriteResult) -> String {
    match result {
        WriteResult::Stored(_) => "stored".to_owned(),
        WriteResult::Undecodable => "unreadable".to_owned(),
        WriteResult::OtherError(code, message) => format!("{code} {message}"),
        WriteResult::Invalid(causes) => {
            causes.iter().map(|it| it.join(" | ")).collect::<Vec<_>>().join("\n         ")
        }
    }
}

fn differing(ours: &Value, theirs: &Value, path: &str, lines: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(left), Value::Object(right)) => {
            let mut names: Vec<_> = left.keys().chain(right.keys()).collect();
            names.sort();
            names.dedup();
            let absent = json!("<absent>");
            for name in names {
                let (left, right) = (left.get(name), right.get(name));
                let path = format!("{path}/{name}");
                differing(left.unwrap_or(&absent), right.unwrap_or(&absent), &path, lines);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                differing(left, right, &format!("{path}/{index}"), lines);
            }
        }
        _ if ours == theirs => {}
        _ => lines.push(format!("  {path}: ours {ours}, theirs {theirs}")),
    }
}
