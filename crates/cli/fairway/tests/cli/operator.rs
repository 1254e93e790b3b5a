//! `fairway operator`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fairway_testkit::releases::TestRelease;
use fairway_testkit::{TestCluster, wait};
use k8s_openapi::api::coordination::v1::Lease;
use rustix::process::{Pid, Signal, kill_process};

use crate::{fairway, kubeconfig, transcript};

fn operator() -> Command {
    let mut command = fairway();
    for variable in ["KUBECONFIG", "NODE_NAME", "POD_UID", "CVO_NAMESPACE"] {
        command.env_remove(variable);
    }
    command.args(["operator", "--node-name=node", "--release-image=registry.example/a"]);
    let payload = payload();
    // Not the directory of the host, which may have results of other operators.
    command.env("FAIRWAY_PREFLIGHT_RESULTS_DIR", payload.join("preflight"));
    command.env("PAYLOAD_OVERRIDE", payload);
    command
}

/// The directory of a release, one for each process: tests run concurrently.
fn payload() -> PathBuf {
    let own = format!("payload-{}", std::process::id());
    let payload = Path::new(env!("CARGO_TARGET_TMPDIR")).join(own);
    TestRelease::new("5.1.0").write(&payload).unwrap();
    payload
}

#[test]
fn help() {
    let mut command = operator();
    for variable in ["PAYLOAD_OVERRIDE", "FAIRWAY_PREFLIGHT_RESULTS_DIR"] {
        command.env_remove(variable);
    }
    insta::assert_snapshot!(transcript(command.arg("--help")));
}

fn send_signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn second_signal_exits_at_once() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let kubeconfig = kubeconfig(&format!("http://{}", silent.local_addr().unwrap()));
    let mut command = operator();
    command.arg("--kubeconfig").arg(kubeconfig.path()).args(["--listen=", "--probe-listen="]);
    command.args(["--pod-uid=uid", "--lease-retry-period=40s"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let _request = silent.accept().unwrap();
    send_signal(&child, Signal::TERM);
    let mut printed = BufReader::new(child.stderr.take().unwrap()).lines();
    let stopping = printed.find(|line| line.as_ref().unwrap().starts_with("shutting down"));
    assert_eq!(stopping.unwrap().unwrap(), "shutting down; a second signal stops immediately");
    send_signal(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_releases_the_lease() -> anyhow::Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let namespace = cluster.namespace("operator").await?;
    let mut command = operator();
    command.arg("--kubeconfig").arg(cluster.kubeconfig()).args(["--listen=", "--pod-uid=uid"]);
    command.args(["--probe-listen=", "--namespace", namespace.name(), "--log-format=json"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let leases: kube::Api<Lease> = namespace.api();
    let holder = async || -> anyhow::Result<Option<String>> {
        let lease = leases.get_opt("version").await?;
        Ok(lease.and_then(|lease| lease.spec?.holder_identity))
    };
    let leads = async || Ok(holder().await?.filter(|holder| holder == "uid"));
    wait::until("the operator to lead", leads).await?;
    send_signal(&child, Signal::TERM);
    // The API server runs in this runtime, so its threads must not block.
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = tokio::task::spawn_blocking(move || (log.next(), log));
    let (first, _others) = first.await?;
    let event: serde_json::Value = serde_json::from_str(&first.unwrap()?)?;
    assert_eq!((&event["level"], &event["identity"]), (&"INFO".into(), &"uid".into()));
    let ended = tokio::task::spawn_blocking(move || child.wait()).await??;
    assert_eq!(ended.code(), Some(0));
    assert_eq!(holder().await?.as_deref(), Some(""));
    Ok(())
}

#[test]
fn invalid_settings_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let kubeconfig = kubeconfig(&format!("http://{}", silent.local_addr().unwrap()));
    // The operator creates a missing file.
    for file in ["broken.crt", "broken.key"] {
        fs::write(directory.path().join(file), "nothing of use").unwrap();
    }
    let run = |arguments: &[&str]| {
        let mut command = operator();
        command.current_dir(directory.path()).arg("--kubeconfig").arg(kubeconfig.path());
        transcript(command.arg("--pod-uid=uid").args(arguments))
    };
    let printed = [
        run(&["--listen=9099"]),
        run(&["--probe-listen=localhost"]),
        run(&["--metrics-auth=anonymous"]),
        run(&["--client-ca-file=ca.crt"]),
        run(&["--lease-duration=100s"]),
        run(&["--payload=nowhere"]),
        run(&["--serving-cert-file=broken.crt", "--serving-key-file=broken.key"]),
        run(&["--metrics-snapshot=a", "--metrics-url=http://b"]),
        run(&["--metrics-url=prometheus:9090"]),
        run(&["--metrics-url=https://me:secret@prometheus.example"]),
        run(&["--update-service=updates.example"]),
    ];
    insta::assert_snapshot!(printed.join("\n"));
}
