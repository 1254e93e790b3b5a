//! The same writes, here and on a real API server.

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

use super::scripts::{config_map_scripts, deployment_script, gadget_scripts};
use super::subject::{Step, Subject, config_map_content, gadget_content, gadget_schema, steps};

/// A sequence takes many requests, where a case of a property takes none.
const CASES_PER_SEQUENCE: u32 = 4;

/// What the old server says where the last part of a structure goes: it leaves null behind, and then
/// refuses it. Newer ones, and we, remove the structure.
const LEFTOVER: &str = "Invalid value: \"null\"";

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn config_maps_are_applied_as_on_a_real_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("apply").await?;
    let subject = Subject::config_map();
    let api = api(&cluster, namespace.name(), &subject);
    play_all(&api, &subject, config_map_content, config_map_scripts()).await
}

/// Of these, what was applied is compared: what the server adds by itself belongs to others.
#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn deployments_are_owned_as_on_a_real_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("apply").await?;
    let subject = Subject::deployment();
    let api = api(&cluster, namespace.name(), &subject);
    let mut live = None;
    for (number, step) in deployment_script().iter().enumerate() {
        let theirs = on_the_server(&api, &subject, "d", step, live.is_some()).await?;
        let here = in_process(live.as_ref(), &subject, "d", step, second(&theirs));
        let (theirs, ours) = (shown(&theirs), shown(&here));
        let applied = |shown: &Value| {
            let entries = shown["metadata"]["managedFields"].as_array().into_iter().flatten();
            let applied = entries.filter(|entry| entry["operation"] == "Apply");
            let applied = applied.map(|entry| without_structures(&entry["fieldsV1"]));
            json!([shown["causes"], applied.collect::<Vec<_>>()])
        };
        let difference = json_patch::diff(&applied(&theirs), &applied(&ours));
        ensure!(
            difference.is_empty(),
            "after step {number}, the server has {theirs}; ours differs: {difference}"
        );
        live = here.ok().or(live);
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn custom_resources_are_applied_as_on_a_real_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("apply").await?;
    // A group of its own, as it has a namespace of its own.
    let group = format!("{}.fairway.dev", namespace.name());
    let subject = Subject::gadget_of(&group);
    let api = api(&cluster, namespace.name(), &subject);
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let definition = definition(&group)?;
    definitions.create(&PostParams::default(), &definition).await?;
    let played = async {
        let served = || async { Ok(api.list(&ListParams::default()).await.ok()) };
        wait::until("gadgets to be served", served).await?;
        play_all(&api, &subject, gadget_content, gadget_scripts()).await
    };
    let played = played.await;
    definitions.delete(&definition.name_any(), &DeleteParams::default()).await?;
    played
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

fn api(cluster: &TestCluster, namespace: &str, subject: &Subject) -> Api<DynamicObject> {
    let (group, version) =
        subject.api_version.split_once('/').unwrap_or(("", &subject.api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, subject.kind));
    Api::namespaced_with(cluster.client(), namespace, &resource)
}

async fn play_all(
    api: &Api<DynamicObject>,
    subject: &Subject,
    content: fn() -> BoxedStrategy<Value>,
    scripts: Vec<Vec<Step>>,
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
        match play(api, subject, &format!("s{number}"), sequence).await {
            Ok(steps) => compared += steps,
            Err(problem) => problems.push(format!("s{number}: {problem:#}")),
        }
    }
    ensure!(problems.is_empty(), "{} differ:\n{}", problems.len(), problems.join("\n\n"));
    let all: usize = sequences.iter().map(Vec::len).sum();
    ensure!(compared * 4 > all * 3, "of {all} steps only {compared} could be compared");
    Ok(())
}

