//! A CRD and its objects, here and on an API server.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use fairway_sandbox::builtin;
use fairway_sandbox::crd::{Crd, CrdVersion, FieldError, FieldErrorKind};
use fairway_testkit::{TestCluster, wait};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams,
};
use kube::core::response::StatusCause;
use serde_json::{Value, json};

const GROUP: &str = "definition.test.fairway.dev";

/// Group of CRDs that are only created by dry runs, so that none of them exists.
const DRY_RUN_GROUP: &str = "tried.definition.test.fairway.dev";

fn definition() -> Result<CustomResourceDefinition> {
    custom(
        GROUP,
        &json!({
            "type": "object",
            "properties": { "spec": { "type": "object", "properties": fields() }, "status": {
                "type": "object",
                "properties": { "ready": { "type": "boolean", "default": false } },
            } },
        }),
    )
}

fn custom(group: &str, schema: &Value) -> Result<CustomResourceDefinition> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("things.{group}") },
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": schema },
                "subresources": { "status": {} },
            }],
        },
    }))?)
}

/// Optional fields of all types.
fn fields() -> Value {
    let mut fields: Value = serde_json::from_str(include_str!("crd/fields.json")).unwrap();
    for format in FORMATS {
        fields[format] = json!({ "type": "string", "format": format });
    }
    fields
}

#[rustfmt::skip]
const FORMATS: [&str; 16] = [
    "byte", "cidr", "date", "date-time", "duration", "email", "hexcolor", "hostname", "ipv4",
    "ipv6", "mac", "no-such-format", "password", "uri", "uuid", "uuid4",
];

fn cases() -> Vec<Value> {
    let mut cases =
        vec![json!({ "spec": {} }), json!({}), json!({ "spec": null }), json!({ "spec": [] })];
    cases.push(json!({ "spec": { "unknown1": 1 }, "unknown2": 2, "status": { "ready": true } }));
    for (field, values) in values().as_object().unwrap() {
        for value in values.as_array().unwrap() {
            cases.push(json!({ "spec": { field: value } }));
        }
    }
    cases.push(json!({ "spec": { "mode": "C", "count": 0, "list": [], "word": 1, "one": {} } }));
    cases
}

fn values() -> Value {
    serde_json::from_str(include_str!("crd/values.json")).unwrap()
}

/// Result of a write: the stored object, or the errors by field.
type WriteResult = Result<Value, BTreeSet<String>>;

fn create_here(version: &CrdVersion, object: &Value) -> WriteResult {
    let mut object = pruned_and_defaulted(version, object);
    let errors = version.validate(&object, None);
    version.retain_status(&mut object, None);
    if errors.is_empty() {
        Ok(compared_content(&object))
    } else {
        Err(errors.iter().map(error_text).collect())
    }
}

/// The error of a field, or only the field if newer servers have another message.
fn error_text(error: &FieldError) -> String {
    match error.kind {
        FieldErrorKind::TooLong | FieldErrorKind::TooMany => without_indices(&error.path),
        _ => without_indices(&error.to_string()),
    }
}

fn cause_text(cause: &StatusCause) -> String {
    match &cause.message {
        text if text.contains(" at most ") => without_indices(&cause.field),
        text => without_indices(&format!("{}: {text}", cause.field)),
    }
}

fn paths(errors: &[FieldError]) -> BTreeSet<String> {
    let path = |error: &FieldError| match error.path.as_str() {
        "" => "<nil>".to_owned(),
        path => path.to_owned(),
    };
    errors.iter().map(path).map(|path| without_indices(&path)).collect()
}

/// Removes list indices. Old servers report the list where new ones report the item.
fn without_indices(path: &str) -> String {
    let mut parts = path.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |path, part| match part.split_once(']') {
        Some((index, rest)) if index.parse::<usize>().is_ok() => path + rest,
        _ => format!("{path}[{part}"),
    })
}

fn compared_content(object: &Value) -> Value {
    let mut parts = json!({ "spec": object.get("spec"), "status": object.get("status") });
    whole_numbers(&mut parts);
    parts
}

/// Writes 2.0 as 2, like the API server.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Number(number) if number.is_f64() => {
            let text = number.to_string();
            let whole = text.strip_suffix(".0").and_then(|whole| whole.parse::<i64>().ok());
            if let Some(whole) = whole {
                *value = whole.into();
            }
        }
        _ => {}
    }
}

async fn create_there(api: &Api<DynamicObject>, object: &Value) -> Result<WriteResult> {
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    match api.create(&dry, &serde_json::from_value(object.clone())?).await {
        Ok(stored) => Ok(Ok(compared_content(&serde_json::to_value(stored)?))),
        Err(error) => Ok(Err(causes_of(error, cause_text)?)),
    }
}

