//! The node: containerd and the kubelet.

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fairway_registry::{Image, ImageConfig, LayerBuilder, layout};
use serde_json::Value;

use super::control_plane::ControlPlane;
use crate::command::{self, find, is_root};
use crate::managed_run::ManagedRun;
use crate::packages::CNI_PLUGINS;
use crate::pid_namespace::Component;
use crate::wait;

/// Ten times each step on two busy cores.
const STEP_TIMEOUT: Duration = Duration::from_mins(1);

/// The image of the sandbox container of pods.
const PAUSE_IMAGE: &str = "localhost/pause:1";
/// The binary in the sandbox container.
const SLEEP: &str = "/bin/sleep";

/// Maximum length of a socket path, with room for the suffix of containerd.
const MAX_SOCKET_PATH: usize = 100;

/// Kernel settings that the kubelet would change on the host. In the namespace, bind mounts show it these
/// values.
const KERNEL_SETTINGS: [(&str, &str); 6] = [
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/keys/root_maxbytes", "25000000"),
];

/// The file by which the kubelet detects a cloud, which it would query for credentials.
const VENDOR: &str = "/sys/class/dmi/id/product_name";

/// The pod network: loopback, and the API server.
const CNI_CONFIG: &str =
    r#"{"cniVersion":"0.4.0","name":"pods","plugins":[{"type":"pod-network"}]}"#;

/// The CNI plugin of the pod network.
const POD_NETWORK: &str = include_str!("pod-network");

/// The forwarder of the pod network. Every Debian has Perl.
const FORWARD: &str = include_str!("forward");

/// A node with a running container runtime, not yet registered.
pub(super) struct Node {
    /// The root cgroup of its pods.
    cgroup_root: String,
    containerd: Component,
}

/// The socket of containerd.
pub(super) fn socket(directory: &Path) -> PathBuf {
    directory.join("containerd.sock")
}

impl Node {
    /// Starts containerd. [`Self::join`] registers the node.
    pub(super) fn start_runtime(run: &mut ManagedRun, address: Ipv4Addr) -> Result<Self> {
        check_directory(run)?;
        mount_over_host_directories(run)?;
        let cgroup_root = run.directory().create_cgroup()?;
        let config = run.join("containerd.toml");
        fs::write(&config, containerd_config(run.path(), address, snapshotter(run.path())?))?;
        start_pod_network(run, address)?;
        let program = find("containerd").context("containerd is missing")?;
        let arguments = ["--config".to_owned(), config.display().to_string()];
        let containerd = run.spawn("containerd", &program, arguments)?;
        Ok(Self { cgroup_root, containerd })
    }

    /// Imports the image of the sandbox container.
    pub(super) fn import_pause_image(&self, run: &ManagedRun) -> Result<()> {
        let socket = socket(run.path());
        wait::until_logged("containerd to be ready", STEP_TIMEOUT, &self.containerd.log, || {
            self.containerd.ensure_alive()?;
            Ok(ctr(&socket, &["version"]).ok())
        })?;
        let archive = run.join("pause.tar");
        let layer = LayerBuilder::new().host_program("bin/sleep", Path::new(SLEEP))?.build()?;
        let command = ["/bin/sleep", "infinity"].map(str::to_owned).to_vec();
        let image =
            Image::new(vec![layer], &ImageConfig { cmd: command, ..ImageConfig::default() });
        layout::archive(&image, PAUSE_IMAGE, File::create(&archive)?)?;
        import_image(run.path(), &archive)?;
        Ok(fs::remove_file(archive)?)
    }

