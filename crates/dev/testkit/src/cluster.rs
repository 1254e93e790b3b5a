//! Clusters for tests: [`TestCluster`].

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_example::Platform;
use fairway_registry::Image;
use fairway_registry::base::LayerCompression;
use fairway_registry::layout;
use fairway_registry::push::push;
use fairway_sandbox::sandbox::{Sandbox, SandboxOptions};
use fairway_testbed::cache::{Cache, take_turn};
use fairway_testbed::kube::build::VERSION;
use fairway_testbed::kube::{self as real, Cluster};
use fairway_testbed::state::State;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, DeleteParams, ListParams, LogParams, ObjectMeta, Patch, PatchParams, PostParams,
};
use kube::{Client, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;
use tempfile::TempDir;

use crate::access::{Access, install_tls_provider};
use crate::cluster_version::TestClusterVersion;
use crate::{AuditLog, TestNamespace, environment, images, skip, wait};

/// A cluster: a sandbox, a Kubernetes of the testbed, or the cluster of `KUBECONFIG`, as
/// `FAIRWAY_TEST_CLUSTER` says. Dropping it releases what the test holds of the cluster.
pub struct TestCluster {
    client: Client,
    access: Access,
    kubeconfig: PathBuf,
    audit_log: Option<PathBuf>,
    hold: Hold,
}

/// As long as all tests that take turns need together on a slow host.
const TURN_TIMEOUT: Duration = Duration::from_mins(10);

/// The directory with the OCI layouts of a sandbox, below its own.
const LAYOUTS: &str = "layouts";

/// Exclusive resources of a test.
enum Hold {
    /// A namespace at most: other tests use the cluster at the same time.
    Shared,
    /// ClusterVersion and the ClusterOperators, until the lock is dropped.
    Turn { _lock: File },
    /// A control plane.
    Own { cluster: Box<Cluster> },
    /// A cluster in this process. Its directory is dropped after it.
    Sandbox { sandbox: Box<Sandbox>, _directory: TempDir },
}

impl TestCluster {
    /// The cluster that all tests share, for a test that stays in its own
    /// [namespace](Self::namespace). In sandbox mode, every test has its own cluster.
    pub async fn shared() -> Result<Self> {
        if backend()? == Backend::Sandbox {
            return Self::sandbox().await;
        }
        let (kubeconfig, audit_log) = find()?;
        Self::connect(kubeconfig, audit_log, Hold::Shared).await
    }

    /// The shared cluster, for a test that needs ClusterVersion and the ClusterOperators for itself.
    /// Waits until no other test holds them, and deletes those that exist.
    pub async fn exclusive() -> Result<Self> {
        if backend()? == Backend::Sandbox {
            let cluster = Self::sandbox().await?;
            cluster.install_crds().await?;
            return Ok(cluster);
        }
        let (kubeconfig, audit_log) = find()?;
        // A lock for each cluster, because each has a ClusterVersion.
        let run_dir = kubeconfig.parent().and_then(Path::file_name).unwrap_or_default();
        let lock = format!("cluster-tests-{}", run_dir.display());
        let take_turn = move || take_turn(&Cache::from_env()?, &lock, TURN_TIMEOUT);
        let lock = tokio::task::spawn_blocking(take_turn).await??;
        let cluster = Self::connect(kubeconfig, audit_log, Hold::Turn { _lock: lock }).await?;
        cluster.reset().await?;
        Ok(cluster)
    }

    /// A new cluster for one test. It has no node unless it is a sandbox, starts in seconds, and ends
    /// with this value.
    pub async fn start() -> Result<Self> {
        match backend()? {
            Backend::Sandbox => Self::sandbox().await,
            Backend::Kube => Self::start_kubernetes().await,
            Backend::Kubeconfig => {
                bail!("the test needs its own cluster, and KUBECONFIG names an existing one")
            }
        }
    }

    /// A new Kubernetes control plane for one test, also in sandbox mode.
    pub async fn start_kubernetes() -> Result<Self> {
        let start = || Cluster::start(real::Options::control_plane());
        let cluster = tokio::task::spawn_blocking(start).await??;
        let (kubeconfig, log) = (cluster.kubeconfig().to_owned(), cluster.audit_log().to_owned());
        Self::connect(kubeconfig, Some(log), Hold::Own { cluster: Box::new(cluster) }).await
    }

    /// A sandbox with these nodes, also in the other modes.
    pub async fn start_sandbox(nodes: &[&str]) -> Result<Self> {
        let cluster = Self::sandbox_of(nodes).await?;
        cluster.install_crds().await?;
        Ok(cluster)
    }

    async fn sandbox() -> Result<Self> {
        Self::sandbox_of(&["node-1"]).await
    }

    /// A sandbox in this process; its client needs no network.
    async fn sandbox_of(nodes: &[&str]) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let mut options = SandboxOptions::new(directory.path());
        // Without the binary there is no node. Most tests need no pods; the others fail and name it.
        if let Ok(program) = environment::fairway_program() {
            let images = directory.path().join(LAYOUTS);
            let names = nodes.iter().map(ToString::to_string).collect();
            options = options.nodes(names, program, vec![images]);
        }
        let sandbox = Sandbox::start(options).await?;
        let access = Access::in_process(&sandbox);
        Ok(Self {
            client: access.client().await?,
            access,
            kubeconfig: sandbox.kubeconfig(),
            audit_log: Some(sandbox.audit_log().to_owned()),
            hold: Hold::Sandbox { sandbox: Box::new(sandbox), _directory: directory },
        })
    }

    async fn connect(kubeconfig: PathBuf, audit_log: Option<PathBuf>, hold: Hold) -> Result<Self> {
        let access = Access::Kubeconfig(kubeconfig.clone());
        Ok(Self { client: access.client().await?, access, kubeconfig, audit_log, hold })
    }

    /// The same cluster with a client that uses TLS, as clients outside of the process do.
    pub async fn over_tls(mut self) -> Result<Self> {
        self.access = Access::Kubeconfig(self.kubeconfig.clone());
        self.client = self.access.client().await?;
        Ok(self)
    }

    /// Whether it is a sandbox, whose pods share the network of this host.
    pub fn is_sandbox(&self) -> bool {
        matches!(self.hold, Hold::Sandbox { .. })
    }

    /// A client with all permissions.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A client that authenticates with a token.
    pub async fn client_with_token(&self, token: &str) -> Result<Client> {
        Access::with_token(&self.kubeconfig, token).await
    }

    /// A client with all permissions and its own `User-Agent`, by which the audit log distinguishes
    /// its requests from those of other tests.
    pub async fn client_named(&self, user_agent: &str) -> Result<Client> {
        Access::with_user_agent(&self.kubeconfig, user_agent).await
    }

    /// A client with all permissions, its own `User-Agent`, and a read timeout as that of long-running
    /// commands, but shorter.
    pub async fn client_with_read_timeout(
        &self,
        user_agent: &str,
        timeout: Duration,
    ) -> Result<Client> {
        Access::with_read_timeout(&self.kubeconfig, user_agent, timeout).await
    }

    /// The kubeconfig for other processes.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// `kubectl` for this cluster. A sandbox runs in the runtime of its test, which needs several
    /// threads if one of them waits for the command.
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new("kubectl");
        command.env("KUBECONFIG", &self.kubeconfig);
        // Ports are reused: the discovery cache of one cluster must not serve the next.
        if backend().is_ok_and(|backend| backend != Backend::Kubeconfig) {
            command.arg("--cache-dir").arg(self.kubeconfig.with_file_name("kubectl-cache"));
        }
        command
    }

    /// The audit log of the API server. The cluster of `KUBECONFIG` has none.
    pub fn audit_log(&self) -> Result<AuditLog> {
        let path = self.audit_log.clone().context("this cluster has no audit log")?;
        Ok(AuditLog::new(path))
    }

    /// The sandbox, for a test that injects faults. On another API server, reports the test as
    /// skipped.
    pub fn fault_injection(&self) -> Option<&Sandbox> {
        let sandbox = self.as_sandbox();
        if sandbox.is_none() {
            skip::not_on_this_server("only the sandbox supports fault injection");
        }
        sandbox
    }

    /// The sandbox, if the cluster is one.
    pub fn as_sandbox(&self) -> Option<&Sandbox> {
        match &self.hold {
            Hold::Sandbox { sandbox, .. } => Some(sandbox),
            _ => None,
        }
    }

    /// The control plane of this test, if it has one for itself.
    pub fn own_control_plane(&mut self) -> Option<&mut Cluster> {
        match &mut self.hold {
            Hold::Own { cluster } => Some(cluster),
            _ => None,
        }
    }

    /// Whether the cluster can run pods.
    pub async fn has_node(&self) -> Result<bool> {
        let nodes = Api::<Node>::all(self.client()).list(&ListParams::default().limit(1)).await?;
        Ok(!nodes.items.is_empty())
    }

    /// A resourceVersion that the cluster has compacted.
    pub async fn compacted_version(&self) -> Result<String> {
        if let Hold::Sandbox { sandbox, .. } = &self.hold {
            let version = sandbox.api().store().revision();
            self.namespace("compacted").await?;
            sandbox.restart();
            return Ok(version.to_string());
        }
        // etcd of the testbed compacts after minutes, and the server started earlier than that.
        Ok("1".to_owned())
    }

    /// A namespace for one test, with `name` as a prefix. It is deleted with the value.
    pub async fn namespace(&self, name: &str) -> Result<TestNamespace> {
        TestNamespace::create(self.client(), self.access.clone(), name).await
    }

    /// Publishes an image with `sh`, `cat`, `sleep` and further binaries of this host. Returns its
    /// pull spec.
    pub async fn shell_image(&self, programs: &[&str]) -> Result<String> {
        let image = images::shell_image(programs)?;
        let name = if programs.is_empty() { "shell" } else { "shell-and-more" };
        if let Hold::Sandbox { sandbox, .. } = &self.hold {
            environment::fairway_program().context("the sandbox has no node")?;
            layout::write(&sandbox.directory().join(LAYOUTS).join(name), &image, "test")?;
            return Ok(format!("localhost/{name}@{}", image.digest()));
        }
        self.publish(&image, name, "test").await
    }

    /// The registry from which nodes pull.
    pub fn registry(&self) -> Result<String> {
        match &self.hold {
            Hold::Sandbox { sandbox, .. } => Ok(sandbox.registry().to_string()),
            _ => environment::registry(),
        }
    }

    /// Publishes an image in the registry. Returns its pull spec by digest.
    pub async fn publish(&self, image: &Image, name: &str, tag: &str) -> Result<String> {
        let repository = format!("{}/{name}", self.registry()?);
        if let Hold::Sandbox { sandbox, .. } = &self.hold {
            layout::write(&sandbox.directory().join(LAYOUTS).join(name), image, tag)?;
            return Ok(format!("{repository}@{}", image.digest()));
        }
        install_tls_provider();
        push(image, &format!("{repository}:{tag}")).await.context("cannot push the test's image")
    }

    /// Publishes the releases of the example platform, built from the binary under test. `own` has the
    /// manifests of the operator, by path in a release image.
    pub async fn example_platform(&self, own: &BTreeMap<String, String>) -> Result<Platform> {
        let program = environment::fairway_program()?;
        let repository = format!("{}/platform", self.registry()?);
        let kubernetes = if self.is_sandbox() { fairway_sandbox::KUBERNETES } else { VERSION };
        // Not compressed: that takes longer than the copy to a registry on this host, which has the
        // layer already for every test but the first.
        let packing = LayerCompression::Plain;
        let platform = Platform::make(&program, &repository, packing, own, Some(kubernetes))?;
        if let Hold::Sandbox { sandbox, .. } = &self.hold {
            platform.write_images(&sandbox.directory().join(LAYOUTS).join("platform"))?;
            return Ok(platform);
        }
        install_tls_provider();
        platform.push().await.context("cannot push the platform")?;
        Ok(platform)
    }

    /// The ClusterVersion of the cluster.
    pub fn cluster_version(&self) -> TestClusterVersion {
        TestClusterVersion::new(self.client())
    }

    /// Polls until `poll` returns a value.
    pub async fn wait_until<T, F>(&self, what: &str, poll: impl Fn(Client) -> F) -> Result<T>
    where
        F: Future<Output = Result<Option<T>>>,
    {
        wait::until(what, || poll(self.client())).await
    }

    /// The end of the log of a pod.
    pub async fn logs(&self, namespace: &str, pod: &str) -> Result<String> {
        let pods: Api<Pod> = Api::namespaced(self.client(), namespace);
        let tail = LogParams { tail_lines: Some(40), ..LogParams::default() };
        Ok(pods.logs(pod, &tail).await?)
    }

    /// Runs cleanup from a destructor.
    pub fn clean_up<F>(&self, work: impl FnOnce(Client) -> F + Send + 'static)
    where
        F: Future<Output = Result<()>> + Send,
    {
        let access = self.access.clone();
        block_on_in_thread(async move { work(access.client().await?).await });
    }

    /// Installs the CRDs of the update API and waits until they are established.
    ///
    /// By create and replace, not by server-side apply: old API servers refuse to apply schema fields
    /// that they do not know, and drop them silently otherwise.
    pub async fn install_crds(&self) -> Result<()> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client());
        for crd in fairway_api::crds::all() {
            let name = crd.name_any();
            wait::until(&format!("{name} to be installed"), || install_once(&api, &crd)).await?;
            wait::until(&format!("{name} to be established"), || is_established(&api, &name))
                .await?;
        }
        Ok(())
    }

    /// Deletes ClusterVersion and the ClusterOperators.
    async fn reset(&self) -> Result<()> {
        self.install_crds().await?;
        remove_all::<ClusterVersion>(&Api::all(self.client())).await?;
        remove_all::<ClusterOperator>(&Api::all(self.client())).await
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        if matches!(self.hold, Hold::Turn { .. }) {
            let kubeconfig = self.kubeconfig.clone();
            block_on_in_thread(async move {
                Self::connect(kubeconfig, None, Hold::Shared).await?.reset().await
            });
        }
    }
}

