//! JSON patches, merge patches and strategic merge patches.

use anyhow::Result;
use http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, PatchType, Transcript, config_map, idle_deployment};

/// A Deployment with labels and two containers.
fn deployment() -> Value {
    let mut deployment = idle_deployment(json!([
        { "name": "one", "image": "i:1", "args": ["x"], "env": [{ "name": "A", "value": "1" }] },
        { "name": "two", "image": "i:2" },
    ]));
    deployment["metadata"]["labels"] = json!({ "a": "1", "b": "2" });
    deployment
}

async fn begin() -> Result<Case> {
    let case = Case::begin("patch").await?;
    case.create("deployments", &deployment()).await?.object()?;
    Ok(case)
}

fn containers(object: &Value) -> &Value {
    &object["spec"]["template"]["spec"]["containers"]
}

#[tokio::test]
async fn json_patch_applies_operations() -> Result<()> {
    let case = Case::begin("patch").await?;
    case.config_map("a", json!({ "x": "1", "y": "2" })).await?;
    let patch = json!([
        { "op": "test", "path": "/data/x", "value": "1" },
        { "op": "replace", "path": "/data/x", "value": "one" },
        { "op": "remove", "path": "/data/y" },
        { "op": "copy", "from": "/data/x", "path": "/data/z" },
        { "op": "add", "path": "/metadata/labels", "value": { "a/b": "1", "l": "m" } },
        { "op": "move", "from": "/metadata/labels/a~1b", "path": "/data/moved" },
    ]);
    let after = case.patch(PatchType::Json, "configmaps/a", &patch).await?.object()?;
    assert_eq!(after["data"], json!({ "x": "one", "z": "one", "moved": "1" }));
    assert_eq!(after["metadata"]["labels"], json!({ "l": "m" }));
    Ok(())
}

#[tokio::test]
async fn json_patch_is_atomic() -> Result<()> {
    let case = Case::begin("patch").await?;
    let before = case.config_map("a", json!({ "x": "1" })).await?;
    let patch = json!([
        { "op": "replace", "path": "/data/x", "value": "2" },
        { "op": "test", "path": "/data/x", "value": "1" },
    ]);
    let answer = case.patch(PatchType::Json, "configmaps/a", &patch).await?;
    assert_snapshot!(answer.outline(), @"422 Invalid");
    assert_eq!(case.get("configmaps/a").await?.object()?, before);
    Ok(())
}

