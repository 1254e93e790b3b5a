//! The same writes here and on an API server.

use anyhow::{Context, Result, anyhow, ensure};
use fairway_sandbox::apply::{ApplyError, apply, track_update};
use fairway_testkit::{TestCluster, wait};
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
};
use kube::core::GroupVersionKind;
use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::kinds::{TestKind, WriteStep, config_map_content, gadget_content, gadget_schema, steps};
use super::scripts::{config_map_scripts, gadget_scripts};

/// A sequence takes many requests, a case of a property test none.
const CASES_PER_SEQUENCE: u32 = 4;

/// Error of old API servers when the last field of a structure is removed: they leave null behind
/// and refuse it. Newer ones, and the sandbox, remove the structure.
const NULL_LEFTOVER: &str = "Invalid value: \"null\"";

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn apply_of_config_maps_matches_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("apply").await?;
    let test_kind = TestKind::config_map();
    let api = api(&cluster, namespace.name(), &test_kind);
    run_all(&api, &test_kind, config_map_content, config_map_scripts()).await
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn apply_of_custom_resources_matches_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("apply").await?;
    // The group is unique to this test, like the namespace.
    let group = format!("{}.fairway.dev", namespace.name());
    let test_kind = TestKind::gadget_in_group(&group);
    let api = api(&cluster, namespace.name(), &test_kind);
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let definition = definition(&group)?;
    definitions.create(&PostParams::default(), &definition).await?;
    let result = async {
        let served = || async { Ok(api.list(&ListParams::default()).await.ok()) };
        wait::until("gadgets to be served", served).await?;
        run_all(&api, &test_kind, gadget_content, gadget_scripts()).await
    };
    let result = result.await;
    definitions.delete(&definition.name_any(), &DeleteParams::default()).await?;
    result
}

fn definition(group: &str) -> Result<CustomResourceDefinition> {
    let version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": { "openAPIV3Schema": gadget_schema() },
    });
    let definition = json!({
        "metadata": { "name": format!("gadgets.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "versions": [version],
            "names": { "kind": "Gadget", "plural": "gadgets" },
        },
    });
    Ok(serde_json::from_value(definition)?)
}

fn api(cluster: &TestCluster, namespace: &str, test_kind: &TestKind) -> Api<DynamicObject> {
    let (group, version) =
        test_kind.api_version.split_once('/').unwrap_or(("", &test_kind.api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, test_kind.kind));
    Api::namespaced_with(cluster.client(), namespace, &resource)
}

async fn run_all(
    api: &Api<DynamicObject>,
    test_kind: &TestKind,
    content: fn() -> BoxedStrategy<Value>,
    scripts: Vec<Vec<WriteStep>>,
) -> Result<()> {
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let mut sequences = scripts;
    for _ in 0..runner.config().cases / CASES_PER_SEQUENCE {
        let tree = steps(content).new_tree(&mut runner);
        sequences.push(tree.map_err(|error| anyhow!("{error}"))?.current());
    }
    let (mut compared, mut problems) = (0, Vec::new());
    for (number, sequence) in sequences.iter().enumerate() {
        match run(api, test_kind, &format!("s{number}"), sequence).await {
            Ok(steps) => compared += steps,
            Err(problem) => problems.push(format!("s{number}: {problem:#}")),
        }
    }
    ensure!(problems.is_empty(), "{} differ:\n{}", problems.len(), problems.join("\n\n"));
    let all: usize = sequences.iter().map(Vec::len).sum();
    ensure!(compared * 4 > all * 3, "of {all} steps only {compared} could be compared");
    Ok(())
}

/// Runs the steps on both sides and compares after each. Returns the number of compared steps.
async fn run(
    api: &Api<DynamicObject>,
    test_kind: &TestKind,
    name: &str,
    steps: &[WriteStep],
) -> Result<usize> {
    let (mut ours, mut compared): (Option<Value>, usize) = (None, 0);
    for (number, step) in steps.iter().enumerate() {
        let theirs = run_on_server(api, test_kind, name, step, ours.is_some()).await?;
        if theirs.as_ref().is_err_and(|(_, message)| message.contains(NULL_LEFTOVER)) {
            continue;
        }
        compared += 1;
        let here = run_in_process(ours.as_ref(), test_kind, name, step, write_second(&theirs));
        let (theirs, here_shown) = (comparable(&theirs), comparable(&here));
        ensure!(
            theirs == here_shown,
            "after {:#?}\nthe server has {theirs}\nwhich differs from ours: {}",
            &steps[..=number],
            json_patch::diff(&theirs, &here_shown)
        );
        if let Ok(object) = here {
            ours = Some(object);
        }
    }
    Ok(compared)
}

/// Result of a step: the object, or causes and message of the error.
type StepResult = Result<Value, (Vec<Value>, String)>;

