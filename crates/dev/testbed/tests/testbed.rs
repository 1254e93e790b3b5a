//! Services of the testbed on this host.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fairway_fixtures::environment::SOAK_ROUNDS;
use fairway_registry::{Image, ImageConfig, LayerBuilder, layout};
use fairway_testbed::kube::{Cluster, Options, import_image, kubeconfig_in};
use fairway_testbed::prometheus::{self, Prometheus};
use fairway_testbed::registry::{self, Registry};
use fairway_testbed::wait;

/// Set for the process that the test kills.
const OWNER: &str = "FAIRWAY_TESTBED_OWNER";

/// Processes and mounts that use a directory.
fn users_of(directory: &Path) -> Vec<String> {
    let directory = directory.display().to_string();
    let mut users = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        if process.file_name().to_string_lossy().parse::<u32>().is_err() {
            continue;
        }
        for file in ["cmdline", "mountinfo"] {
            let text = fs::read(process.path().join(file)).unwrap_or_default();
            if String::from_utf8_lossy(&text).contains(&directory) {
                users.push(process.path().join(file).display().to_string());
            }
        }
    }
    users
}

fn assert_gone(directory: &Path) {
    assert_eq!(users_of(directory), Vec::<String>::new());
    assert!(!directory.exists(), "{} is left", directory.display());
}

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// Runs kubectl against the cluster in a directory.
fn kubectl(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("kubectl")
        .arg("--kubeconfig")
        .arg(kubeconfig_in(directory))
        // An earlier cluster may have had this address and served other resources.
        .arg("--cache-dir")
        .arg(directory.join("kubectl"))
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A pod that runs until it is deleted: it waits for input.
const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: guest}
spec:
  hostNetwork: true
  containers:
  - name: guest
    image: localhost/sh:1
    imagePullPolicy: Never
    stdin: true
    command: [/bin/sh, -c]
    args: ['echo $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT; read line']
";

/// A pod in the pod network, which lists the ports that it reaches: those of the API server, the kubelet
/// and etcd.
const POD_IN_POD_NETWORK: &str = "
apiVersion: v1
kind: Pod
metadata: {name: isolated}
spec:
  restartPolicy: Never
  containers:
  - name: isolated
    image: localhost/bash:1
    imagePullPolicy: Never
    command: [/bin/bash, -c]
    args:
    - |
      for port in 443 10250 2379; do
        if (exec 3<>/dev/tcp/$KUBERNETES_SERVICE_HOST/$port) 2>/dev/null; then echo $port; fi
      done
";

/// Runs a pod in the pod network, and returns its output.
fn run_pod_in_pod_network(directory: &Path) -> String {
    import_shell(directory, "bash");
    let scratch = tempfile::tempdir().unwrap();
    let pod = scratch.path().join("pod.yaml");
    fs::write(&pod, POD_IN_POD_NETWORK).unwrap();
    kubectl(directory, &["apply", "-f", pod.to_str().unwrap()]);
    wait::until("the pod to end", Duration::from_mins(3), || {
        let phase = ["get", "pod/isolated", "-o", "jsonpath={.status.phase}"];
        let phase = kubectl(directory, &phase);
        Ok(matches!(phase.as_str(), "Succeeded" | "Failed").then_some(()))
    })
    .unwrap();
    kubectl(directory, &["logs", "pod/isolated"])
}

/// Imports the image of a shell of this host.
fn import_shell(directory: &Path, name: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let archive = scratch.path().join("shell.tar");
    let path = format!("bin/{name}");
    let shell = LayerBuilder::new().host_program(&path, &Path::new("/").join(&path)).unwrap();
    let image = Image::new(vec![shell.build().unwrap()], &ImageConfig::default());
    let reference = format!("localhost/{name}:1");
    layout::archive(&image, &reference, fs::File::create(&archive).unwrap()).unwrap();
    import_image(directory, &archive).unwrap();
}

/// Runs a pod in the cluster in a directory.
fn run_pod(directory: &Path) {
    import_shell(directory, "sh");
    let scratch = tempfile::tempdir().unwrap();
    let pod = scratch.path().join("pod.yaml");
    fs::write(&pod, POD).unwrap();
    kubectl(directory, &["apply", "-f", pod.to_str().unwrap()]);
    kubectl(directory, &["wait", "--for=condition=Ready", "pod/guest", "--timeout=180s"]);
}

/// The root cgroup in the configuration of the kubelet.
fn root_cgroup(directory: &Path) -> String {
    let config = fs::read_to_string(directory.join("kubelet.yaml")).unwrap();
    let name = config.lines().find_map(|line| line.strip_prefix("cgroupRoot: /")).unwrap();
    name.to_owned()
}