    /// Starts the kubelet and waits until the node is ready.
    pub(super) fn join(&self, run: &mut ManagedRun, plane: &ControlPlane<'_>) -> Result<()> {
        let config = run.join("kubelet.yaml");
        fs::write(&config, kubelet_config(run.path(), plane.address, &self.cgroup_root))?;
        // An address without a name server, so that no DNS query leaves the host.
        fs::write(run.join("resolv.conf"), format!("nameserver {}\n", plane.address))?;
        let kubeconfig = run.join("kubelet.kubeconfig");
        fs::write(&kubeconfig, plane.pki.kubeconfig(&plane.server(), &plane.pki.kubelet))?;
        let kubelet = run.spawn(
            "kubelet",
            Path::new("env"),
            [
                // Otherwise it queries the metadata service of AWS at every start.
                "AWS_EC2_METADATA_DISABLED=true".to_owned(),
                path_text(plane.binaries.kubelet()?),
                format!("--config={}", config.display()),
                format!("--kubeconfig={}", kubeconfig.display()),
                "--container-runtime=remote".to_owned(),
                format!("--container-runtime-endpoint=unix://{}", socket(run.path()).display()),
                // A name that is an address becomes the node's address.
                format!("--hostname-override={}", plane.address),
            ],
        )?;
        let path = format!("/api/v1/nodes/{}", plane.address);
        plane.until_ok(&kubelet, super::API_PORT, &path, |response| is_ready(&response.body))
    }
}

/// Loads an image archive into a node.
pub(super) fn import_image(directory: &Path, archive: &Path) -> Result<()> {
    ctr(&socket(directory), &["--namespace", "k8s.io", "images", "import", &path_text(archive)])
        .with_context(|| format!("cannot import the image {}", archive.display()))
        .map(drop)
}

fn ctr(socket: &Path, arguments: &[&str]) -> Result<String> {
    command::run(Command::new("ctr").arg("--address").arg(socket).args(arguments), STEP_TIMEOUT)
}

/// Fails early if the user may not start a node.
pub(super) fn check_user() -> Result<()> {
    if is_root() {
        return Ok(());
    }
    bail!(
        "a node requires root: it mounts the file systems of containers and creates control \
        groups"
    );
}

/// Writes the CNI plugin, and starts the process that connects it with the API server.
fn start_pod_network(run: &mut ManagedRun, address: Ipv4Addr) -> Result<()> {
    for directory in ["cni.d", "cni-bin"] {
        fs::create_dir_all(run.join(directory))?;
    }
    fs::write(run.join("cni.d/10-pods.conflist"), CNI_CONFIG)?;
    let api_server = format!("{address}:{}", super::API_PORT);
    fs::write(run.join("cni-bin/settings"), format!("API_SERVER={api_server}\n"))?;
    fs::write(run.join("cni-bin/forward"), FORWARD)?;
    let plugin = run.join("cni-bin/pod-network");
    fs::write(&plugin, POD_NETWORK)?;
    fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755))?;
    // containerd runs this plugin for every pod.
    symlink(format!("{CNI_PLUGINS}/loopback"), run.join("cni-bin/loopback"))?;
    let arguments = [
        path_text(&run.join("cni-bin/forward")),
        format!("unix:{}", path_text(&run.join("api.sock"))),
        format!("tcp:{api_server}"),
    ];
    run.spawn("pod-network", Path::new("perl"), arguments).map(drop)
}

fn check_directory(run: &ManagedRun) -> Result<()> {
    if run.path().starts_with("/run") {
        bail!("a node hides /run: set FAIRWAY_CACHE to a directory elsewhere");
    }
    if socket(run.path()).as_os_str().len() > MAX_SOCKET_PATH {
        bail!("{} is too long for a socket: set FAIRWAY_CACHE", run.path().display());
    }
    Ok(())
}

/// Mounts private directories over those of the host to which the kubelet, containerd and CNI plugins
/// write. Not over `/var/lib`: pods share `/var/lib/fairway` with the host.
fn mount_over_host_directories(run: &ManagedRun) -> Result<()> {
    // With the lock: a cluster that stops must not remove a mount point before it is used.
    let _turn = run.take_turn()?;
    let mut script = vec!["set -e".to_owned(), "mount -t tmpfs -o mode=0755 tmpfs /run".to_owned()];
    for (name, path) in
        [("var-log", "/var/log"), ("kubelet", "/var/lib/kubelet"), ("cni", "/var/lib/cni")]
    {
        fs::create_dir_all(run.join(name))?;
        run.directory().create_mount_point(path)?;
        script.push(format!("mount --bind \"$0/{name}\" {path}"));
    }
    fs::create_dir_all(run.join("sysctl"))?;
    for (setting, value) in KERNEL_SETTINGS {
        let name = format!("sysctl/{}", setting.replace('/', "."));
        fs::write(run.join(&name), value)?;
        script.push(format!("mount --bind \"$0/{name}\" /proc/sys/{setting}"));
    }
    script.push(format!("if [ -e {VENDOR} ]; then mount --bind /dev/null {VENDOR}; fi"));
    // Required for `mountPropagation: Bidirectional`.
    script.push("mount --make-rshared /".to_owned());
    run.run("sh", ["-c", &script.join("\n"), &path_text(run.path())], STEP_TIMEOUT).map(drop)
}

