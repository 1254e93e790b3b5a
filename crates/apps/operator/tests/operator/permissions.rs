//! Requests of the operator besides applying releases, compared with a list.
//!
//! In a cluster the operator is cluster-admin, because a release may contain any object. These tests
//! run it with the permissions of `rbac.yaml`, so that its own requests stay within that list.

use std::collections::BTreeSet;
use std::sync::Mutex;

use anyhow::{Context as _, Result, ensure};
use fairway_api::ClusterVersion;
use fairway_api::cluster_version::Update;
use fairway_testkit::{AuditEvent, AuditLog, AuditMark, TestCluster, objects, wait};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount};
use kube::api::{DeleteParams, DynamicObject, ListParams, ObjectMeta, PostParams};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::discovery::ApiResource;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::running::Running;

const NAMESPACE: &str = "openshift-cluster-version";
const SERVICE_ACCOUNT: &str = "cluster-version-operator";
const NAMESPACES: [&str; 5] = [
    NAMESPACE,
    "openshift-cluster-version-preflight",
    "openshift-config",
    "openshift-config-managed",
    "openshift-monitoring",
];

/// Verb, resource as in rules, namespace and name.
type Permission = (String, String, String, String);

fn roles() -> Result<Vec<Value>> {
    Ok(serde_saphyr::from_multiple(include_str!("rbac.yaml"))?)
}

/// Creates the object of a manifest.
async fn create(client: &Client, object: Value) -> Result<()> {
    let types: TypeMeta = serde_json::from_value(object.clone())?;
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types)?);
    let namespace = object["metadata"]["namespace"].as_str().map(str::to_owned);
    let api: Api<DynamicObject> = match &namespace {
        None => Api::all_with(client.clone(), &resource),
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let object: DynamicObject = serde_json::from_value(object)?;
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}

/// A CRD of the platform that Fairway does not have.
fn crd(kind: &str, plural: &str) -> Value {
    let (singular, list) = (kind.to_lowercase(), format!("{kind}List"));
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.config.openshift.io")},
        "spec": {
            "group": "config.openshift.io", "scope": "Cluster",
            "names": {"plural": plural, "singular": singular, "kind": kind, "listKind": list},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

/// A client with the operator's ServiceAccount and only the permissions of the list.
async fn client_of_the_operator(cluster: &TestCluster) -> Result<Client> {
    let client = cluster.client();
    for name in NAMESPACES {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await?;
    }
    for object in roles()? {
        create(&client, object).await?;
    }
    for (kind, plural) in [
        ("Proxy", "proxies"),
        ("FeatureGate", "featuregates"),
        ("APIServer", "apiservers"),
        ("Infrastructure", "infrastructures"),
    ] {
        create(&client, crd(kind, plural)).await?;
    }
    let accounts: Api<ServiceAccount> = Api::namespaced(client, NAMESPACE);
    let wanted = TokenRequest { spec: TokenRequestSpec::default(), ..TokenRequest::default() };
    let issued =
        accounts.create_token_request(SERVICE_ACCOUNT, &PostParams::default(), &wanted).await?;
    cluster.client_with_token(&issued.status.context("no token")?.token).await
}

/// Token of a ServiceAccount that may read metrics.
async fn token_of_prometheus(client: &Client) -> Result<String> {
    let metadata = json!({"name": "prometheus", "namespace": NAMESPACE});
    let role =
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "metrics"});
    let subject = json!({"kind": "ServiceAccount", "name": "prometheus", "namespace": NAMESPACE});
    for object in [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "metrics"},
            "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "metrics"}, "roleRef": role, "subjects": [subject],
        }),
    ] {
        create(client, object).await?;
    }
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    let wanted = TokenRequest { spec: TokenRequestSpec::default(), ..TokenRequest::default() };
    let issued =
        accounts.create_token_request("prometheus", &PostParams::default(), &wanted).await?;
    Ok(issued.status.context("no token")?.token)
}

/// Permissions of the listed roles.
fn allowed() -> Result<BTreeSet<Permission>> {
    let mut allowed = BTreeSet::new();
    for role in roles()? {
        let namespace = role["metadata"]["namespace"].as_str().unwrap_or_default();
        for rule in role["rules"].as_array().into_iter().flatten() {
            let words = |key: &str| -> Vec<String> {
                let words = rule[key].as_array().into_iter().flatten();
                words.filter_map(Value::as_str).map(str::to_owned).collect()
            };
            let names = Some(words("resourceNames")).filter(|names| !names.is_empty());
            for verb in words("verbs") {
                for resource in words("resources") {
                    for name in names.clone().unwrap_or_else(|| vec![String::new()]) {
                        let permission =
                            (verb.clone(), resource.clone(), namespace.to_owned(), name);
                        allowed.insert(permission);
                    }
                }
            }
        }
    }
    Ok(allowed)
}

