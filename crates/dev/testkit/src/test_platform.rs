//! A cluster with an installed platform: [`TestPlatform`].

use std::collections::BTreeMap;
use std::fs;
use std::process::Output;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_api::{ClusterOperator, Conditions as _};
use fairway_example::images::SIGNATURES;
use fairway_example::{OperatorPorts, Platform, adapt_for_sandbox};
use fairway_sandbox::port::unused_port;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::cluster_version::{TestClusterVersion, has_completed};
use crate::update_service::UpdateService;
use crate::{TestCluster, environment, removal, wait};

/// The namespace of the operator.
pub const NAMESPACE: &str = "openshift-cluster-version";

/// How long a rollout may take: it replaces pods one after the other, on a busy host.
const ROLLOUT_TIMEOUT: Duration = Duration::from_mins(4);

/// A cluster with an installed platform: releases, an update service that offers them, and an
/// operator in a pod. Dropping it removes the platform from the cluster.
pub struct TestPlatform {
    /// The cluster of the platform.
    pub cluster: TestCluster,
    /// The releases that the cluster can pull.
    pub releases: Platform,
    service: UpdateService,
    files: TempDir,
}

impl TestPlatform {
    /// Installs a release on a cluster that no other test uses. `own` has the manifests of the
    /// operator, by path in a release image.
    pub async fn start(
        own: BTreeMap<String, String>,
        version: &str,
        channel: &str,
    ) -> Result<Self> {
        let platform = Self::prepare(TestCluster::exclusive().await?, own).await?;
        platform.install(version, channel).await?;
        Ok(platform)
    }

    /// Provides releases and an update service for a cluster, and installs nothing.
    pub async fn prepare(cluster: TestCluster, own: BTreeMap<String, String>) -> Result<Self> {
        let cluster = cluster.over_tls().await?;
        removal::remove(cluster.client()).await?;
        let own = if cluster.is_sandbox() {
            let ports = OperatorPorts { metrics: unused_port()?, probes: unused_port()? };
            adapt_for_sandbox(own, ports)?
        } else {
            own
        };
        let releases = cluster.example_platform(&own).await?;
        let files = tempfile::tempdir()?;
        releases.write_data(files.path())?;
        let service = UpdateService::start(files.path()).await?;
        Ok(Self { cluster, releases, service, files })
    }

    /// Installs a release and waits until it is completed.
    pub async fn install(&self, version: &str, channel: &str) -> Result<()> {
        let arguments = [
            "install",
            &format!("--release-image={}", self.image(version)?),
            &format!("--channel={channel}"),
            &format!("--upstream={}/graph", self.service.url),
            &format!("--signature-store={}/signatures", self.service.url),
            "--no-wait",
        ];
        self.fairway_expecting(&arguments, 0).await?;
        self.wait_until_completed(version).await?;
        Ok(())
    }

    /// A client of the cluster with all permissions.
    pub fn client(&self) -> Client {
        self.cluster.client()
    }

    /// The pull spec of a release, by digest.
    pub fn image(&self, version: &str) -> Result<String> {
        Ok(self.releases.release(version).context("no such release")?.reference.clone())
    }

    /// Removes the signature of a release from the update service.
    pub fn remove_signature(&self, version: &str) -> Result<()> {
        let image = self.image(version)?;
        let (_, digest) = image.rsplit_once("@sha256:").context("no digest")?;
        let signatures = self.files.path().join(SIGNATURES).join(format!("sha256={digest}"));
        fs::remove_dir_all(signatures).context("no signature found")
    }

    /// The URL of the update service.
    pub fn update_service(&self) -> &str {
        &self.service.url
    }

    /// Runs `fairway` against the cluster.
    pub async fn fairway(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(environment::fairway_program()?);
        command.args(arguments).env("KUBECONFIG", self.cluster.kubeconfig()).env("NO_COLOR", "1");
        command.output().await.context("cannot start the binary")
    }

    /// Runs `fairway upgrade`, which has to end with this exit code. Returns its output.
    pub async fn upgrade(&self, arguments: &[&str], exit_code: i32) -> Result<String> {
        self.fairway_expecting(&[&["upgrade"], arguments].concat(), exit_code).await
    }