/// The value of `FAIRWAY_TEST_CLUSTER`.
#[derive(PartialEq)]
enum Backend {
    /// A sandbox in this process.
    Sandbox,
    /// A Kubernetes of the testbed.
    Kube,
    /// The cluster of `KUBECONFIG`. Never the default, because tests delete objects there.
    Kubeconfig,
}

fn backend() -> Result<Backend> {
    match std::env::var(environment::CLUSTER).as_deref() {
        Err(_) | Ok("sandbox") => Ok(Backend::Sandbox),
        Ok("kube") => Ok(Backend::Kube),
        Ok("kubeconfig") => Ok(Backend::Kubeconfig),
        Ok(other) => {
            bail!("{}={other}: expected `sandbox`, `kube` or `kubeconfig`", environment::CLUSTER)
        }
    }
}

/// The shared cluster's kubeconfig and audit log.
fn find() -> Result<(PathBuf, Option<PathBuf>)> {
    let files = |run: &Path| (real::kubeconfig_in(run), Some(real::audit_log_in(run)));
    if backend()? == Backend::Kubeconfig {
        let named = PathBuf::from(std::env::var_os("KUBECONFIG").unwrap_or_default());
        ensure!(named.is_file(), "KUBECONFIG must name one file, not {:?}", named.display());
        return Ok((named, None));
    }
    if let Some(directory) = environment::kube_directory() {
        return Ok(files(&directory));
    }
    let running = State::read(&Cache::from_env()?, real::KIND)?.filter(State::is_whole);
    let kubeconfig = running.and_then(|state| state.kubeconfig).context(
        "no Kubernetes is running: start one with `cargo xtask kube up`, or run `cargo xtask test`",
    )?;
    Ok(files(kubeconfig.parent().unwrap_or(Path::new("/"))))
}

