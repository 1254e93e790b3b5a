//! Resource usage of the sandbox, beside a real API server in the same run: start, throughput, and
//! memory with ten thousand objects.
//!
//! The same client queries both, over TLS on loopback.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fairway_testbed::kube::{Cluster, Options};
use fairway_testbed::process::resident_bytes;
use fairway_testbed::wait::{Stopwatch, until};
use fairway_testbed::{install_packages, is_root};
use fairway_testkit::measure::{Figure, Table};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// As many as a large platform has of its most frequent kind.
const OBJECTS: usize = 10_000;
/// Size of a typical ConfigMap.
const CONTENT: usize = 1024;
/// Concurrent requests, more than either server has cores.
const PARALLEL: usize = 16;
const POST: PostParams = PostParams { dry_run: false, field_manager: None };
/// Enough for a stable median of short durations.
const STARTS: usize = 11;
/// A sandbox that takes longer has failed.
const START_TIMEOUT: Duration = Duration::from_secs(20);

fn main() -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let real = if is_root() { Some(start_real()?) } else { None };
    let table = Table::new("the sandbox", "Kubernetes");
    let starts: Vec<Duration> =
        (0..STARTS).map(|_| start_sandbox().map(|sandbox| sandbox.took)).collect::<Result<_>>()?;
    table.row("start", Figure::median(starts), real.as_ref().map(|real| Figure::Time(real.took)));

    let sandbox = start_sandbox()?;
    let ours = runtime.block_on(load(&sandbox.kubeconfig()))?;
    let our_memory = resident_bytes(sandbox.child.id())?;
    let theirs = real.as_ref().map(|real| runtime.block_on(load(real.cluster.kubeconfig())));
    let theirs = theirs.transpose()?;
    for (index, (name, figure)) in ours.iter().enumerate() {
        table.row(name, *figure, theirs.as_ref().map(|theirs| theirs[index].1));
    }
    let their_memory = real.as_ref().map(|real| real.cluster.resident_bytes()).transpose()?;
    table.row(
        "memory with 10,000 objects",
        Figure::Bytes(our_memory),
        their_memory.map(Figure::Bytes),
    );
    println!("(Kubernetes: kube-apiserver and etcd; their memory is that of both)");
    Ok(())
}

/// A sandbox process. Dropping it kills the process.
struct Sandbox {
    child: Child,
    directory: tempfile::TempDir,
    took: Duration,
}

impl Sandbox {
    fn kubeconfig(&self) -> std::path::PathBuf {
        self.directory.path().join("kubeconfig")
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // A destructor cannot report that the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a sandbox and waits until it is ready.
fn start_sandbox() -> Result<Sandbox> {
    let directory = tempfile::tempdir()?;
    let watch = Stopwatch::start();
    let child = Command::new(env!("CARGO_BIN_EXE_fairway"))
        .args(["sandbox", "--quiet", "--no-platform", "--dir"])
        .arg(directory.path())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot start the sandbox")?;
    let mut sandbox = Sandbox { child, directory, took: Duration::ZERO };
    let kubeconfig = sandbox.kubeconfig();
    until("the sandbox to be ready", START_TIMEOUT, || {
        ensure!(sandbox.child.try_wait()?.is_none(), "the sandbox has ended");
        Ok(kubeconfig.exists().then_some(()))
    })?;
    sandbox.took = watch.elapsed();
    Ok(sandbox)
}

/// A real control plane, and the duration of its start.
struct Real {
    cluster: Cluster,
    took: Duration,
}

fn start_real() -> Result<Real> {
    install_packages(&|_| {})?;
    let watch = Stopwatch::start();
    let cluster = Cluster::start(Options::control_plane())?;
    Ok(Real { cluster, took: watch.elapsed() })
}

/// Creates, reads, lists, watches and updates objects.
async fn load(kubeconfig: &Path) -> Result<Vec<(&'static str, Figure)>> {
    let config_maps: Api<ConfigMap> = Api::namespaced(client(kubeconfig).await?, "default");
    let create = each(async |number| config_maps.create(&POST, &config_map(number, "1")).await);
    let create = per_second(create).await?;
    let get = per_second(each(async |number| config_maps.get(&name(number)).await)).await?;
    Ok(vec![
        ("create", create),
        ("get", get),
        ("list in pages of 500", per_second(list(&config_maps)).await?),
        ("watch what is there", per_second(watch(&config_maps)).await?),
        ("update, and watch it", per_second(update_and_watch(&config_maps)).await?),
    ])
}

async fn list(config_maps: &Api<ConfigMap>) -> Result<()> {
    let mut params = ListParams::default().limit(500);
    let mut seen = 0;
    loop {
        let page = config_maps.list(&params).await?;
        seen += page.items.len();
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    ensure!(seen >= OBJECTS, "the pages of the list held {seen} objects");
    Ok(())
}

async fn watch(config_maps: &Api<ConfigMap>) -> Result<()> {
    let events = config_maps.watch(&WatchParams::default(), "0").await?;
    until_all(events, |event| matches!(event, WatchEvent::Added(_))).await
}

async fn update_and_watch(config_maps: &Api<ConfigMap>) -> Result<()> {
    let newest = config_maps.list(&ListParams::default().limit(1)).await?.metadata.resource_version;
    let events = config_maps.watch(&WatchParams::default(), &newest.unwrap_or_default()).await?;
    let seen = until_all(events, |event| matches!(event, WatchEvent::Modified(_)));
    let written = each(async |number| {
        config_maps.replace(&name(number), &POST, &config_map(number, "2")).await
    });
    tokio::try_join!(seen, written).map(drop)
}

/// Waits for an event of each object.
async fn until_all<E>(events: E, wanted: fn(&WatchEvent<ConfigMap>) -> bool) -> Result<()>
where
    E: Stream<Item = kube::Result<WatchEvent<ConfigMap>>>,
{
    let events = events.try_filter(|event| std::future::ready(wanted(event))).take(OBJECTS);
    let seen = events.try_fold(0, |count, _| std::future::ready(Ok(count + 1))).await?;
    ensure!(seen == OBJECTS, "the watch ended after {seen} events");
    Ok(())
}

/// Sends a request for every object.
async fn each(work: impl AsyncFn(usize) -> kube::Result<ConfigMap>) -> Result<()> {
    let work = &work;
    let done =
        stream::iter(0..OBJECTS).map(async |number| work(number).await).buffer_unordered(PARALLEL);
    Ok(done.try_for_each(|_| std::future::ready(Ok(()))).await?)
}

/// The number of objects per second of work on all objects.
async fn per_second(work: impl Future<Output = Result<()>>) -> Result<Figure> {
    let watch = Stopwatch::start();
    work.await?;
    Ok(Figure::per_second(OBJECTS, watch.elapsed()))
}

fn name(number: usize) -> String {
    format!("bench-{number:05}")
}

fn config_map(number: usize, round: &str) -> ConfigMap {
    let content = [("content", "x".repeat(CONTENT)), ("round", round.to_owned())];
    let data = content.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    ConfigMap {
        metadata: ObjectMeta { name: Some(name(number)), ..ObjectMeta::default() },
        data: Some(data),
        ..ConfigMap::default()
    }
}

async fn client(kubeconfig: &Path) -> Result<Client> {
    // An error means that it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let read = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
