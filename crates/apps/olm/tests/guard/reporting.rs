//! The ClusterOperator of the guard.

use anyhow::{Context as _, Result};
use fairway_api::ClusterOperator;
use fairway_compat::olm::{InvalidPolicy, MAXIMUM_ANNOTATION, OlmPolicy};
use fairway_sandbox::faults::Fault;
use fairway_testkit::wait;
use kube::Api;
use serde_json::{Value, json};

use crate::access::deployed;
use crate::support::{OPERATOR, Platform, up_to, with_property};

#[tokio::test]
async fn upgradeable_follows_operators_and_version() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let guard = platform.start(platform.settings()?)?;
    let ready = "True AsExpected: Ready for upgrade";
    platform.until_upgradeable(ready).await?;

    platform.install("next.v1", up_to("4.7")).await.map_err(anyhow::Error::msg)?;
    platform.install("number.v1", with_property("4.10")).await.map_err(anyhow::Error::msg)?;
    platform.install("silent.v1", json!({})).await.map_err(anyhow::Error::msg)?;
    let may = "True OperatorCompatibilityUnknown: The following operators may not run on the next OpenShift Version";
    platform.until_upgradeable(&format!("{may}: NS/silent.v1")).await?;

    platform.install("old.v1", with_property("\"4.6\"")).await.map_err(anyhow::Error::msg)?;
    let will = "False IncompatibleOperatorsInstalled: The following operators will not run on the next OpenShift Version";
    platform.until_upgradeable(&format!("{will}: NS/old.v1")).await?;

    // Copies are not counted.
    let mut copy = up_to("4.6");
    copy["labels"] = json!({ "olm.copiedFrom": "elsewhere" });
    platform.install("copy.v1", copy).await.map_err(anyhow::Error::msg)?;
    platform.install("vague.v1", up_to("4.x")).await.map_err(anyhow::Error::msg)?;
    let mut torn = with_property("\"4.6\"");
    torn["annotations"][MAXIMUM_ANNOTATION] = json!("4.7");
    platform.install("torn.v1", torn).await.map_err(anyhow::Error::msg)?;
    platform.uninstall("old.v1").await?;
    let doubtful = "NS/silent.v1, NS/torn.v1, NS/vague.v1";
    platform.until_upgradeable(&format!("{may}: {doubtful}")).await?;

    platform.reach_version("4.7.0").await?;
    platform.until_upgradeable(&format!("{will}: NS/next.v1")).await?;
    platform.change("next.v1", up_to("4.8")).await?;
    platform.until_upgradeable(&format!("{may}: {doubtful}")).await?;
    guard.stop().await
}

