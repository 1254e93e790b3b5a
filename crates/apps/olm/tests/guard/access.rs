//! Permissions of the guard.

use anyhow::{Context as _, Result};
use fairway_api::ClusterOperator;
use fairway_olm::{MetricsAuth, Settings};
use fairway_testkit::wait;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{DeleteParams, DynamicObject, ObjectMeta, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use crate::support::{OPERATOR, Platform, up_to};

/// Manifests of the deployment.
const MANIFESTS: &str = include_str!("../../../../../deploy/olm-guard/rbac.yaml");

/// A client with the permissions of the deployment. Objects get the name of the namespace.
pub(crate) async fn deployed(platform: &Platform) -> Result<Client> {
    let token = deploy(platform).await?;
    platform.cluster.client_with_token(&token).await
}

/// Creates the objects of the deployment, and returns the token of the guard.
async fn deploy(platform: &Platform) -> Result<String> {
    let namespace = platform.namespace.name();
    let manifests = MANIFESTS
        .replace("openshift-cluster-version", namespace)
        .replace("operator-lifecycle-manager", OPERATOR)
        .replace("name: fairway-olm-guard\n", &format!("name: {namespace}\n"));
    let documents: Vec<DynamicObject> = serde_saphyr::from_multiple(&manifests)?;
    for object in &documents {
        create(&platform.client(), object).await?;
    }
    let accounts = Api::<ServiceAccount>::namespaced(platform.client(), namespace);
    let (request, parameters) = (TokenRequest::default(), PostParams::default());
    let token = accounts.create_token_request("olm-guard", &parameters, &request).await?;
    Ok(token.status.context("no token")?.token)
}

#[tokio::test]
async fn guard_with_deployed_permissions_reports_and_serves() -> Result<()> {
    let platform = Platform::begin(Some("4.7.2")).await?;
    let namespace = platform.namespace.name().to_owned();
    let token = deploy(&platform).await?;
    let guards = platform.cluster.client_with_token(&token).await?;

    let native = json!([{ "group": "policy", "version": "v1beta1", "kind": "PodSecurityPolicy" }]);
    let uses = json!({ "spec": { "nativeAPIs": native } });
    platform.put("ClusterServiceVersion", "uses.v1", uses).await?;
    let settings = Settings { metrics_auth: MetricsAuth::Token, ..platform.settings()? };
    let guard = platform.start_as(guards.clone(), settings)?;
    platform.until_refused("4.6").await?;
    platform.install("last.v1", up_to("4.7")).await.map_err(anyhow::Error::msg)?;
    let will = "False IncompatibleOperatorsInstalled: The following operators will not run on the next OpenShift Version";
    platform.until_upgradeable(&format!("{will}: NS/last.v1")).await?;
    let operators = Api::<ClusterOperator>::all(platform.client());
    wait::until("the guard to read what an operator uses", || async {
        let report = operators.get(OPERATOR).await?.status.and_then(|status| status.extension);
        let report = report.map(|report| report.to_string()).unwrap_or_default();
        Ok(report.contains("OperatorApisMissing").then_some(()))
    })
    .await?;
    // The guard reviews tokens. Its own user may not read metrics.
    assert_eq!(platform.scrape(None).await?, 401);
    assert_eq!(platform.scrape(Some(&token)).await?, 403);
    // It annotates the Secret with the served certificate, and removes the annotation at its end.
    wait::until("the guard to note what it serves", || async {
        Ok((platform.notes().await? == 1).then_some(()))
    })
    .await?;
    guard.stop().await?;
    assert_eq!(platform.notes().await?, 0);

    // The permissions allow no write of another ClusterOperator.
    let others = Api::<ClusterOperator>::all(platform.client());
    let metadata = ObjectMeta { name: Some(namespace.clone()), ..ObjectMeta::default() };
    let other = ClusterOperator { metadata, ..ClusterOperator::default() };
    let other = others.create(&PostParams::default(), &other).await?;
    let api = Api::<ClusterOperator>::all(guards);
    let written = api.replace_status(&namespace, &PostParams::default(), &other).await;
    let is_forbidden = matches!(&written, Err(kube::Error::Api(status)) if status.code == 403);
    others.delete(&namespace, &DeleteParams::default()).await?;
    assert!(is_forbidden, "{written:?}");
    Ok(())
}

async fn create(client: &Client, object: &DynamicObject) -> Result<()> {
    let types = object.types.as_ref().context("no kind")?;
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types)?);
    let api = match object.namespace() {
        Some(namespace) => {
            Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, &resource)
        }
        None => Api::all_with(client.clone(), &resource),
    };
    api.create(&PostParams::default(), object).await?;
    Ok(())
}