async fn run_on_server(
    api: &Api<DynamicObject>,
    test_kind: &TestKind,
    name: &str,
    step: &WriteStep,
    exists: bool,
) -> Result<StepResult> {
    let done = match step {
        WriteStep::Apply { manager, force, content } => {
            let mut how = PatchParams::apply(manager);
            how.force = *force;
            api.patch(name, &how, &Patch::Apply(test_kind.object(name, content))).await
        }
        WriteStep::Merge { manager, content } if exists => {
            let how =
                PatchParams { field_manager: Some((*manager).into()), ..PatchParams::default() };
            api.patch(name, &how, &Patch::Merge(content)).await
        }
        WriteStep::Put { manager, content } | WriteStep::Merge { manager, content } => {
            let how =
                PostParams { field_manager: Some((*manager).into()), ..PostParams::default() };
            let mut object = test_kind.object(name, content);
            if exists {
                let version = api.get(name).await?.metadata.resource_version;
                object["metadata"]["resourceVersion"] = version.context("no version")?.into();
                api.replace(name, &how, &serde_json::from_value(object)?).await
            } else {
                api.create(&how, &serde_json::from_value(object)?).await
            }
        }
    };
    match done {
        Ok(object) => Ok(Ok(serde_json::to_value(object)?)),
        Err(kube::Error::Api(status)) => {
            let causes = status.details.clone().map(|details| details.causes).unwrap_or_default();
            let causes =
                causes.iter().map(|cause| json!([cause.reason, cause.message, cause.field]));
            Ok(Err((causes.collect(), status.message.clone())))
        }
        Err(error) => Err(error.into()),
    }
}

/// The time of the server's write. Entries are merged by age, so both sides must use the same
/// seconds.
fn write_second(theirs: &StepResult) -> i64 {
    let entries =
        theirs.as_ref().ok().and_then(|object| object["metadata"]["managedFields"].as_array());
    let times = entries.into_iter().flatten().filter_map(|entry| entry["time"].as_str());
    let seconds = times.filter_map(|time| Some(time.parse::<Timestamp>().ok()?.as_second()));
    seconds.max().unwrap_or_default()
}

fn run_in_process(
    live: Option<&Value>,
    test_kind: &TestKind,
    name: &str,
    step: &WriteStep,
    second: i64,
) -> StepResult {
    match step {
        WriteStep::Apply { manager, force, content } => {
            let manifest = test_kind.object(name, content);
            match apply(live, &manifest, *force, &test_kind.writer(manager, second)) {
                Ok(applied) => Ok(applied.object),
                Err(error) => Err(error_parts(&error)),
            }
        }
        WriteStep::Put { manager, content } => Ok(track_update(
            live,
            &test_kind.object(name, content),
            &test_kind.writer(manager, second),
        )),
        WriteStep::Merge { manager, content } => {
            let mut new = live.cloned().unwrap_or_else(|| test_kind.object(name, &json!({})));
            json_patch::merge(&mut new, content);
            Ok(track_update(live, &new, &test_kind.writer(manager, second)))
        }
    }
}

fn error_parts(error: &ApplyError) -> (Vec<Value>, String) {
    let causes = match error {
        ApplyError::Conflict(conflicts) => conflicts
            .all()
            .iter()
            .map(|one| json!(["FieldManagerConflict", one.message(), one.field]))
            .collect(),
        _ => Vec::new(),
    };
    (causes, error.to_string())
}

/// The comparable part of a result, without times, order of sets and server-set fields.
fn comparable(outcome: &StepResult) -> Value {
    match outcome {
        Ok(object) => {
            let mut object = object.clone();
            let metadata = object["metadata"].as_object_mut().expect("every object has metadata");
            for name in [
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "generation",
                "selfLink",
                "namespace",
            ] {
                metadata.remove(name);
            }
            if let Some(entries) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) {
                for entry in entries.iter_mut() {
                    entry.as_object_mut().map(|entry| entry.remove("time"));
                }
                entries.sort_by_key(|entry| format!("{}{}", entry["operation"], entry["manager"]));
            }
            for list in ["/spec/items", "/spec/ports", "/spec/set"] {
                sort(object.pointer_mut(list));
            }
            for item in object
                .pointer_mut("/spec/items")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                sort(item.get_mut("tags"));
            }
            object
        }
        Err((causes, message)) => {
            let mut causes = causes.clone();
            for cause in &mut causes {
                // The old server reports wrong fields below the third level.
                let field = cause[2].as_str().unwrap_or_default();
                let end = field.match_indices(['.', '[']).nth(3).map(|(at, _)| at);
                cause[2] = field[..end.unwrap_or(field.len())].into();
            }
            causes.sort_by_key(Value::to_string);
            // The order of several owners is random.
            let message = message.split(" conflicts: ").next();
            json!({ "causes": causes, "message": message })
        }
    }
}

fn sort(list: Option<&mut Value>) {
    if let Some(list) = list.and_then(Value::as_array_mut) {
        list.sort_by_key(Value::to_string);
    }
}