fn causes_of(error: kube::Error, of: fn(&StatusCause) -> String) -> Result<BTreeSet<String>> {
    let kube::Error::Api(status) = &error else { bail!(error) };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    // Objects that do not decode are refused without causes.
    if let Some((_, why)) = status.message.split_once("cannot be handled as a Thing: ") {
        return Ok([without_indices(why)].into());
    }
    let fields: BTreeSet<_> = causes.map(of).collect();
    if fields.is_empty() {
        bail!(error)
    }
    Ok(fields)
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn create_of_custom_resources_matches_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let wanted = definition()?;
    let name = wanted.metadata.name.clone().context("a name")?;
    definitions.delete(&name, &DeleteParams::default()).await.ok();
    wait::until("the old definition to go", || async {
        Ok(definitions.get_opt(&name).await?.is_none().then_some(()))
    })
    .await?;
    definitions.create(&PostParams::default(), &wanted).await?;
    let kind = GroupVersionKind::gvk(GROUP, "v1", "Thing");
    let api: Api<DynamicObject> =
        Api::all_with(cluster.client(), &ApiResource::from_gvk_with_plural(&kind, "things"));
    wait::until("the definition to be served", || async {
        Ok(api.list(&ListParams::default()).await.ok().map(|_| ()))
    })
    .await?;

    let compared = compare(&api, &wanted).await;
    definitions.delete(&name, &DeleteParams::default()).await?;
    let (count, differences) = compared?;
    assert!(
        differences.is_empty(),
        "{} of {count}:\n{}",
        differences.len(),
        differences.join("\n")
    );
    assert!(count >= 200, "{count} objects");
    Ok(())
}

fn pruned_and_defaulted(version: &CrdVersion, object: &Value) -> Value {
    let mut object = object.clone();
    version.prune(&mut object);
    version.default(&mut object);
    object
}

async fn compare(
    api: &Api<DynamicObject>,
    wanted: &CustomResourceDefinition,
) -> Result<(usize, Vec<String>)> {
    let definition = Crd::new(wanted).map_err(|errors| anyhow::anyhow!("{errors:?}"))?;
    let cases = cases();
    let mut differences = Vec::new();
    for case in &cases {
        let mut object = case.clone();
        object["apiVersion"] = json!(format!("{GROUP}/v1"));
        object["kind"] = json!("Thing");
        object["metadata"] = json!({ "name": "thing" });
        let here = create_here(definition.storage(), &object);
        match create_there(api, &object).await {
            Ok(there) if here == there => {}
            Ok(there) => differences.push(format!("{case}\n   here {here:?}\n  there {there:?}")),
            Err(error) => differences.push(format!("{case}\n   here {here:?}\n  there {error:#}")),
        }
    }
    Ok((cases.len(), differences))
}

/// Creates a CRD here. Returns the paths of errors.
fn accepted_here(definition: &CustomResourceDefinition) -> Result<Result<(), BTreeSet<String>>> {
    let kind = builtin::kind("apiextensions.k8s.io", "CustomResourceDefinition");
    let kind = kind.context("definitions are a built-in kind")?;
    let mut object = kind.read(json!(definition))?.object;
    kind.default(&mut object);
    kind.prepare_create(&mut object);
    let errors = kind.validate(&object);
    Ok(if errors.is_empty() { Ok(()) } else { Err(paths(&errors)) })
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn create_of_crds_matches_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let mut differences = Vec::new();
    let cases = crds_to_compare()?;
    for (what, case) in &cases {
        let here = accepted_here(case)?;
        let there = match definitions.create(&dry, case).await {
            Ok(_) => Ok(()),
            Err(error) => {
                let field = |cause: &StatusCause| without_indices(&cause.field);
                Err(causes_of(error, field).with_context(|| what.clone())?)
            }
        };
        if here != there {
            differences.push(format!("{what}\n   here {here:?}\n  there {there:?}"));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {}:\n{}",
        differences.len(),
        cases.len(),
        differences.join("\n")
    );
    Ok(())
}

/// CRDs that differ from a valid one in one field.
fn crds_to_compare() -> Result<Vec<(String, CustomResourceDefinition)>> {
    let good = serde_json::to_value(custom(DRY_RUN_GROUP, &json!({ "type": "object" }))?)?;
    let schemas: Vec<Value> = serde_json::from_str(include_str!("crd/schemas.json"))?;
    let mut cases = vec![("good".to_owned(), serde_json::from_value(good.clone())?)];
    for schema in schemas {
        let what = schema.to_string();
        let properties = json!({ "type": "object", "properties": { "x": schema } });
        cases.push((what, custom(DRY_RUN_GROUP, &properties)?));
    }
    let patches: Vec<Value> = serde_json::from_str(include_str!("crd/patches.json"))?;
    for patch in patches {
        let mut changed = good.clone();
        let (pointer, value) = (patch[0].as_str().unwrap_or_default(), &patch[1]);
        *changed.pointer_mut(pointer).context(pointer.to_owned())? = value.clone();
        cases.push((patch.to_string(), serde_json::from_value(changed)?));
    }
    Ok(cases)
}