#[tokio::test]
async fn invalid_json_patches_are_refused() -> Result<()> {
    let case = Case::begin("patch").await?;
    case.config_map("a", json!({ "x": "1" })).await?;
    let mut transcript = Transcript::default();
    for patch in [
        json!([{ "op": "remove", "path": "/data/none" }]),
        json!([{ "op": "add", "path": "/none/deep", "value": "1" }]),
        json!([{ "op": "nonsense", "path": "/data/x" }]),
        json!({ "op": "remove", "path": "/data/x" }),
        json!([{ "op": "replace", "path": "/metadata/name", "value": "b" }]),
        json!([{ "op": "replace", "path": "/metadata/namespace", "value": "b" }]),
        json!([{ "op": "replace", "path": "/kind", "value": "Secret" }]),
        json!([{ "op": "replace", "path": "/data", "value": "text" }]),
    ] {
        transcript
            .line(&patch, case.patch(PatchType::Json, "configmaps/a", &patch).await?.outline());
    }
    assert_snapshot!(transcript, @r#"
    [{"op":"remove","path":"/data/none"}]: 422 Invalid
    [{"op":"add","path":"/none/deep","value":"1"}]: 422 Invalid
    [{"op":"nonsense","path":"/data/x"}]: 422 Invalid
    {"op":"remove","path":"/data/x"}: 400 BadRequest
    [{"op":"replace","path":"/metadata/name","value":"b"}]: 400 BadRequest
    [{"op":"replace","path":"/metadata/namespace","value":"b"}]: 400 BadRequest
    [{"op":"replace","path":"/kind","value":"Secret"}]: 422 Invalid
    [{"op":"replace","path":"/data","value":"text"}]: 422 Invalid
    "#);
    Ok(())
}

#[tokio::test]
async fn merge_patch_merges_objects_and_replaces_lists() -> Result<()> {
    let case = begin().await?;
    let patch = json!({
        "metadata": { "labels": { "a": null, "c": "3" } },
        "spec": { "template": { "spec": { "containers": [{ "name": "two", "image": "i:3" }] } } },
    });
    let after = case.merge("deployments/d", &patch).await?.object()?;
    assert_eq!(after["metadata"]["labels"], json!({ "b": "2", "c": "3" }));
    assert_eq!(containers(&after).as_array().map(Vec::len), Some(1));
    assert_eq!(containers(&after)[0]["image"], "i:3");
    Ok(())
}

#[tokio::test]
async fn strategic_patch_merges_lists_by_key() -> Result<()> {
    let case = begin().await?;
    let patch = json!({ "spec": { "template": { "spec": { "containers": [
        { "name": "one", "image": "i:9", "env": [{ "name": "B", "value": "2" }] },
        { "name": "three", "image": "i:3" },
    ] } } } });
    let after = case.patch(PatchType::Strategic, "deployments/d", &patch).await?.object()?;
    let brief: Vec<Value> = containers(&after)
        .as_array()
        .into_iter()
        .flatten()
        .map(|container| {
            json!([container["name"], container["image"], container["env"], container["args"]])
        })
        .collect();
    assert_snapshot!(json!(brief), @r#"[["one","i:9",[{"name":"B","value":"2"},{"name":"A","value":"1"}],["x"]],["three","i:3",null,null],["two","i:2",null,null]]"#);
    Ok(())
}

#[tokio::test]
async fn strategic_patch_directives_delete_replace_and_order() -> Result<()> {
    let case = begin().await?;
    let within = |spec: Value| json!({ "spec": { "template": { "spec": spec } } });
    let mut transcript = Transcript::default();
    for patch in [
        within(json!({ "containers": [{ "name": "one", "$patch": "delete" }] })),
        within(json!({ "containers": [{ "$patch": "replace" }, { "name": "new", "image": "n" }] })),
        within(
            json!({ "containers": [{ "name": "last", "image": "l" }], "$setElementOrder/containers": [{ "name": "last" }, { "name": "new" }] }),
        ),
        within(
            json!({ "$retainKeys": ["containers", "terminationGracePeriodSeconds"], "terminationGracePeriodSeconds": 5 }),
        ),
        json!({ "metadata": { "labels": { "$patch": "replace", "only": "this" } } }),
    ] {
        let after = case.patch(PatchType::Strategic, "deployments/d", &patch).await?.object()?;
        let names: Vec<&Value> =
            containers(&after).as_array().into_iter().flatten().map(|it| &it["name"]).collect();
        transcript.line(
            &patch,
            json!([
                names,
                after["metadata"]["labels"],
                after["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
            ]),
        );
    }
    assert_snapshot!(transcript, @r#"
    {"spec":{"template":{"spec":{"containers":[{"$patch":"delete","name":"one"}]}}}}: [["two"],{"a":"1","b":"2"},30]
    {"spec":{"template":{"spec":{"containers":[{"$patch":"replace"},{"image":"n","name":"new"}]}}}}: [["new"],{"a":"1","b":"2"},30]
    {"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"last"},{"name":"new"}],"containers":[{"image":"l","name":"last"}]}}}}: [["last","new"],{"a":"1","b":"2"},30]
    {"spec":{"template":{"spec":{"$retainKeys":["containers","terminationGracePeriodSeconds"],"terminationGracePeriodSeconds":5}}}}: [["last","new"],{"a":"1","b":"2"},5]
    {"metadata":{"labels":{"$patch":"replace","only":"this"}}}: [["last","new"],{"only":"this"},5]
    "#);
    Ok(())
}

#[tokio::test]
async fn strategic_patch_merges_sets() -> Result<()> {
    let case = Case::begin("patch").await?;
    let mut object = config_map("a", json!({}));
    object["metadata"]["finalizers"] = json!(["example.com/a"]);
    case.create("configmaps", &object).await?.object()?;
    let patch = json!({ "metadata": { "finalizers": ["example.com/b"] } });
    let after = case.patch(PatchType::Strategic, "configmaps/a", &patch).await?.object()?;
    assert_snapshot!(after["metadata"]["finalizers"], @r#"["example.com/b","example.com/a"]"#);
    let patch = json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": ["example.com/a"] } });
    let after = case.patch(PatchType::Strategic, "configmaps/a", &patch).await?.object()?;
    assert_snapshot!(after["metadata"]["finalizers"], @r#"["example.com/b"]"#);
    case.release("configmaps/a").await?;
    Ok(())
}

#[tokio::test]
async fn invalid_strategic_patches_are_refused() -> Result<()> {
    let case = begin().await?;
    let mut transcript = Transcript::default();
    for patch in [
        json!({ "spec": { "template": { "spec": { "containers": [{ "image": "nameless" }] } } } }),
        json!({ "spec": { "replicas": "many" } }),
        json!({ "spec": { "$patch": "nonsense" } }),
        json!([]),
        json!("text"),
    ] {
        transcript.line(
            &patch,
            case.patch(PatchType::Strategic, "deployments/d", &patch).await?.outline(),
        );
    }
    assert_snapshot!(transcript, @r#"
    {"spec":{"template":{"spec":{"containers":[{"image":"nameless"}]}}}}: 500 
    {"spec":{"replicas":"many"}}: 422 Invalid
    {"spec":{"$patch":"nonsense"}}: 500 
    []: 400 BadRequest
    "text": 400 BadRequest
    "#);
    Ok(())
}

#[tokio::test]
async fn patch_with_old_resource_version_conflicts() -> Result<()> {
    let case = Case::begin("patch").await?;
    let old = case.config_map("a", json!({})).await?;
    case.merge("configmaps/a", &json!({ "data": { "k": "1" } })).await?.object()?;
    let version = &old["metadata"]["resourceVersion"];
    let patch = json!({ "metadata": { "resourceVersion": version }, "data": { "k": "2" } });
    assert_snapshot!(case.merge("configmaps/a", &patch).await?.shown(), @r#"
    409 Conflict: Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again
      about {"kind":"configmaps","name":"a"}
    "#);
    let patch = json!({ "metadata": { "uid": "another" }, "data": { "k": "2" } });
    assert_snapshot!(case.merge("configmaps/a", &patch).await?.outline(), @"422 Invalid");
    Ok(())
}

#[tokio::test]
async fn patch_without_change_keeps_resource_version() -> Result<()> {
    let case = Case::begin("patch").await?;
    let before = case.config_map("a", json!({ "k": "1" })).await?;
    for patch in [json!({}), json!({ "data": { "k": "1" } }), json!({ "data": { "none": null } })] {
        let after = case.merge("configmaps/a", &patch).await?.object()?;
        assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    }
    Ok(())
}

#[tokio::test]
async fn patch_of_missing_object_is_not_found_except_apply() -> Result<()> {
    let case = Case::begin("patch").await?;
    let mut transcript = Transcript::default();
    for (kind, patch) in [
        (PatchType::Json, json!([])),
        (PatchType::Merge, json!({})),
        (PatchType::Strategic, json!({})),
    ] {
        transcript.add(format!("{kind:?}"), &case.patch(kind, "configmaps/a", &patch).await?);
    }
    assert_snapshot!(transcript, @r#"
    Json: 404 NotFound: configmaps "a" not found
      about {"kind":"configmaps","name":"a"}
    Merge: 404 NotFound: configmaps "a" not found
      about {"kind":"configmaps","name":"a"}
    Strategic: 404 NotFound: configmaps "a" not found
      about {"kind":"configmaps","name":"a"}
    "#);
    Ok(())
}

#[tokio::test]
async fn unsupported_patch_types_are_refused() -> Result<()> {
    let case = Case::begin("patch").await?;
    case.config_map("a", json!({})).await?;
    let mut transcript = Transcript::default();
    for content_type in ["application/json", "text/plain", "application/merge-patch+yaml"] {
        let answer =
            case.send(Method::PATCH, "configmaps/a", Some(content_type), b"{}".to_vec()).await?;
        transcript.add(content_type, &answer);
    }
    assert_snapshot!(transcript, @"
    application/json: 415 UnsupportedMediaType: 415: Unsupported Media Type
    text/plain: 415 UnsupportedMediaType: 415: Unsupported Media Type
    application/merge-patch+yaml: 415 UnsupportedMediaType: 415: Unsupported Media Type
    ");
    Ok(())
}

#[tokio::test]
async fn patch_result_is_validated() -> Result<()> {
    let case = begin().await?;
    let mut transcript = Transcript::default();
    for patch in
        [json!({ "spec": { "replicas": -1 } }), json!({ "metadata": { "labels": { "a b": "c" } } })]
    {
        transcript.add(&patch, &case.merge("deployments/d", &patch).await?);
    }
    let selector = json!({ "spec": { "selector": { "matchLabels": { "app": "other" } } } });
    transcript.line("selector", case.merge("deployments/d", &selector).await?.fields());
    assert_snapshot!(transcript, @r#"
    {"spec":{"replicas":-1}}: 422 Invalid: Deployment.apps "d" is invalid: …
      about {"group":"apps","kind":"Deployment","name":"d"}
      FieldValueInvalid spec.replicas: Invalid value: -1: must be greater than or equal to 0
    {"metadata":{"labels":{"a b":"c"}}}: 422 Invalid: Deployment.apps "d" is invalid: …
      about {"group":"apps","kind":"Deployment","name":"d"}
      FieldValueInvalid metadata.labels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
    selector: 422 Invalid
      FieldValueInvalid spec.selector
      FieldValueInvalid spec.template.metadata.labels
    "#);
    Ok(())
}

#[tokio::test]
async fn dry_run_patch_stores_nothing() -> Result<()> {
    let case = Case::begin("patch").await?;
    let before = case.config_map("a", json!({ "k": "1" })).await?;
    let patch = json!({ "data": { "k": "2" } });
    let answer = case.merge("configmaps/a?dryRun=All", &patch).await?.object()?;
    assert_eq!(answer["data"], json!({ "k": "2" }));
    assert_eq!(case.get("configmaps/a").await?.object()?, before);
    Ok(())
}
