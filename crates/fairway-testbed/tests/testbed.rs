//! The testbed against this machine: what it starts works, and nothing of it stays.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fairway_registry::{Image, ImageConfig, LayerBuilder, layout};
use fairway_testbed::kube::{Cluster, Options, import_image};
use fairway_testbed::prometheus::{self, Prometheus};
use fairway_testbed::registry::{self, Registry};
use fairway_testbed::wait;

/// Set for the process that is to be killed.
const VICTIM: &str = "FAIRWAY_TESTBED_VICTIM";

/// What of a directory is still in use: processes that name it, mounts of any process in it.
fn traces_of(directory: &Path) -> Vec<String> {
    let directory = directory.display().to_string();
    let mut traces = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        if process.file_name().to_string_lossy().parse::<u32>().is_err() {
            continue;
        }
        for file in ["cmdline", "mountinfo"] {
            let text = fs::read(process.path().join(file)).unwrap_or_default();
            if String::from_utf8_lossy(&text).contains(&directory) {
                traces.push(process.path().join(file).display().to_string());
            }
        }
    }
    traces
}

fn assert_gone(directory: &Path) {
    assert_eq!(traces_of(directory), Vec::<String>::new());
    assert!(!directory.exists(), "{} is left", directory.display());
}

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn kubectl(kubeconfig: &Path, arguments: &[&str]) -> String {
    let output = Command::new("kubectl")
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Its first process reads lines that nobody writes.
const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: guest}
spec:
  hostNetwork: true
  containers:
  - name: guest
    image: localhost/busybox:1
    imagePullPolicy: Never
    stdin: true
    command: [/bin/sh, -c]
    args: ['echo $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT; while :; do read line; done']
";

/// Runs a pod in the cluster of a directory.
fn run_guest(directory: &Path) {
    let scratch = tempfile::tempdir().unwrap();
    let archive = scratch.path().join("busybox.tar");
    let shell = LayerBuilder::new().host_file("bin/sh", Path::new("/bin/busybox")).unwrap();
    let image = Image::new(vec![shell.build().unwrap()], &ImageConfig::default());
    layout::archive(&image, "localhost/busybox:1", fs::File::create(&archive).unwrap()).unwrap();
    import_image(directory, &archive).unwrap();
    let pod = scratch.path().join("pod.yaml");
    fs::write(&pod, POD).unwrap();
    let kubeconfig = directory.join("kubeconfig");
    kubectl(&kubeconfig, &["apply", "-f", pod.to_str().unwrap()]);
    kubectl(&kubeconfig, &["wait", "--for=condition=Ready", "pod/guest", "--timeout=60s"]);
}

/// The control groups of all clusters with a node.
fn control_groups() -> Vec<PathBuf> {
    let list = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let top = list(Path::new("/sys/fs/cgroup")).map(|entry| entry.path());
    let all = top.flat_map(|path| {
        let below: Vec<PathBuf> = list(&path).map(|entry| entry.path()).collect();
        std::iter::once(path).chain(below)
    });
    all.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("fairway-")).collect()
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn control_planes_run_side_by_side_and_leave_nothing() {
    let start = || std::thread::spawn(|| Cluster::start(Options::control_plane()).unwrap());
    let (first, second) = (start(), start());
    let (first, second) = (first.join().unwrap(), second.join().unwrap());
    assert_ne!(first.address(), second.address());
    kubectl(first.kubeconfig(), &["create", "namespace", "only-in-the-first"]);
    assert!(kubectl(first.kubeconfig(), &["get", "namespaces"]).contains("only-in-the-first"));
    assert!(!kubectl(second.kubeconfig(), &["get", "namespaces"]).contains("only-in-the-first"));
    let audit = fs::read_to_string(first.audit_log()).unwrap();
    assert!(audit.lines().any(|event| event.contains("only-in-the-first")));

    let directories = [first.run_dir().to_owned(), second.run_dir().to_owned()];
    assert!(!traces_of(&directories[0]).is_empty());
    first.stop().unwrap();
    drop(second);
    for directory in &directories {
        assert_gone(directory);
    }
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn a_node_runs_a_pod_that_finds_its_api_server() {
    let is_a_node_itself = Path::new("/var/lib/kubelet/pods").exists();
    let cluster = Cluster::start(Options::with_node()).unwrap();
    run_guest(cluster.run_dir());
    let said = kubectl(cluster.kubeconfig(), &["logs", "guest"]);
    assert_eq!(said, format!("{}:443\n", cluster.address()));
    let sum = ["exec", "guest", "--", "/bin/sh", "-c", "echo $((6 * 7))"];
    assert_eq!(kubectl(cluster.kubeconfig(), &sum), "42\n");

    let directory = cluster.run_dir().to_owned();
    let control_group = format!("fairway-{}", cluster.address().octets()[1]);
    cluster.stop().unwrap();
    assert_gone(&directory);
    assert!(!control_groups().iter().any(|path| path.ends_with(&control_group)));
    assert_eq!(Path::new("/var/lib/kubelet/pods").exists(), is_a_node_itself);
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn everything_goes_with_a_killed_owner() {
    if std::env::var_os(VICTIM).is_some() {
        be_the_victim();
    }
    for _ in 0..rounds() {
        kill_an_owner();
    }
}

/// How often to try: once in the test command, often in a soak.
fn rounds() -> usize {
    std::env::var("FAIRWAY_SOAK_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap())
}

fn kill_an_owner() {
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "everything_goes_with_a_killed_owner", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let directory = lines
        .map(Result::unwrap)
        .find_map(|line| line.strip_prefix("directory ").map(PathBuf::from))
        .unwrap();
    run_guest(&directory);
    assert!(!traces_of(&directory).is_empty());
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait::until("everything to go", Duration::from_secs(10), || {
        Ok(traces_of(&directory).is_empty().then_some(()))
    })
    .unwrap();

    // Only the directory stays, until somebody starts something.
    Registry::start(registry::Options::default()).unwrap().stop().unwrap();
    assert_gone(&directory);
}

/// Starts a cluster, says where it is, and waits to be killed.
#[expect(clippy::print_stdout, reason = "the killer reads it")]
fn be_the_victim() -> ! {
    let cluster = Cluster::start(Options::with_node()).unwrap();
    println!("\ndirectory {}", cluster.run_dir().display());
    loop {
        std::thread::park();
    }
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn a_registry_answers_and_leaves_nothing() {
    let registry = Registry::start(registry::Options::default()).unwrap();
    assert!(registry.address().ip().is_loopback());
    assert!(get(registry.address(), "/v2/").starts_with("HTTP/1.0 200"));
    let directory = registry.run_dir().to_owned();
    registry.stop().unwrap();
    assert_gone(&directory);
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn prometheus_answers_a_query_over_samples_of_the_past() {
    let options = prometheus::Options::default().backfill(
        "# TYPE reboots counter\n\
         reboots_total{node=\"a\"} 1 1700000000\n\
         reboots_total{node=\"a\"} 4 1700000060\n\
         # EOF\n",
    );
    let prometheus = Prometheus::start(options).unwrap();
    let answer = get(prometheus.address(), "/api/v1/query?query=reboots_total&time=1700000061");
    assert!(answer.contains(r#""node":"a""#) && answer.contains(r#""4""#), "{answer}");
    let directory = prometheus.run_dir().to_owned();
    drop(prometheus);
    assert_gone(&directory);
}