/// Permissions that a request needs. API servers differ in the names of audit events for lists of one
/// object and for created objects.
fn needed(event: &AuditEvent, allowed: &BTreeSet<Permission>) -> Vec<Permission> {
    let Some(object) = &event.object_ref else { return Vec::new() };
    let resource = match object.subresource.as_str() {
        "" => object.resource.clone(),
        subresource => format!("{}/{subresource}", object.resource),
    };
    let same = |(verb, allowed, namespace, name): &&Permission| {
        let is_list = ["list", "watch", "create"].contains(&event.verb.as_str());
        *verb == event.verb
            && *allowed == resource
            && *namespace == object.namespace
            && (*name == object.name || is_list && (name.is_empty() || object.name.is_empty()))
    };
    allowed.iter().filter(same).cloned().collect()
}

/// Needed and allowed permissions.
struct Usage {
    log: AuditLog,
    mark: AuditMark,
    allowed: BTreeSet<Permission>,
}

impl Usage {
    /// Waits until every permission was needed, except for some.
    async fn until_only_needed(&self, except: impl Fn(&Permission) -> bool) -> Result<()> {
        let unused = Mutex::new(BTreeSet::new());
        wait::until("every permission to be needed", async || {
            let mut left = self.unused()?;
            left.retain(|permission| !except(permission));
            let is_empty = left.is_empty();
            *unused.lock().expect("one thread") = left;
            Ok(is_empty.then_some(()))
        })
        .await
        .with_context(|| format!("nothing needs {unused:?}"))
    }

    fn unused(&self) -> Result<BTreeSet<Permission>> {
        let account = format!("system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}");
        let mut events = self.log.since(self.mark)?;
        events.retain(|event| event.user.username == account);
        let refused = events.iter().find(|event| code_of(event) == Some(403));
        ensure!(refused.is_none(), "{refused:?}");
        let needed: BTreeSet<_> =
            events.iter().flat_map(|event| needed(event, &self.allowed)).collect();
        Ok(self.allowed.difference(&needed).cloned().collect())
    }
}

#[tokio::test]
async fn operator_needs_exactly_the_listed_permissions() -> Result<()> {
    let cluster = TestCluster::start().await?.over_tls().await?;
    cluster.install_crds().await?;
    let client = client_of_the_operator(&cluster).await?;
    let versions: Api<ClusterVersion> = Api::all(cluster.client());
    let mut version = objects::cluster_version();
    // No server listens on this port.
    let image = format!("127.0.0.1:9/release@sha256:{}", "0".repeat(64));
    version.spec.desired_update =
        Some(Update { image: Some(image), force: Some(true), ..Update::default() });
    versions.create(&PostParams::default(), &version).await?;
    let log = cluster.audit_log()?;
    let mark = log.mark()?;

    let mut operator = Running::start_with_auth(client.clone(), NAMESPACE).await?;
    operator.token = Some(token_of_prometheus(&cluster.client()).await?);
    operator.until_ready().await?;
    operator.until("/metrics", |status, _| status == 200).await?;
    let usage = Usage { log, mark, allowed: allowed()? };
    usage.until_only_needed(|(verb, ..)| verb == "watch").await?;
    let late = objects::cluster_operator("late");
    Api::all(cluster.client()).create(&PostParams::default(), &late).await?;
    operator.until("/metrics", |_, text| text.contains(r#"name="late""#)).await?;
    operator.stop().await?;
    // A real API server logs a watch when it ends.
    usage.until_only_needed(|_| false).await?;
    refuse_everything_else(&client).await
}

async fn refuse_everything_else(client: &Client) -> Result<()> {
    let refused = |what: &str, code: Option<u16>| assert_eq!(code, Some(403), "{what}");
    let versions: Api<ClusterVersion> = Api::all(client.clone());
    let all = ListParams::default();
    refused("list all ClusterVersions", code(versions.list(&all).await));
    let version = objects::cluster_version();
    let write = PostParams::default();
    refused("write the spec", code(versions.replace("version", &write, &version).await));
    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    refused("read its own secrets", code(secrets.list(&all).await));
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "openshift-config");
    refused("read other ConfigMaps", code(maps.list(&all).await));
    let leases: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
    refused("remove its lease", code(leases.delete("version", &DeleteParams::default()).await));
    refused("read other leases", code(leases.get("other").await));
    Ok(())
}

fn code_of(event: &AuditEvent) -> Option<u16> {
    event.response_status.as_ref().map(|status| status.code)
}

/// Code of an error.
fn code<T>(answer: kube::Result<T>) -> Option<u16> {
    match answer {
        Err(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}
