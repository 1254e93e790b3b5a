//! The example platform on a cluster, for one test.

mod drift;
mod refusals;
mod removal;
mod story;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fairway_api::cluster_version::{ClusterVersionStatus, UpdateState};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion, Conditions as _};
use fairway_example::images::{GRAPH_DATA, RELEASES_FILE, SIGNATURES};
use fairway_example::{Platform, for_the_sandbox};
use fairway_operator::manifests::own_manifests;
use fairway_testkit::{TestCluster, wait};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, LogParams, Patch, PatchParams};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// The program under test.
const FAIRWAY: &str = env!("CARGO_BIN_EXE_fairway");

/// Where the operator is.
pub(crate) const NAMESPACE: &str = "openshift-cluster-version";

/// An update replaces pods one after the other, and a busy machine takes its time for each.
const UPDATE: Duration = Duration::from_mins(4);

/// A platform, and an update service that knows its releases.
pub(crate) struct TestPlatform {
    pub(crate) cluster: TestCluster,
    pub(crate) releases: Platform,
    service: UpdateService,
    files: TempDir,
}

impl TestPlatform {
    /// A cluster without anything, releases that it can pull, and an update service.
    pub(crate) async fn prepare() -> Result<Self> {
        let cluster = TestCluster::in_turn().await?.over_tls().await?;
        removal::remove(cluster.client()).await?;
        let own = if cluster.is_sandbox() {
            for_the_sandbox(own_manifests(), free_address()?.port())?
        } else {
            own_manifests()
        };
        let releases = cluster.example_platform(&own).await?;
        let files = tempfile::tempdir()?;
        releases.write_data(files.path())?;
        let service = UpdateService::start(files.path()).await?;
        Ok(Self { cluster, releases, service, files })
    }

    /// The same with a release installed.
    pub(crate) async fn install(version: &str, channel: &str) -> Result<Self> {
        let platform = Self::prepare().await?;
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
    pub(crate) fn image(&self, version: &str) -> Result<String> {
        Ok(self.releases.release(version).context("no such release")?.reference.clone())
    }

    /// Lets the update service lose the signature of a release.
    pub(crate) fn lose_signature(&self, version: &str) -> Result<()> {
        let image = self.image(version)?;
        let (_, digest) = image.rsplit_once("@sha256:").context("no digest")?;
        let of_image = self.files.path().join(SIGNATURES).join(format!("sha256={digest}"));
        fs::remove_dir_all(of_image).context("there was no signature")
    }

    /// Runs the program about this cluster.
    pub(crate) async fn fairway(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(FAIRWAY);
        command.args(arguments).env("KUBECONFIG", self.cluster.kubeconfig()).env("NO_COLOR", "1");
        command.output().await.context("cannot start the program")
    }

    /// Asks for an update, and expects it to be taken.
    pub(crate) async fn update(&self, arguments: &[&str]) -> Result<()> {
        let output = self.fairway(&[&["upgrade"], arguments].concat()).await?;
        ensure!(output.status.success(), "{}", text(&output));
        Ok(())
    }

    pub(crate) fn cluster_versions(&self) -> Api<ClusterVersion> {
        Api::all(self.cluster.client())
    }

    pub(crate) async fn status(&self) -> Result<ClusterVersionStatus> {
        let found = self.cluster_versions().get(CLUSTER_VERSION_NAME).await?;
        Ok(found.status.unwrap_or_default())
    }

    /// Waits until ClusterVersion says something; what goes on in the cluster is told if it never
    /// does.
    pub(crate) async fn until(
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
    pub(crate) async fn until_completed(&self, version: &str) -> Result<ClusterVersionStatus> {
        self.until(&format!("{version} to be completed"), |status| {
            status.history.first().is_some_and(|entry| {
                entry.version.as_deref() == Some(version) && entry.state == UpdateState::Completed
            })
        })
        .await
    }

    /// Waits until a condition has that status and reason.
    pub(crate) async fn until_condition(
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
    pub(crate) async fn tell(&self, operator: &str, data: Value) -> Result<()> {
        let maps = self.config_maps(&format!("openshift-{operator}"));
        let patch = Patch::Merge(json!({ "data": data }));
        maps.patch(&format!("{operator}-behaviour"), &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// A ConfigMap of the platform, if it is there.
    pub(crate) async fn config_map(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<ConfigMap>> {
        Ok(self.config_maps(namespace).get_opt(name).await?)
    }

    pub(crate) fn config_maps(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.cluster.client(), namespace)
    }

    /// Waits until a cluster operator has a condition.
    pub(crate) async fn until_operator(&self, name: &str, type_: &str, status: &str) -> Result<()> {
        let operators: Api<ClusterOperator> = Api::all(self.cluster.client());
        wait::until(&format!("{name} to say {type_}={status}"), || async {
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
pub(crate) fn text(output: &Output) -> String {
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    said.concat()
}

/// An address that nobody listens on at this moment.
fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// The program as an update service.
struct UpdateService {
    _child: Child,
    url: String,
}

impl UpdateService {
    /// Starts it, and waits until it has something to say: a cluster that asks too early asks again
    /// minutes later.
    async fn start(files: &Path) -> Result<Self> {
        // Clusters ask it from pods on this machine's network.
        let address = free_address()?;
        let child = Command::new(FAIRWAY)
            .args(["update-service", "--quiet", "--drain=0s"])
            .arg(format!("--address={address}"))
            .arg(format!("--graph-data={}", files.join(GRAPH_DATA).display()))
            .arg(format!("--releases={}", files.join(RELEASES_FILE).display()))
            .arg(format!("--signatures={}", files.join(SIGNATURES).display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        wait::until("the update service to be ready", || async {
            Ok(is_ready(address).await.unwrap_or_default().then_some(()))
        })
        .await?;
        Ok(Self { _child: child, url: format!("http://{address}/api/upgrades_info") })
    }
}

async fn is_ready(service: SocketAddr) -> Result<bool> {
    let mut stream = TcpStream::connect(service).await?;
    stream.write_all(b"GET /readyz HTTP/1.0\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.contains(" 200 "))
}