#[tokio::test]
async fn risks_have_targets() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    platform.install("old.v1", up_to("4.6")).await.map_err(anyhow::Error::msg)?;
    platform.install("later.v1", up_to("4.7")).await.map_err(anyhow::Error::msg)?;
    let guard = platform.start(platform.settings()?)?;
    let will = "False IncompatibleOperatorsInstalled: The following operators will not run on the next OpenShift Version";
    platform.until_upgradeable(&format!("{will}: NS/old.v1")).await?;
    let operator = Api::<ClusterOperator>::all(platform.client()).get(OPERATOR).await?;
    let status = operator.status.context("no status")?;
    let report = status.extension.as_ref().context("no report")?;
    let risks = report["risks"].as_array().context("no risks")?;
    let listed: Vec<String> = risks
        .iter()
        .map(|risk| {
            let field = |key: &str| risk[key].as_str().unwrap_or_default();
            format!("{} {}", field("name"), field("targets"))
        })
        .collect();
    let listed = listed.join("\n").replace(platform.namespace.name(), "NS");
    insta::assert_snapshot!(listed, @"
    OperatorWillNotRun-NS:old.v1 >=4.7.0
    OperatorWillNotRun-NS:later.v1 >=4.8.0
    ");
    let related: Vec<String> =
        status.related_objects.iter().map(|it| format!("{} {}", it.resource, it.name)).collect();
    let related = related.join("\n").replace(platform.namespace.name(), "NS");
    insta::assert_snapshot!(related, @"
    namespaces NS
    validatingwebhookconfigurations fairway-olm-guard
    clusterserviceversions old.v1
    ");
    guard.stop().await
}

#[tokio::test]
async fn operator_with_removed_api_is_a_risk() -> Result<()> {
    let platform = Platform::begin(Some("4.8.1")).await?;
    let native = json!([{ "group": "policy", "version": "v1beta1", "kind": "PodSecurityPolicy" }]);
    let spec = |apis: &Value| json!({ "metadata": up_to("4.20"), "spec": { "nativeAPIs": apis } });
    platform.put("ClusterServiceVersion", "uses.v1", spec(&native)).await?;
    let guard = platform.start(platform.settings()?)?;
    let api = Api::<ClusterOperator>::all(platform.client());
    let risks_of = |wanted: usize| {
        let api = api.clone();
        async move {
            let operator = api.get_opt(OPERATOR).await?;
            let report = operator.and_then(|it| it.status?.extension).unwrap_or_default();
            let risks = report["risks"].as_array().cloned().unwrap_or_default();
            Ok((risks.len() == wanted).then_some(risks))
        }
    };
    let risks = wait::until("both risks", || risks_of(2)).await?;
    assert_eq!(risks[0]["targets"], ">=4.12.0");
    let message = risks[0]["message"].as_str().unwrap_or_default();
    let message = message.replace(platform.namespace.name(), "NS");
    insta::assert_snapshot!(message, @"The operator NS/uses.v1 may stop working on 4.12: it uses an API that the target does not serve: podsecuritypolicies.v1beta1.policy (required; no replacement).");

    // Its next version does not use the API.
    platform.put("ClusterServiceVersion", "uses.v1", spec(&json!([]))).await?;
    let risks = wait::until("one risk", || risks_of(1)).await?;
    assert_eq!(risks[0]["targets"], ">=4.21.0");
    guard.stop().await
}

#[tokio::test]
async fn operator_that_requests_removed_api_is_a_risk() -> Result<()> {
    let platform = Platform::begin(Some("4.8.1")).await?;
    let rules = json!([{ "apiGroups": ["batch"], "resources": ["cronjobs"], "verbs": ["list"] }]);
    let permissions = json!([{ "serviceAccountName": "asks", "rules": rules }]);
    let install = json!({ "spec": { "permissions": permissions } });
    let asks = json!({ "metadata": up_to("4.20"), "spec": { "install": install } });
    platform.put("ClusterServiceVersion", "asks.v1", asks).await?;
    let account = format!("system:serviceaccount:{}:asks", platform.namespace.name());
    platform.count_request("cronjobs.v1beta1.batch", &account).await?;
    // With the deployed permissions.
    let guard = platform.start_as(deployed(&platform).await?, platform.settings()?)?;
    let api = Api::<ClusterOperator>::all(platform.client());
    let message = wait::until("the risk", || async {
        let operator = api.get_opt(OPERATOR).await?;
        let report = operator.and_then(|it| it.status?.extension).unwrap_or_default();
        Ok(report.pointer("/risks/0/message").and_then(Value::as_str).map(str::to_owned))
    })
    .await?;
    let message = message.replace(platform.namespace.name(), "NS");
    insta::assert_snapshot!(message, @"The operator NS/asks.v1 may stop working on 4.12: it uses an API that the target does not serve: cronjobs.v1beta1.batch (requested within the last 24 hours; replaced by batch/v1).");
    guard.stop().await
}

#[tokio::test]
async fn platform_of_unknown_version_uses_kubernetes_version() -> Result<()> {
    let platform = Platform::begin(Some("7.1.0")).await?;
    let group = "flowcontrol.apiserver.k8s.io";
    let native = json!([{ "group": group, "version": "v1beta3", "kind": "FlowSchema" }]);
    let uses = json!({ "metadata": up_to("7.20"), "spec": { "nativeAPIs": native } });
    platform.put("ClusterServiceVersion", "uses.v1", uses).await?;
    let guard = platform.start(platform.settings()?)?;
    platform.until_upgradeable("True AsExpected: Ready for upgrade").await?;
    let operator = Api::<ClusterOperator>::all(platform.client()).get(OPERATOR).await?;
    let report = operator.status.and_then(|status| status.extension).unwrap_or_default();
    let kubernetes = platform.client().apiserver_version().await?;
    let is_ahead = kubernetes.minor.trim_end_matches('+').parse::<u32>()? < 32;
    let note = report.pointer("/notes/0/message").and_then(Value::as_str).unwrap_or_default();
    assert_eq!(note.contains("uses.v1 with Kubernetes 1.32"), is_ahead, "{report}");
    guard.stop().await
}

#[tokio::test]
async fn catalog_overrides_installed_maximum() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    platform.install("etcd.v1.0.0", up_to("4.6")).await.map_err(anyhow::Error::msg)?;
    let guard = platform.start(platform.settings()?)?;
    let will = "False IncompatibleOperatorsInstalled: The following operators will not run on the next OpenShift Version: NS/etcd.v1.0.0";
    platform.until_upgradeable(will).await?;

    publish(&platform, "4.7").await?;
    subscribe(&platform).await?;
    platform.until_upgradeable("True AsExpected: Ready for upgrade").await?;

    // The catalog lowers the maximum.
    publish(&platform, "4.6").await?;
    platform.put("CatalogSource", "main", json!({ "spec": { "displayName": "new" } })).await?;
    platform.until_upgradeable(will).await?;
    guard.stop().await
}