    async fn fairway_expecting(&self, arguments: &[&str], exit_code: i32) -> Result<String> {
        let output = self.fairway(arguments).await?;
        let text = text(&output);
        ensure!(
            output.status.code() == Some(exit_code),
            "{arguments:?}: {} instead of {exit_code}: {text}",
            output.status
        );
        Ok(text)
    }

    /// The ClusterVersion of the cluster.
    pub fn cluster_version(&self) -> TestClusterVersion {
        self.cluster.cluster_version()
    }

    /// The status of ClusterVersion.
    pub async fn status(&self) -> Result<ClusterVersionStatus> {
        self.cluster_version().status().await
    }

    /// Waits until the status of ClusterVersion meets a condition. An error has the logs.
    pub async fn wait_until(
        &self,
        what: &str,
        condition: impl Fn(&ClusterVersionStatus) -> bool,
    ) -> Result<ClusterVersionStatus> {
        match self.cluster_version().wait_until(ROLLOUT_TIMEOUT, what, condition).await {
            Ok(status) => Ok(status),
            Err(error) => Err(error.context(self.logs().await)),
        }
    }

    /// Waits until the newest history entry is a version, and is completed.
    pub async fn wait_until_completed(&self, version: &str) -> Result<ClusterVersionStatus> {
        let what = format!("{version} to be completed");
        self.wait_until(&what, |status| has_completed(status, version)).await
    }

    /// Waits until a condition of ClusterVersion has this status and reason.
    pub async fn wait_until_condition(
        &self,
        type_: &str,
        status: &str,
        reason: &str,
    ) -> Result<ClusterVersionStatus> {
        self.wait_until(&format!("{type_}={status}/{reason}"), |found| {
            found.conditions.find(type_).is_some_and(|condition| {
                condition.status.to_string() == status
                    && condition.reason.as_deref().unwrap_or_default() == reason
            })
        })
        .await
    }

    /// Waits until a ClusterOperator has a condition with this status.
    pub async fn wait_until_operator(&self, name: &str, type_: &str, status: &str) -> Result<()> {
        let operators: Api<ClusterOperator> = Api::all(self.client());
        wait::until(&format!("{name} to report {type_}={status}"), || async {
            let found = operators.get_opt(name).await?.and_then(|operator| operator.status);
            let conditions = found.map(|found| found.conditions).unwrap_or_default();
            let found = conditions.find(type_).map(|condition| condition.status.to_string());
            Ok((found.as_deref() == Some(status)).then_some(()))
        })
        .await
    }

    /// Changes the behaviour of an example operator; `null` restores a default.
    pub async fn set_behaviour(&self, operator: &str, data: Value) -> Result<()> {
        let name = format!("{operator}-behaviour");
        self.patch_config_map((&format!("openshift-{operator}"), &name), data).await
    }

    /// Merges data into a ConfigMap.
    pub async fn patch_config_map(
        &self,
        (namespace, name): (&str, &str),
        data: Value,
    ) -> Result<()> {
        let patch = Patch::Merge(json!({ "data": data }));
        self.config_maps(namespace).patch(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// A ConfigMap, if it exists.
    pub async fn config_map(&self, namespace: &str, name: &str) -> Result<Option<ConfigMap>> {
        Ok(self.config_maps(namespace).get_opt(name).await?)
    }

    /// The `ConfigMap`s of a namespace.
    pub fn config_maps(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.client(), namespace)
    }

    /// The conditions of ClusterVersion, the phases of all pods, and the log of the operator.
    pub async fn logs(&self) -> String {
        let conditions = self.status().await.map(|status| status.conditions);
        let mut logs = vec![format!("{conditions:#?}")];
        let pods: Api<Pod> = Api::all(self.client());
        let found = pods.list(&ListParams::default()).await.map(|list| list.items);
        for pod in found.unwrap_or_default() {
            let phase = pod.status.as_ref().and_then(|status| status.phase.clone());
            let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
            logs.push(format!("pod {namespace}/{name} is {}", phase.unwrap_or_default()));
            if namespace == NAMESPACE {
                logs.push(self.cluster.logs(NAMESPACE, &name).await.unwrap_or_default());
            }
        }
        logs.join("\n")
    }
}

impl Drop for TestPlatform {
    fn drop(&mut self) {
        // The objects of a sandbox end with its process.
        if !self.cluster.is_sandbox() {
            self.cluster.clean_up(removal::remove);
        }
    }
}

/// The output of a process: stdout, then stderr.
pub fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}