/// overlayfs does not stack: on an overlay, as in a container, containerd has to copy.
fn snapshotter(directory: &Path) -> Result<&'static str> {
    let kind =
        command::run(Command::new("stat").args(["-f", "-c", "%T"]).arg(directory), STEP_TIMEOUT)?;
    Ok(if kind.trim() == "overlayfs" { "native" } else { "overlayfs" })
}

fn containerd_config(directory: &Path, address: Ipv4Addr, snapshotter: &str) -> String {
    let directory = directory.display();
    format!(
        r#"version = 2
root = "{directory}/containerd"
state = "/run/containerd"

[grpc]
address = "{directory}/containerd.sock"

[plugins."io.containerd.internal.v1.opt"]
path = "{directory}/opt"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE_IMAGE}"
stream_server_address = "{address}"
restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{directory}/cni-bin"
conf_dir = "{directory}/cni.d"

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "{snapshotter}"
"#
    )
}

fn kubelet_config(directory: &Path, address: Ipv4Addr, cgroup_root: &str) -> String {
    let directory = directory.display();
    // No iptables chains: they are for kube-proxy, which does not run here. A full disk or swap of the
    // host does not matter. The node status is computed every second, so that the node is ready a second
    // after its runtime; an unchanged status is reported at the default interval.
    format!(
        "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {address}
healthzPort: 0
tlsCertFile: {directory}/pki/kubelet.crt
tlsPrivateKeyFile: {directory}/pki/kubelet.key
authentication:
  anonymous: {{enabled: false}}
  webhook: {{enabled: true}}
  x509: {{clientCAFile: {directory}/pki/ca.crt}}
authorization: {{mode: Webhook}}
cgroupDriver: cgroupfs
cgroupRoot: /{cgroup_root}
resolvConf: {directory}/resolv.conf
volumePluginDir: {directory}/volume-plugins
makeIPTablesUtilChains: false
failSwapOn: false
evictionHard: {{}}
imageGCHighThresholdPercent: 100
serializeImagePulls: false
nodeStatusUpdateFrequency: 1s
nodeStatusReportFrequency: 5m
"
    )
}

/// Whether a node is `Ready` and has no taints.
fn is_ready(node: &str) -> bool {
    let node: Value = serde_json::from_str(node).unwrap_or_default();
    let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    let ready = conditions.filter(|condition| condition["type"] == "Ready");
    let untainted = node["spec"]["taints"].as_array().is_none_or(Vec::is_empty);
    untainted && ready.into_iter().any(|condition| condition["status"] == "True")
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_ready_of_tainted_node_is_false() {
        let node = |taints: &str| {
            format!(
                r#"{{"spec":{{"taints":{taints}}},
                    "status":{{"conditions":[{{"type":"Ready","status":"True"}}]}}}}"#
            )
        };
        assert!(is_ready(&node("[]")));
        assert!(!is_ready(&node(r#"[{"key":"node.kubernetes.io/not-ready"}]"#)));
        assert!(!is_ready(r#"{"kind":"Status","code":404}"#));
        assert!(!is_ready("Unauthorized"));
    }

    #[test]
    fn configs_listen_on_the_address_of_the_cluster() {
        let address = Ipv4Addr::new(127, 99, 0, 1);
        let containerd = containerd_config(Path::new("/c/run/kube"), address, "overlayfs");
        assert!(containerd.contains("stream_server_address = \"127.99.0.1\""));
        assert!(containerd.contains("address = \"/c/run/kube/containerd.sock\""));
        let kubelet = kubelet_config(Path::new("/c/run/kube"), address, "fairway-99");
        assert!(kubelet.contains("\naddress: 127.99.0.1\n"));
        assert!(kubelet.contains("\ncgroupRoot: /fairway-99\n"));
        assert!(!kubelet.contains("{{"));
    }
}