#[tokio::test]
async fn catalog_that_fails_in_the_sandbox_keeps_its_last_answer() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let Some(sandbox) = platform.sandbox() else { return Ok(()) };
    platform.install("etcd.v1.0.0", up_to("4.9")).await.map_err(anyhow::Error::msg)?;
    platform.put("CatalogSource", "main", json!({ "spec": { "displayName": "old" } })).await?;
    publish(&platform, "4.6").await?;
    subscribe(&platform).await?;
    let guard = platform.start(platform.settings()?)?;
    let will = "False IncompatibleOperatorsInstalled: The following operators will not run on the next OpenShift Version: NS/etcd.v1.0.0";
    platform.until_upgradeable(will).await?;

    // While a catalog changes, packages are missing, or requests fail.
    for (code, name) in [(404, "new"), (503, "newer")] {
        let fault = Fault::refuse(code).resource("packagemanifests").verb("list");
        sandbox.faults().add(fault.times(1));
        platform.put("CatalogSource", "main", json!({ "spec": { "displayName": name } })).await?;
        wait::until("the guard to send the failing request", || async {
            Ok(sandbox.faults().is_empty().then_some(()))
        })
        .await?;
        // The next status is written with the result of that request.
        let other = format!("{name}.v1");
        platform.install(&other, up_to("4.6")).await.map_err(anyhow::Error::msg)?;
        platform.until_upgradeable(&format!("{will}, NS/{other}")).await?;
        platform.uninstall(&other).await?;
        platform.until_upgradeable(will).await?;
    }
    // The guard reads the catalog again.
    publish(&platform, "4.7").await?;
    platform.until_upgradeable("True AsExpected: Ready for upgrade").await?;
    guard.stop().await
}

/// Publishes the maximum version of etcd in the catalog.
async fn publish(platform: &Platform, maximum: &str) -> Result<()> {
    let namespace = platform.namespace.name();
    let labels = json!({ "catalog": "main", "catalog-namespace": namespace });
    let package = json!({ "metadata": { "name": "etcd", "labels": labels }, "status": {
        "catalogSource": "main", "catalogSourceNamespace": namespace,
        "packageName": "etcd", "defaultChannel": "stable",
        "channels": [{
            "name": "stable", "currentCSV": "etcd.v1.0.0",
            "currentCSVDesc": {
                "version": "1.0.0", "annotations": { MAXIMUM_ANNOTATION: maximum },
            },
        }],
    } });
    platform.put("PackageManifest", "etcd", package).await
}

/// Subscribes to the catalog.
async fn subscribe(platform: &Platform) -> Result<()> {
    let subscription = json!({
        "spec": { "name": "etcd", "source": "main", "sourceNamespace": platform.namespace.name() },
        "status": { "installedCSV": "etcd.v1.0.0" },
    });
    platform.put("Subscription", "etcd", subscription).await
}

#[tokio::test]
async fn malformed_operators_are_reported() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let strict = OlmPolicy { invalid: InvalidPolicy::Block, ..OlmPolicy::default() };
    let guard = platform.start(fairway_olm::Settings { policy: strict, ..platform.settings()? })?;
    for (name, value) in [
        ("a-null.v1", "null"),
        ("b-object.v1", "{}"),
        ("c-deep.v1", &"[".repeat(200)),
        ("d-patch.v1", "\"4.7.1\""),
    ] {
        platform.install(name, with_property(value)).await.map_err(anyhow::Error::msg)?;
        let api = Api::<ClusterOperator>::all(platform.client());
        let named = wait::until(name, || async {
            let operator = api.get_opt(OPERATOR).await?;
            let status = operator.and_then(|operator| operator.status).map(|it| json!(it));
            let text = status.as_ref().map(Value::to_string).unwrap_or_default();
            Ok(text.contains(&format!("/{name} has invalid")).then_some(()))
        });
        named.await?;
    }
    guard.stop().await
}

#[tokio::test]
async fn plain_kubernetes_has_no_status() -> Result<()> {
    let platform = Platform::begin(None).await?;
    let guard = platform.start(platform.settings()?)?;
    platform.install("old.v1", up_to("4.6")).await.map_err(anyhow::Error::msg)?;
    // The webhook is called, and allows everything.
    wait::until("the webhook to be asked", || async {
        platform.install_dry_run("older.v1", up_to("4.5")).await.map_err(anyhow::Error::msg)?;
        let Ok(metrics) = platform.metrics().await else { return Ok(None) };
        Ok(metrics.contains(r#"fairway_olm_reviews_total{decision="allowed"}"#).then_some(()))
    })
    .await?;
    let operator = Api::<ClusterOperator>::all(platform.client()).get_opt(OPERATOR).await?;
    assert!(operator.is_none());
    guard.stop().await
}
