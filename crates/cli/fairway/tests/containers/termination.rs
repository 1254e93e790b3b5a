//! Termination of containers and their processes.

use std::path::Path;
use std::time::Duration;

use fairway_sandbox::init::{Confinement, Root};
use tokio::time::{Instant, timeout};

use crate::runtime::{TestRuntime, plan, poll_interval, read};

/// The processes of this host whose command line contains a word that only one test uses.
fn processes(word: &str) -> Vec<i32> {
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        String::from_utf8_lossy(&line).contains(word).then_some(pid)
    });
    pids.collect()
}

async fn wait_until_gone(word: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !processes(word).is_empty() {
        assert!(Instant::now() < deadline, "{:?} are left", processes(word));
        poll_interval().await;
    }
}

#[tokio::test]
async fn dropped_container_leaves_no_process() {
    let runtime = TestRuntime::start().await;
    let script = "setsid sleep 98761 & setsid setsid sleep 98761 & sleep 98761";
    for (name, plan) in [
        ("confined", runtime.plan("a", script)),
        ("plain", plan(Confinement::Plain, Root::Directory(runtime.path("image")), script)),
    ] {
        let container = runtime.inner.start(&plan).await.unwrap();
        while processes("98761").len() < 3 {
            poll_interval().await;
        }
        drop(container);
        wait_until_gone("98761").await;
        println!("{name}");
    }
}

#[tokio::test]
async fn signal_reaches_the_command_and_wait_returns_its_exit_code() {
    let runtime = TestRuntime::start().await;
    let script = "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let mut container = runtime.inner.start(&runtime.plan("a", script)).await.unwrap();
    let output = container.output.take().unwrap();
    let reading = tokio::spawn(read(output));
    // A signal before the trap is set would end the script.
    timeout(Duration::from_millis(500), std::future::pending::<()>()).await.ok();
    container.orders.signal(15).await;
    assert_eq!(timeout(Duration::from_secs(10), container.end.wait()).await.unwrap(), 3);
    assert_eq!(reading.await.unwrap(), "ready\ncaught\n");

    let mut container = runtime.inner.start(&runtime.plan("b", "sleep 98762")).await.unwrap();
    container.orders.signal(9).await;
    assert_eq!(timeout(Duration::from_secs(10), container.end.wait()).await.unwrap(), 137);
}

/// Kills another process of this binary, which holds a container.
#[tokio::test]
async fn killed_sandbox_leaves_no_process() {
    let Some(directory) = std::env::var_os("FAIRWAY_TEST_HOLDER") else {
        return hold_and_kill().await;
    };
    let runtime = TestRuntime::start().await;
    let container = runtime.inner.start(&runtime.plan("a", "sleep 98763 & sleep 98763")).await;
    let container = container.unwrap();
    std::fs::write(Path::new(&directory).join("started"), "").unwrap();
    container.end.wait().await;
}

async fn hold_and_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut holder = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "termination::killed_sandbox_leaves_no_process"])
        .env("FAIRWAY_TEST_HOLDER", directory.path())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !directory.path().join("started").exists() || processes("98763").len() < 2 {
        assert!(Instant::now() < deadline, "the container did not start");
        poll_interval().await;
    }
    holder.kill().await.unwrap();
    wait_until_gone("98763").await;
}
