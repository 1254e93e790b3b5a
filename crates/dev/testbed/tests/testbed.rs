//! The testbed against this machine: what it starts works, and nothing of it stays.

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

/// Asks the cluster of a directory.
fn kubectl(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("kubectl")
        .arg("--kubeconfig")
        .arg(kubeconfig_in(directory))
        // Another cluster had this address before, and may have served something else.
        .arg("--cache-dir")
        .arg(directory.join("kubectl"))
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Its first process waits for a line that nobody writes.
const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: guest}
spec:
  hostNetwork: true
  containers:
  - name: guest
    image: localhost/shell:1
    imagePullPolicy: Never
    stdin: true
    command: [/bin/sh, -c]
    args: ['echo $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT; read line']
";

/// Runs a pod in the cluster of a directory.
fn run_guest(directory: &Path) {
    let scratch = tempfile::tempdir().unwrap();
    let archive = scratch.path().join("shell.tar");
    let shell = LayerBuilder::new().host_program("bin/sh", Path::new("/bin/sh")).unwrap();
    let image = Image::new(vec![shell.build().unwrap()], &ImageConfig::default());
    layout::archive(&image, "localhost/shell:1", fs::File::create(&archive).unwrap()).unwrap();
    import_image(directory, &archive).unwrap();
    let pod = scratch.path().join("pod.yaml");
    fs::write(&pod, POD).unwrap();
    kubectl(directory, &["apply", "-f", pod.to_str().unwrap()]);
    kubectl(directory, &["wait", "--for=condition=Ready", "pod/guest", "--timeout=180s"]);
}

/// The name of the root of a cluster's control groups, as its kubelet was told.
fn control_group(directory: &Path) -> String {
    let config = fs::read_to_string(directory.join("kubelet.yaml")).unwrap();
    let name = config.lines().find_map(|line| line.strip_prefix("cgroupRoot: /")).unwrap();
    name.to_owned()
}

/// Whether there is a control group of that name, in the one hierarchy or in one of several.
fn is_control_group(name: &str) -> bool {
    let mounts = Path::new("/sys/fs/cgroup");
    let hierarchies = fs::read_dir(mounts).into_iter().flatten().flatten();
    mounts.join(name).exists()
        || hierarchies.into_iter().any(|entry| entry.path().join(name).exists())
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn control_planes_run_side_by_side_and_leave_nothing() {
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
    let said = kubectl(cluster.run_dir(), &["logs", "guest"]);
    assert_eq!(said, format!("{}:443\n", cluster.address()));
    let sum = ["exec", "guest", "--", "/bin/sh", "-c", "echo $((6 * 7))"];
    assert_eq!(kubectl(cluster.run_dir(), &sum), "42\n");

    let directory = cluster.run_dir().to_owned();
    let control_group = control_group(&directory);
    assert!(is_control_group(&control_group));
    cluster.stop().unwrap();
    assert_gone(&directory);
    assert!(!is_control_group(&control_group));
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
    std::env::var(SOAK_ROUNDS).map_or(1, |rounds| rounds.parse().unwrap())
}

/// A process with a cluster, which is killed however the test ends.
struct Owner(Child);

impl Owner {
    fn start() -> Self {
        let owner = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "everything_goes_with_a_killed_owner", "--nocapture"])
            .env(VICTIM, "1")
            .stdout(Stdio::piped())
            .spawn();
        Self(owner.unwrap())
    }

    /// The directory of its cluster, once that runs.
    fn directory(&mut self) -> PathBuf {
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        let mut said = lines.map(Result::unwrap);
        said.find_map(|line| line.strip_prefix("directory ").map(PathBuf::from)).unwrap()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn kill_an_owner() {
    let mut owner = Owner::start();
    let directory = owner.directory();
    run_guest(&directory);
    assert!(!traces_of(&directory).is_empty());
    let control_group = control_group(&directory);
    drop(owner);
    wait::until("everything to go", Duration::from_secs(10), || {
        Ok(traces_of(&directory).is_empty().then_some(()))
    })
    .unwrap();

    // Only the directory and its control group stay, until somebody starts something.
    Registry::start(registry::Options::default()).unwrap().stop().unwrap();
    assert_gone(&directory);
    assert!(!is_control_group(&control_group));
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
