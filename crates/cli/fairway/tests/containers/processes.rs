//! Nothing outlives its sandbox.

use std::path::Path;
use std::time::Duration;

use fairway_sandbox::init::{Confinement, Root};
use tokio::time::{Instant, timeout};

use crate::machine::{Machine, moment, plan, read};

/// Processes of this machine whose command line contains a word that only one test uses.
fn processes(word: &str) -> Vec<i32> {
    let numbers = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let number = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(format!("/proc/{number}/cmdline")).ok()?;
        String::from_utf8_lossy(&line).contains(word).then_some(number)
    });
    numbers.collect()
}

async fn until_gone(word: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !processes(word).is_empty() {
        assert!(Instant::now() < deadline, "{:?} are left", processes(word));
        moment().await;
    }
}

#[tokio::test]
async fn a_container_ends_when_its_handle_is_dropped() {
    let machine = Machine::new().await;
    let script = "setsid sleep 98761 & setsid setsid sleep 98761 & sleep 98761";
    for (name, plan) in [
        ("confined", machine.plan("a", script)),
        ("plain", plan(Confinement::Plain, Root::Directory(machine.path("image")), script)),
    ] {
        let container = machine.runtime.start(&plan).await.unwrap();
        while processes("98761").len() < 3 {
            moment().await;
        }
        drop(container);
        until_gone("98761").await;
        println!("{name}");
    }
}

#[tokio::test]
async fn a_signal_reaches_the_program_and_its_end_is_told() {
    let machine = Machine::new().await;
    let script = "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let mut container = machine.runtime.start(&machine.plan("a", script)).await.unwrap();
    let output = container.output.take().unwrap();
    let reading = tokio::spawn(read(output));
    // The trap is set once it has said so; a signal before that would end it.
    timeout(Duration::from_millis(500), std::future::pending::<()>()).await.ok();
    container.orders.signal(15).await;
    assert_eq!(timeout(Duration::from_secs(10), container.end.wait()).await.unwrap(), 3);
    assert_eq!(reading.await.unwrap(), "ready\ncaught\n");

    let mut container = machine.runtime.start(&machine.plan("b", "sleep 98762")).await.unwrap();
    container.orders.signal(9).await;
    assert_eq!(timeout(Duration::from_secs(10), container.end.wait()).await.unwrap(), 137);
}

/// Not this process, which has other tests to run, but one that starts a container as it does.
#[tokio::test]
async fn a_container_ends_when_its_sandbox_is_killed() {
    let Some(directory) = std::env::var_os("FAIRWAY_TEST_HOLDER") else {
        return hold_and_kill().await;
    };
    let machine = Machine::new().await;
    let container = machine.runtime.start(&machine.plan("a", "sleep 98763 & sleep 98763")).await;
    let container = container.unwrap();
    std::fs::write(Path::new(&directory).join("started"), "").unwrap();
    container.end.wait().await;
}

async fn hold_and_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut holder = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::a_container_ends_when_its_sandbox_is_killed"])
        .env("FAIRWAY_TEST_HOLDER", directory.path())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !directory.path().join("started").exists() || processes("98763").len() < 2 {
        assert!(Instant::now() < deadline, "the container did not start");
        moment().await;
    }
    holder.kill().await.unwrap();
    until_gone("98763").await;
}