/// Runs cleanup from a destructor, where the runtime of the test may be blocked or shut down. A failure
/// is printed: the test has ended, and the next one deletes what is left.
#[expect(clippy::print_stderr, reason = "a destructor cannot return an error")]
pub(crate) fn block_on_in_thread(work: impl Future<Output = Result<()>> + Send + 'static) {
    let cleaning = std::thread::spawn(move || -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(work)
    });
    match cleaning.join() {
        Ok(Ok(())) => {}
        Ok(Err(error)) => eprintln!("cannot clean up after the test: {error:#}"),
        Err(_) => eprintln!("cleaning up after the test panicked"),
    }
}

/// Creates or replaces a CRD. Returns `None` on a conflict with another client.
async fn install_once(
    api: &Api<CustomResourceDefinition>,
    crd: &CustomResourceDefinition,
) -> Result<Option<()>> {
    let written = match api.get_opt(&crd.name_any()).await? {
        None => api.create(&PostParams::default(), crd).await,
        Some(before) => {
            let metadata =
                ObjectMeta { resource_version: before.resource_version(), ..crd.metadata.clone() };
            let crd = CustomResourceDefinition { metadata, ..crd.clone() };
            api.replace(&crd.name_any(), &PostParams::default(), &crd).await
        }
    };
    match written {
        Ok(_) => Ok(Some(())),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn is_established(api: &Api<CustomResourceDefinition>, name: &str) -> Result<Option<()>> {
    let conditions = api.get(name).await?.status.and_then(|status| status.conditions);
    let established = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Established" && condition.status == "True");
    Ok(established.then_some(()))
}

async fn remove_all<K>(api: &Api<K>) -> Result<()>
where
    K: kube::Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    for object in api.list(&ListParams::default()).await? {
        let name = object.name_any();
        if !object.finalizers().is_empty() {
            let without = json!({ "metadata": { "finalizers": null } });
            api.patch(&name, &PatchParams::default(), &Patch::Merge(without)).await?;
        }
        match api.delete(&name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(error).with_context(|| format!("cannot remove {name}")),
        }
    }
    Ok(())
}