/// Whether a cgroup exists in a hierarchy.
fn cgroup_exists(name: &str) -> bool {
    let mounts = Path::new("/sys/fs/cgroup");
    let hierarchies = fs::read_dir(mounts).into_iter().flatten().flatten();
    mounts.join(name).exists()
        || hierarchies.into_iter().any(|entry| entry.path().join(name).exists())
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn two_control_planes_run_concurrently_and_leave_nothing() {
    let start = || std::thread::spawn(|| Cluster::start(Options::control_plane()).unwrap());
    let (first, second) = (start(), start());
    let (first, second) = (first.join().unwrap(), second.join().unwrap());
    assert_ne!(first.address(), second.address());
    kubectl(first.run_dir(), &["create", "namespace", "only-in-the-first"]);
    assert!(kubectl(first.run_dir(), &["get", "namespaces"]).contains("only-in-the-first"));
    assert!(!kubectl(second.run_dir(), &["get", "namespaces"]).contains("only-in-the-first"));
    let audit = fs::read_to_string(first.audit_log()).unwrap();
    assert!(audit.lines().any(|event| event.contains("only-in-the-first")));

    let directories = [first.run_dir().to_owned(), second.run_dir().to_owned()];
    assert!(!users_of(&directories[0]).is_empty());
    first.stop().unwrap();
    drop(second);
    for directory in &directories {
        assert_gone(directory);
    }
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn node_runs_a_pod_that_finds_its_api_server() {
    let host_is_node = Path::new("/var/lib/kubelet/pods").exists();
    let cluster = Cluster::start(Options::with_node()).unwrap();
    run_pod(cluster.run_dir());
    let log = kubectl(cluster.run_dir(), &["logs", "guest"]);
    assert_eq!(log, format!("{}:443\n", cluster.address()));
    let sum = ["exec", "guest", "--", "/bin/sh", "-c", "echo $((6 * 7))"];
    assert_eq!(kubectl(cluster.run_dir(), &sum), "42\n");
    assert_eq!(run_pod_in_pod_network(cluster.run_dir()), "443\n", "only the API server");

    let directory = cluster.run_dir().to_owned();
    let cgroup = root_cgroup(&directory);
    assert!(cgroup_exists(&cgroup));
    cluster.stop().unwrap();
    assert_gone(&directory);
    assert!(!cgroup_exists(&cgroup));
    assert_eq!(Path::new("/var/lib/kubelet/pods").exists(), host_is_node);
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn killed_owner_leaves_nothing() {
    if std::env::var_os(OWNER).is_some() {
        own_a_cluster();
    }
    for _ in 0..rounds() {
        kill_owner();
    }
}

/// Once in the test command, often in a soak.
fn rounds() -> usize {
    std::env::var(SOAK_ROUNDS).map_or(1, |rounds| rounds.parse().unwrap())
}

/// A process with a cluster. Dropping it kills the process.
struct Owner(Child);

impl Owner {
    fn start() -> Self {
        let owner = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "killed_owner_leaves_nothing", "--nocapture"])
            .env(OWNER, "1")
            .stdout(Stdio::piped())
            .spawn();
        Self(owner.unwrap())
    }

    /// The directory of its cluster, after the start.
    fn directory(&mut self) -> PathBuf {
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        let mut output = lines.map(Result::unwrap);
        output.find_map(|line| line.strip_prefix("directory ").map(PathBuf::from)).unwrap()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn kill_owner() {
    let mut owner = Owner::start();
    let directory = owner.directory();
    run_pod(&directory);
    assert!(!users_of(&directory).is_empty());
    let cgroup = root_cgroup(&directory);
    drop(owner);
    wait::until("the removal of all processes", Duration::from_secs(10), || {
        Ok(users_of(&directory).is_empty().then_some(()))
    })
    .unwrap();

    // The directory and the cgroup remain until the next start of a service.
    Registry::start(registry::Options::default()).unwrap().stop().unwrap();
    assert_gone(&directory);
    assert!(!cgroup_exists(&cgroup));
}

/// Starts a cluster, prints its directory, and waits for SIGKILL.
#[expect(clippy::print_stdout, reason = "the test reads it")]
fn own_a_cluster() -> ! {
    let cluster = Cluster::start(Options::with_node()).unwrap();
    println!("\ndirectory {}", cluster.run_dir().display());
    loop {
        std::thread::park();
    }
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn registry_responds_and_leaves_nothing() {
    let registry = Registry::start(registry::Options::default()).unwrap();
    assert!(registry.address().ip().is_loopback());
    assert!(get(registry.address(), "/v2/").starts_with("HTTP/1.0 200"));
    let directory = registry.run_dir().to_owned();
    registry.stop().unwrap();
    assert_gone(&directory);
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn prometheus_returns_samples_of_the_past() {
    let options = prometheus::Options::default().backfill(
        "# TYPE reboots counter\n\
         reboots_total{node=\"a\"} 1 1700000000\n\
         reboots_total{node=\"a\"} 4 1700000060\n\
         # EOF\n",
    );
    let prometheus = Prometheus::start(options).unwrap();
    let response = get(prometheus.address(), "/api/v1/query?query=reboots_total&time=1700000061");
    assert!(response.contains(r#""node":"a""#) && response.contains(r#""4""#), "{response}");
    let directory = prometheus.run_dir().to_owned();
    drop(prometheus);
    assert_gone(&directory);
}
