//! The example platform on a cluster, for one test.

mod removal;
mod service;

use std::collections::BTreeMap;
use std::fs;
use std::process::Output;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fairway_api::cluster_version::{ClusterVersionStatus, UpdateState};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion, Conditions as _};
use fairway_example::images::SIGNATURES;
use fairway_example::{Platform, for_the_sandbox, with_checks_on_the_host};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, LogParams, Patch, PatchParams};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::{TestCluster, environment, wait};
use service::{UpdateService, free_address};

/// Where the operator is.
pub const NAMESPACE: &str = "openshift-cluster-version";

/// An update replaces pods one after the other, and a busy machine takes its time for each.
const UPDATE: Duration = Duration::from_mins(4);

/// A platform, and an update service that knows its releases.
pub struct TestPlatform {
    /// Where it is.
    pub cluster: TestCluster,
    /// What it can be updated to.
    pub releases: Platform,
    service: UpdateService,
    files: TempDir,
}

impl TestPlatform {
    /// A cluster without anything, releases that it can pull, and an update service. `own` has the
    /// manifests of the operator that applies releases.
    pub async fn prepare(own: BTreeMap<String, String>) -> Result<Self> {
        Self::prepare_on(TestCluster::in_turn().await?, own).await
    }

    /// The same on that cluster.
    pub async fn prepare_on(cluster: TestCluster, own: BTreeMap<String, String>) -> Result<Self> {
        let cluster = cluster.over_tls().await?;
        removal::remove(cluster.client()).await?;
        let own = if cluster.is_sandbox() {
            for_the_sandbox(own, free_address()?.port())?
        } else {
            with_checks_on_the_host(own)?
        };
        let releases = cluster.example_platform(&own).await?;
        let files = tempfile::tempdir()?;
        releases.write_data(files.path())?;
        let service = UpdateService::start(files.path()).await?;
        Ok(Self { cluster, releases, service, files })
    }

    /// The same with a release installed.
    pub async fn install(
        own: BTreeMap<String, String>,
        version: &str,
        channel: &str,
    ) -> Result<Self> {
        Self::prepare(own).await?.with(version, channel).await
    }

    /// Installs a release.
    pub async fn with(self, version: &str, channel: &str) -> Result<Self> {
        let platform = self;
        let output = platform
            .fairway(&[
                "install",
                &format!("--release-image={}", platform.image(version)?),
                &format!("--channel={channel}"),
                &format!("--upstream={}/graph", platform.service.url),
                &format!("--signature-store={}/signatures", platform.service.url),
                "--no-wait",
            ])
            .await?;
        ensure!(output.status.success(), "{}", text(&output));
        platform.until_completed(version).await?;
        Ok(platform)
    }

    /// How the image of a release is pulled.
    pub fn image(&self, version: &str) -> Result<String> {
        Ok(self.releases.release(version).context("no such release")?.reference.clone())
    }

    /// Lets the update service lose the signature of a release.
    pub fn lose_signature(&self, version: &str) -> Result<()> {
        let image = self.image(version)?;
        let (_, digest) = image.rsplit_once("@sha256:").context("no digest")?;
        let of_image = self.files.path().join(SIGNATURES).join(format!("sha256={digest}"));
        fs::remove_dir_all(of_image).context("no signature found")
    }

    /// Where the update service answers.
    pub fn update_service(&self) -> &str {
        &self.service.url
    }

    /// Runs the program about this cluster.
    pub async fn fairway(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(environment::fairway_program()?);
        command.args(arguments).env("KUBECONFIG", self.cluster.kubeconfig()).env("NO_COLOR", "1");
        command.output().await.context("cannot start the binary")
    }

    /// Asks for an update, and expects it to be taken.
    pub async fn update(&self, arguments: &[&str]) -> Result<()> {
        let output = self.fairway(&[&["upgrade"], arguments].concat()).await?;
        ensure!(output.status.success(), "{}", text(&output));
        Ok(())
    }

    /// The API of ClusterVersion.
    pub fn cluster_versions(&self) -> Api<ClusterVersion> {
        Api::all(self.cluster.client())
    }

