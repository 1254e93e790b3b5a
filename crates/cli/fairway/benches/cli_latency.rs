//! Duration of `fairway upgrade`, from the start of the process to its end, beside a bare client that
//! gets only ClusterVersion, on a cluster with as many components as OpenShift has.
//!
//! Both use TLS and start without a connection. The second measurement adds a round trip of 100 ms,
//! which shows requests that wait for each other.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion};
use fairway_testkit::measure::{Figure, Table};
use fairway_testkit::testbed::wait::Stopwatch;
use fairway_testkit::{TestCluster, objects};
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt as _};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep_until};

/// As many as OpenShift has.
const COMPONENTS: usize = 33;

/// Delay of each direction to a server on another continent.
const ONE_WAY_DELAY: Duration = Duration::from_millis(50);

/// Enough for a stable median.
const ROUNDS: usize = 21;

/// Maximum duration beyond that of the bare client.
const MAX_OVERHEAD: Duration = Duration::from_millis(50);

const POST: PostParams = PostParams { dry_run: false, field_manager: None };

fn main() -> Result<()> {
    // An error means that it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    tokio::runtime::Runtime::new()?.block_on(bench())
}

async fn bench() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    fill(&cluster).await?;
    println!("\nFrom typing a command to its answer, with {COMPONENTS} components");
    let table = Table::new("fairway", "bare GET");
    let near = cluster.kubeconfig().to_owned();
    let directory = tempfile::tempdir()?;
    let far = directory.path().join("kubeconfig");
    start_slow_proxy(&near, &far).await?;
    for (place, kubeconfig) in [("near", &near), ("100 ms away", &far)] {
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(run(kubeconfig, &["upgrade"])?);
            bare.push(get(kubeconfig).await?);
        }
        let (ours, bare) = (Figure::median(ours), Figure::median(bare));
        table.row(&format!("fairway upgrade, {place}"), ours, Some(bare));
        if let (Figure::Time(ours), Figure::Time(bare)) = (ours, bare) {
            let more = ours.saturating_sub(bare);
            println!("  ({} ms more, of {} ms)", more.as_millis(), MAX_OVERHEAD.as_millis());
        }
    }
    let nothing = (0..ROUNDS).map(|_| run(&near, &["--version"])).collect::<Result<_>>()?;
    table.row("fairway --version", Figure::median(nothing), None);
    Ok(())
}

/// Creates a ClusterVersion with available updates, and the components.
async fn fill(cluster: &TestCluster) -> Result<()> {
    let versions: Api<ClusterVersion> = Api::all(cluster.client());
    let mut version = versions.create(&POST, &objects::cluster_version()).await?;
    let mut status = objects::status_at("5.1.0");
    status.available_updates =
        Some((1..20).map(|z| objects::release(&format!("5.1.{z}"))).collect());
    version.status = Some(status);
    versions.replace_status(CLUSTER_VERSION_NAME, &POST, &version).await?;
    let components: Api<ClusterOperator> = Api::all(cluster.client());
    for number in 0..COMPONENTS {
        let component = objects::cluster_operator(&format!("component-{number}"));
        let mut component = components.create(&POST, &component).await?;
        component.status = Some(objects::working_at("5.1.0"));
        components.replace_status(&component.name_any(), &POST, &component).await?;
    }
    Ok(())
}

/// The duration of a command.
fn run(kubeconfig: &Path, arguments: &[&str]) -> Result<Duration> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairway"));
    command.args(arguments).env("KUBECONFIG", kubeconfig).stdin(Stdio::null());
    let watch = Stopwatch::start();
    // Other threads of this runtime serve the sandbox.
    let output = tokio::task::block_in_place(|| command.output())?;
    let took = watch.elapsed();
    ensure!(!output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(took)
}

/// The duration of a GET with a new client.
async fn get(kubeconfig: &Path) -> Result<Duration> {
    let watch = Stopwatch::start();
    let read = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
    let versions: Api<ClusterVersion> = Api::all(Client::try_from(config)?);
    versions.get(CLUSTER_VERSION_NAME).await?;
    Ok(watch.elapsed())
}

/// Starts a proxy that adds the delay, and writes a kubeconfig for it.
async fn start_slow_proxy(near: &Path, far: &Path) -> Result<()> {
    let text = std::fs::read_to_string(near)?;
    let server = text.split("server: https://").nth(1).and_then(|rest| rest.lines().next());
    let server = server.context("the kubeconfig names a server")?.to_owned();
    let address: SocketAddr = server.parse()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    std::fs::write(far, text.replace(&server, &listener.local_addr()?.to_string()))?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(forward(stream, address));
        }
    });
    Ok(())
}

async fn forward(stream: TcpStream, server: SocketAddr) -> std::io::Result<()> {
    let (from_client, to_client) = stream.into_split();
    let (from_server, to_server) = TcpStream::connect(server).await?.into_split();
    let directions = (delay(from_client, to_server), delay(from_server, to_client));
    tokio::try_join!(directions.0, directions.1).map(drop)
}

/// Copies a stream with a delay.
async fn delay(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut buffer).await?;
        sleep_until(Instant::now() + ONE_WAY_DELAY).await;
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
    }
}
