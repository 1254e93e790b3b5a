//! Workloads: what servers cannot merge, and what is injected.

use anyhow::Result;
use fairway_cincinnati::route::ProxySettings;
use fairway_operator::apply::Outcome;
use serde_json::{Value, json};

use crate::ground::Ground;

fn deployment(ground: &Ground, container: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "a", "namespace": ground.namespace.name()},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container]}},
        },
    })
}

fn container(live: &Value) -> &Value {
    &live["spec"]["template"]["spec"]["containers"][0]
}

/// No server merges a list whose keys repeat.
#[tokio::test]
async fn what_a_server_cannot_merge_is_merged_here() -> Result<()> {
    let mut ground = Ground::prepare().await?;
    let env = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    let before = deployment(
        &ground,
        &json!({"name": "c", "image": "localhost/none", "env": env, "workingDir": "/dropped"}),
    );
    assert_eq!(ground.apply(&before).await?, Outcome::Written);
    let live = ground.live(&before).await?;
    assert_eq!(
        (&container(&live)["env"], &container(&live)["workingDir"]),
        (&env, &json!("/dropped"))
    );
    assert_eq!(ground.apply(&before).await?, Outcome::Right);
    ground.restart();
    assert_eq!(ground.apply(&before).await?, Outcome::Right);

    ground.edit(&before, &json!({"spec": {"minReadySeconds": 7, "replicas": 3}})).await?;
    let after = deployment(&ground, &json!({"name": "c", "image": "localhost/none", "env": env}));
    ground.restart();
    assert_eq!(ground.apply(&after).await?, Outcome::Written);
    let live = ground.live(&after).await?;
    assert_eq!(container(&live).get("workingDir"), None, "no longer wanted");
    assert_eq!(live["spec"]["minReadySeconds"], 7, "somebody else wants it");
    assert_eq!(live["spec"]["replicas"], 0, "edited");
    assert_eq!(ground.apply(&after).await?, Outcome::Right);

    // Servers can merge again what has no such list any more, and neither had before.
    for image in ["localhost/plain", "localhost/plainer"] {
        let plain = deployment(&ground, &json!({"name": "c", "image": image}));
        assert_eq!(ground.apply(&plain).await?, Outcome::Written);
        assert_eq!(ground.apply(&plain).await?, Outcome::Right);
    }
    let live = ground.live(&after).await?;
    assert_eq!(container(&live).get("env"), None);
    assert_eq!(live["metadata"]["annotations"]["fairway.dev/last-applied"], Value::Null);
    Ok(())
}

/// That is how the options of the operator itself are set in a cluster.
#[tokio::test]
async fn variables_that_an_administrator_adds_stay_and_arguments_do_not() -> Result<()> {
    let mut ground = Ground::prepare().await?;
    let ours = json!({"name": "OURS", "value": "1"});
    let theirs = json!({"name": "THEIRS", "value": "2"});
    let of_release = |image: &str| {
        let container = json!({"name": "c", "image": image, "args": ["a"], "env": [ours]});
        deployment(&ground, &container)
    };
    let (before, after) = (of_release("localhost/none"), of_release("localhost/next"));
    ground.apply(&before).await?;
    let edited =
        json!({"name": "c", "image": "localhost/none", "args": ["a", "b"], "env": [ours, theirs]});
    let edited = json!({"spec": {"template": {"spec": {"containers": [edited]}}}});
    ground.edit(&before, &edited).await?;
    ground.restart();
    for release in [before, after] {
        assert_eq!(ground.apply(&release).await?, Outcome::Written);
        let live = ground.live(&release).await?;
        assert_eq!(container(&live)["env"], json!([ours, theirs]));
        assert_eq!(container(&live)["args"], json!(["a"]));
        assert_eq!(ground.apply(&release).await?, Outcome::Right);
    }
    Ok(())
}

/// Old servers do not know it; whether it stays is up to the server, but it is tried only once.
#[tokio::test]
async fn what_a_server_does_not_know_does_not_stand_in_the_way() -> Result<()> {
    let mut ground = Ground::prepare().await?;
    let mut object = deployment(&ground, &json!({"name": "c", "image": "localhost/none"}));
    object["spec"]["template"]["spec"]["fieldOfTheFuture"] = json!({"a": 1});
    assert_eq!(ground.apply(&object).await?, Outcome::Written);
    assert_eq!(container(&ground.live(&object).await?)["name"], "c");
    assert_eq!(ground.apply(&object).await?, Outcome::Right);
    ground.restart();
    assert_eq!(ground.apply(&object).await?, Outcome::Right);
    ground.edit(&object, &json!({"spec": {"replicas": 3}})).await?;
    ground.restart();
    assert_eq!(ground.apply(&object).await?, Outcome::Written);
    assert_eq!(ground.live(&object).await?["spec"]["replicas"], 0);
    Ok(())
}

#[tokio::test]
async fn the_way_to_the_outside_follows_the_cluster() -> Result<()> {
    let mut ground = Ground::prepare().await?;
    let mut object = deployment(&ground, &json!({"name": "c", "image": "localhost/none"}));
    object["metadata"]["annotations"] = json!({"config.openshift.io/inject-proxy": "c"});
    ground.apply(&object).await?;
    assert_eq!(container(&ground.live(&object).await?).get("env"), None);
    let proxy =
        ProxySettings { https_proxy: "http://proxy:3128".to_owned(), ..ProxySettings::default() };
    ground.context.surroundings.proxy = proxy;
    assert_eq!(ground.apply(&object).await?, Outcome::Written);
    let variables = container(&ground.live(&object).await?)["env"].clone();
    assert_eq!(variables[1], json!({"name": "HTTPS_PROXY", "value": "http://proxy:3128"}));
    assert_eq!(ground.apply(&object).await?, Outcome::Right);
    ground.context.surroundings.proxy = ProxySettings::default();
    assert_eq!(ground.apply(&object).await?, Outcome::Written);
    assert_eq!(container(&ground.live(&object).await?).get("env"), None);
    Ok(())
}