    /// What ClusterVersion says.
    pub async fn status(&self) -> Result<ClusterVersionStatus> {
        let found = self.cluster_versions().get(CLUSTER_VERSION_NAME).await?;
        Ok(found.status.unwrap_or_default())
    }

    /// Waits until ClusterVersion says something; what goes on in the cluster is told if it never
    /// does.
    pub async fn until(
        &self,
        what: &str,
        says: impl Fn(&ClusterVersionStatus) -> bool,
    ) -> Result<ClusterVersionStatus> {
        let said = wait::until_within(UPDATE, what, || async {
            // The operator may bring the definition while it is asked for.
            let status = self.status().await.ok();
            Ok(status.filter(&says))
        });
        match said.await {
            Ok(status) => Ok(status),
            Err(error) => Err(error.context(self.tale().await)),
        }
    }

    /// Waits until the newest entry of the history is that version, and completed.
    pub async fn until_completed(&self, version: &str) -> Result<ClusterVersionStatus> {
        self.until(&format!("{version} to be completed"), |status| {
            status.history.first().is_some_and(|entry| {
                entry.version.as_deref() == Some(version) && entry.state == UpdateState::Completed
            })
        })
        .await
    }

    /// Waits until a condition has that status and reason.
    pub async fn until_condition(
        &self,
        type_: &str,
        status: &str,
        reason: &str,
    ) -> Result<ClusterVersionStatus> {
        self.until(&format!("{type_}={status}/{reason}"), |found| {
            found.conditions.find(type_).is_some_and(|condition| {
                condition.status.to_string() == status
                    && condition.reason.as_deref().unwrap_or_default() == reason
            })
        })
        .await
    }

    /// Tells an operator of the platform how to behave; `null` takes a word back.
    pub async fn tell(&self, operator: &str, data: Value) -> Result<()> {
        let maps = self.config_maps(&format!("openshift-{operator}"));
        let patch = Patch::Merge(json!({ "data": data }));
        maps.patch(&format!("{operator}-behaviour"), &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// A ConfigMap of the platform, if it is there.
    pub async fn config_map(&self, namespace: &str, name: &str) -> Result<Option<ConfigMap>> {
        Ok(self.config_maps(namespace).get_opt(name).await?)
    }

    /// Those of a namespace.
    pub fn config_maps(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.cluster.client(), namespace)
    }

    /// Waits until a cluster operator has a condition.
    pub async fn until_operator(&self, name: &str, type_: &str, status: &str) -> Result<()> {
        let operators: Api<ClusterOperator> = Api::all(self.cluster.client());
        wait::until(&format!("{name} to report {type_}={status}"), || async {
            let found = operators.get_opt(name).await?.and_then(|operator| operator.status);
            let conditions = found.map(|found| found.conditions).unwrap_or_default();
            let said = conditions.find(type_).map(|condition| condition.status.to_string());
            Ok((said.as_deref() == Some(status)).then_some(()))
        })
        .await
    }

    /// What goes on, for a test that fails.
    async fn tale(&self) -> String {
        let mut tale = vec![format!("{:#?}", self.status().await.map(|status| status.conditions))];
        let pods: Api<Pod> = Api::all(self.cluster.client());
        let found = pods.list(&ListParams::default()).await.map(|list| list.items);
        for pod in found.unwrap_or_default() {
            let phase = pod.status.as_ref().and_then(|status| status.phase.clone());
            let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
            tale.push(format!("pod {namespace}/{name} is {}", phase.unwrap_or_default()));
            if namespace == NAMESPACE {
                let pods: Api<Pod> = Api::namespaced(self.cluster.client(), NAMESPACE);
                let tail = LogParams { tail_lines: Some(40), ..LogParams::default() };
                tale.push(pods.logs(&name, &tail).await.unwrap_or_default());
            }
        }
        tale.join("\n")
    }
}

impl Drop for TestPlatform {
    fn drop(&mut self) {
        // A sandbox goes as a whole.
        if !self.cluster.is_sandbox() {
            self.cluster.clean_up(removal::remove);
        }
    }
}

/// What a program printed.
pub fn text(output: &Output) -> String {
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    said.concat()
}
