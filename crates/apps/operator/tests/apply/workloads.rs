//! Workloads: objects that API servers cannot merge, and injection.

use anyhow::Result;
use fairway_cincinnati::connection::ProxySettings;
use fairway_operator::apply::ApplyOutcome;
use serde_json::{Value, json};

use crate::fixture::ApplyFixture;

fn deployment(fixture: &ApplyFixture, container: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "a", "namespace": fixture.namespace.name()},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container]}},
        },
    })
}

fn container(live: &Value) -> &Value {
    &live["spec"]["template"]["spec"]["containers"][0]
}

/// No API server merges a list with repeated keys.
#[tokio::test]
async fn apply_of_unmergeable_object_merges_on_the_client() -> Result<()> {
    let mut fixture = ApplyFixture::prepare().await?;
    let env = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    let before = deployment(
        &fixture,
        &json!({"name": "c", "image": "localhost/none", "env": env, "workingDir": "/dropped"}),
    );
    assert_eq!(fixture.apply(&before).await?, ApplyOutcome::Written);
    let live = fixture.live(&before).await?;
    assert_eq!(
        (&container(&live)["env"], &container(&live)["workingDir"]),
        (&env, &json!("/dropped"))
    );
    assert_eq!(fixture.apply(&before).await?, ApplyOutcome::Unchanged);
    fixture.restart();
    assert_eq!(fixture.apply(&before).await?, ApplyOutcome::Unchanged);

    fixture.edit(&before, &json!({"spec": {"minReadySeconds": 7, "replicas": 3}})).await?;
    let after = deployment(&fixture, &json!({"name": "c", "image": "localhost/none", "env": env}));
    fixture.restart();
    assert_eq!(fixture.apply(&after).await?, ApplyOutcome::Written);
    let live = fixture.live(&after).await?;
    assert_eq!(container(&live).get("workingDir"), None, "a leftover");
    assert_eq!(live["spec"]["minReadySeconds"], 7, "a field of another client");
    assert_eq!(live["spec"]["replicas"], 0, "edited");
    assert_eq!(fixture.apply(&after).await?, ApplyOutcome::Unchanged);

    // Without such a list, the API server can merge again.
    for image in ["localhost/plain", "localhost/plainer"] {
        let plain = deployment(&fixture, &json!({"name": "c", "image": image}));
        assert_eq!(fixture.apply(&plain).await?, ApplyOutcome::Written);
        assert_eq!(fixture.apply(&plain).await?, ApplyOutcome::Unchanged);
    }
    let live = fixture.live(&after).await?;
    assert_eq!(container(&live).get("env"), None);
    assert_eq!(live["metadata"]["annotations"]["fairway.dev/last-applied"], Value::Null);
    Ok(())
}

/// Administrators set options of the operator this way.
#[tokio::test]
async fn apply_keeps_foreign_variables_and_resets_arguments() -> Result<()> {
    let mut fixture = ApplyFixture::prepare().await?;
    let ours = json!({"name": "OURS", "value": "1"});
    let theirs = json!({"name": "THEIRS", "value": "2"});
    let of_release = |image: &str| {
        let container = json!({"name": "c", "image": image, "args": ["a"], "env": [ours]});
        deployment(&fixture, &container)
    };
    let (before, after) = (of_release("localhost/none"), of_release("localhost/next"));
    fixture.apply(&before).await?;
    let edited =
        json!({"name": "c", "image": "localhost/none", "args": ["a", "b"], "env": [ours, theirs]});
    let edited = json!({"spec": {"template": {"spec": {"containers": [edited]}}}});
    fixture.edit(&before, &edited).await?;
    fixture.restart();
    for release in [before, after] {
        assert_eq!(fixture.apply(&release).await?, ApplyOutcome::Written);
        let live = fixture.live(&release).await?;
        assert_eq!(container(&live)["env"], json!([ours, theirs]));
        assert_eq!(container(&live)["args"], json!(["a"]));
        assert_eq!(fixture.apply(&release).await?, ApplyOutcome::Unchanged);
    }
    Ok(())
}

/// Old API servers drop the field; the write is not repeated.
#[tokio::test]
async fn apply_of_unknown_field_writes_once() -> Result<()> {
    let mut fixture = ApplyFixture::prepare().await?;
    let mut object = deployment(&fixture, &json!({"name": "c", "image": "localhost/none"}));
    object["spec"]["template"]["spec"]["fieldOfTheFuture"] = json!({"a": 1});
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Written);
    assert_eq!(container(&fixture.live(&object).await?)["name"], "c");
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Unchanged);
    fixture.restart();
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Unchanged);
    fixture.edit(&object, &json!({"spec": {"replicas": 3}})).await?;
    fixture.restart();
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Written);
    assert_eq!(fixture.live(&object).await?["spec"]["replicas"], 0);
    Ok(())
}

#[tokio::test]
async fn apply_injects_current_proxy_settings() -> Result<()> {
    let mut fixture = ApplyFixture::prepare().await?;
    let mut object = deployment(&fixture, &json!({"name": "c", "image": "localhost/none"}));
    object["metadata"]["annotations"] = json!({"config.openshift.io/inject-proxy": "c"});
    fixture.apply(&object).await?;
    assert_eq!(container(&fixture.live(&object).await?).get("env"), None);
    let proxy =
        ProxySettings { https_proxy: "http://proxy:3128".to_owned(), ..ProxySettings::default() };
    fixture.context.surroundings.proxy = proxy;
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Written);
    let variables = container(&fixture.live(&object).await?)["env"].clone();
    assert_eq!(variables[1], json!({"name": "HTTPS_PROXY", "value": "http://proxy:3128"}));
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Unchanged);
    fixture.context.surroundings.proxy = ProxySettings::default();
    assert_eq!(fixture.apply(&object).await?, ApplyOutcome::Written);
    assert_eq!(container(&fixture.live(&object).await?).get("env"), None);
    Ok(())
}