/// Plays the steps on both sides and compares after each; says how many could be compared.
async fn play(
    api: &Api<DynamicObject>,
    subject: &Subject,
    name: &str,
    steps: &[Step],
) -> Result<usize> {
    let (mut ours, mut compared): (Option<Value>, usize) = (None, 0);
    for (number, step) in steps.iter().enumerate() {
        let theirs = on_the_server(api, subject, name, step, ours.is_some()).await?;
        if theirs.as_ref().is_err_and(|(_, message)| message.contains(LEFTOVER)) {
            continue;
        }
        compared += 1;
        let here = in_process(ours.as_ref(), subject, name, step, second(&theirs));
        let (theirs, here_shown) = (shown(&theirs), shown(&here));
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

/// The object, or the causes and the message of the refusal.
type Outcome = Result<Value, (Vec<Value>, String)>;

async fn on_the_server(
    api: &Api<DynamicObject>,
    subject: &Subject,
    name: &str,
    step: &Step,
    exists: bool,
) -> Result<Outcome> {
    let done = match step {
        Step::Apply { manager, force, content } => {
            let mut how = PatchParams::apply(manager);
            how.force = *force;
            api.patch(name, &how, &Patch::Apply(subject.object(name, content))).await
        }
        Step::Merge { manager, content } if exists => {
            let how =
                PatchParams { field_manager: Some((*manager).into()), ..PatchParams::default() };
            api.patch(name, &how, &Patch::Merge(content)).await
        }
        Step::Put { manager, content } | Step::Merge { manager, content } => {
            let how =
                PostParams { field_manager: Some((*manager).into()), ..PostParams::default() };
            let mut object = subject.object(name, content);
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

/// When the server wrote. Owners are ordered by time before the oldest ones are merged, so a script
/// that crosses into another second has to cross it on both sides.
fn second(theirs: &Outcome) -> i64 {
    let entries =
        theirs.as_ref().ok().and_then(|object| object["metadata"]["managedFields"].as_array());
    let times = entries.into_iter().flatten().filter_map(|entry| entry["time"].as_str());
    let seconds = times.filter_map(|time| Some(time.parse::<Timestamp>().ok()?.as_second()));
    seconds.max().unwrap_or_default()
}

fn in_process(
    live: Option<&Value>,
    subject: &Subject,
    name: &str,
    step: &Step,
    second: i64,
) -> Outcome {
    match step {
        Step::Apply { manager, force, content } => {
            let manifest = subject.object(name, content);
            match apply(live, &manifest, *force, &subject.writer(manager, second)) {
                Ok(applied) => Ok(applied.object),
                Err(error) => Err(refusal(&error)),
            }
        }
        Step::Put { manager, content } => {
            Ok(track_update(live, &subject.object(name, content), &subject.writer(manager, second)))
        }
        Step::Merge { manager, content } => {
            let mut new = live.cloned().unwrap_or_else(|| subject.object(name, &json!({})));
            json_patch::merge(&mut new, content);
            Ok(track_update(live, &new, &subject.writer(manager, second)))
        }
    }
}

fn refusal(error: &ApplyError) -> (Vec<Value>, String) {
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

/// What both sides have to agree on: no times, no order of what has none, nothing that only a
/// server sets.
fn shown(outcome: &Outcome) -> Value {
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
                // The old server mixes up what has four steps or more.
                let field = cause[2].as_str().unwrap_or_default();
                let end = field.match_indices(['.', '[']).nth(3).map(|(at, _)| at);
                cause[2] = field[..end.unwrap_or(field.len())].into();
            }
            causes.sort_by_key(Value::to_string);
            // Which of several owners comes first is left to chance.
            let message = message.split(" conflicts: ").next();
            json!({ "causes": causes, "message": message })
        }
    }
}

/// Fields without who owns that a structure is there: the schema of built-in kinds does not know
/// all structures from maps.
fn without_structures(fields: &Value) -> Value {
    let fields = fields.as_object().into_iter().flatten().filter(|(name, _)| *name != ".");
    fields.map(|(name, inside)| (name.clone(), without_structures(inside))).collect()
}

fn sort(list: Option<&mut Value>) {
    if let Some(list) = list.and_then(Value::as_array_mut) {
        list.sort_by_key(Value::to_string);
    }
}
