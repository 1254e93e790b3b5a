//! The node: containerd and the kubelet.

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fairway_registry::{Image, ImageConfig, LayerBuilder, layout};
use serde_json::Value;

use super::control_plane::ControlPlane;
use crate::berth::Berth;
use crate::cell::Component;
use crate::command::{find, is_root, run};
use crate::packages::CNI_PLUGINS;
use crate::wait;

/// Ten times what each step needs on two busy cores.
const STEP: Duration = Duration::from_mins(1);

/// What keeps a pod's namespaces while its containers come and go.
const PAUSE_IMAGE: &str = "localhost/pause:1";
/// What does that: every Debian has it.
const SLEEP: &str = "/bin/sleep";

/// The longest path of a socket, with room for what containerd appends to it.
const LONGEST_SOCKET: usize = 100;

/// What the kubelet would set for the whole machine if it found anything else. In the cell it
/// finds these values, so the machine keeps its own.
const KERNEL_SETTINGS: [(&str, &str); 6] = [
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/keys/root_maxbytes", "25000000"),
];

/// Tells the kubelet whose machine this is; one of a cloud it would ask for credentials.
const VENDOR: &str = "/sys/class/dmi/id/product_name";

/// The only network that pods can have besides the machine's own.
const CNI_CONFIG: &str =
    r#"{"cniVersion":"0.4.0","name":"loopback","plugins":[{"type":"loopback"}]}"#;

/// A node whose runtime has started, before there is an API server to register with.
pub(super) struct Node {
    /// Its pods' control groups, apart from those of other clusters on this machine.
    cgroup_root: String,
    containerd: Component,
}

/// The socket of a node's containerd.
pub(super) fn socket(directory: &Path) -> PathBuf {
    directory.join("containerd.sock")
}

impl Node {
    /// Starts containerd; [`Self::join`] finishes the node.
    pub(super) fn start_runtime(berth: &mut Berth, address: Ipv4Addr) -> Result<Self> {
        check_directory(berth)?;
        mount_over_the_machine(berth)?;
        let cgroup_root = berth.directory().create_cgroup()?;
        let config = berth.join("containerd.toml");
        fs::write(&config, containerd_config(berth.path(), address, snapshotter(berth.path())?))?;
        fs::create_dir_all(berth.join("cni.d"))?;
        fs::write(berth.join("cni.d/10-loopback.conflist"), CNI_CONFIG)?;
        let program = find("containerd").context("containerd is missing")?;
        let arguments = ["--config".to_owned(), config.display().to_string()];
        let containerd = berth.spawn("containerd", &program, arguments)?;
        Ok(Self { cgroup_root, containerd })
    }

    /// Gives containerd the image without which no pod starts.
    pub(super) fn import_pause_image(&self, berth: &Berth) -> Result<()> {
        let socket = socket(berth.path());
        wait::until_logged("containerd to be ready", STEP, &self.containerd.log, || {
            self.containerd.ensure_alive()?;
            Ok(ctr(&socket, &["version"]).ok())
        })?;
        let archive = berth.join("pause.tar");
        let layer = LayerBuilder::new().host_program("bin/sleep", Path::new(SLEEP))?.build()?;
        let command = ["/bin/sleep", "infinity"].map(str::to_owned).to_vec();
        let image =
            Image::new(vec![layer], &ImageConfig { cmd: command, ..ImageConfig::default() });
        layout::archive(&image, PAUSE_IMAGE, File::create(&archive)?)?;
        import_image(berth.path(), &archive)?;
        Ok(fs::remove_file(archive)?)
    }

    /// Starts the kubelet and waits until pods can be scheduled.
    pub(super) fn join(&self, berth: &mut Berth, plane: &ControlPlane<'_>) -> Result<()> {
        let config = berth.join("kubelet.yaml");
        fs::write(&config, kubelet_config(berth.path(), plane.address, &self.cgroup_root))?;
        // A name server that does not exist: no question of a pod leaves the machine.
        fs::write(berth.join("resolv.conf"), format!("nameserver {}\n", plane.address))?;
        let kubeconfig = berth.join("kubelet.kubeconfig");
        fs::write(&kubeconfig, plane.pki.kubeconfig(&plane.server(), &plane.pki.kubelet))?;
        let kubelet = berth.spawn(
            "kubelet",
            Path::new("env"),
            [
                // It would ask this cloud for credentials at every start.
                "AWS_EC2_METADATA_DISABLED=true".to_owned(),
                path_text(plane.binaries.kubelet()?),
                format!("--config={}", config.display()),
                format!("--kubeconfig={}", kubeconfig.display()),
                "--container-runtime=remote".to_owned(),
                format!("--container-runtime-endpoint=unix://{}", socket(berth.path()).display()),
                // A name that is an address becomes the node's address.
                format!("--hostname-override={}", plane.address),
            ],
        )?;
        let path = format!("/api/v1/nodes/{}", plane.address);
        plane.until_ok(&kubelet, super::API_PORT, &path, |answer| is_ready(&answer.body))
    }
}

/// Loads an image archive into a node.
pub(super) fn import_image(directory: &Path, archive: &Path) -> Result<()> {
    ctr(&socket(directory), &["--namespace", "k8s.io", "images", "import", &path_text(archive)])
        .with_context(|| format!("cannot import the image {}", archive.display()))
        .map(drop)
}

fn ctr(socket: &Path, arguments: &[&str]) -> Result<String> {
    run(Command::new("ctr").arg("--address").arg(socket).args(arguments), STEP)
}

/// Says what a node needs that this user cannot give, before time is spent on it.
pub(super) fn check_user() -> Result<()> {
    if is_root() {
        return Ok(());
    }
    bail!(
        "a node requires root: it mounts the file systems of containers and creates control \
        groups"
    );
}

fn check_directory(berth: &Berth) -> Result<()> {
    if berth.path().starts_with("/run") {
        bail!("a node hides /run: set FAIRWAY_CACHE to a directory elsewhere");
    }
    if socket(berth.path()).as_os_str().len() > LONGEST_SOCKET {
        bail!("{} is too long for a socket: set FAIRWAY_CACHE", berth.path().display());
    }
    Ok(())
}

/// Puts something of the cell's own wherever the kubelet, containerd and the network plugins would
/// write on the machine. `/var/lib` itself stays: pods share `/var/lib/fairway` with the machine.
fn mount_over_the_machine(berth: &Berth) -> Result<()> {
    // Between creation and use, a cluster that ends must not remove a mount point.
    let _turn = berth.take_turn()?;
    let mut script = vec!["set -e".to_owned(), "mount -t tmpfs -o mode=0755 tmpfs /run".to_owned()];
    for (name, path) in
        [("var-log", "/var/log"), ("kubelet", "/var/lib/kubelet"), ("cni", "/var/lib/cni")]
    {
        fs::create_dir_all(berth.join(name))?;
        berth.directory().create_mount_point(path)?;
        script.push(format!("mount --bind \"$0/{name}\" {path}"));
    }
    fs::create_dir_all(berth.join("sysctl"))?;
    for (setting, value) in KERNEL_SETTINGS {
        let name = format!("sysctl/{}", setting.replace('/', "."));
        fs::write(berth.join(&name), value)?;
        script.push(format!("mount --bind \"$0/{name}\" /proc/sys/{setting}"));
    }
    script.push(format!("if [ -e {VENDOR} ]; then mount --bind /dev/null {VENDOR}; fi"));
    // Pods may ask that their mounts reach the node.
    script.push("mount --make-rshared /".to_owned());
    berth.run("sh", ["-c", &script.join("\n"), &path_text(berth.path())], STEP).map(drop)
}

/// Overlays do not stack: on an overlay, as in a container, containerd has to copy.
fn snapshotter(directory: &Path) -> Result<&'static str> {
    let kind = run(Command::new("stat").args(["-f", "-c", "%T"]).arg(directory), STEP)?;
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
bin_dir = "{CNI_PLUGINS}"
conf_dir = "{directory}/cni.d"

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "{snapshotter}"
"#
    )
}

fn kubelet_config(directory: &Path, address: Ipv4Addr, cgroup_root: &str) -> String {
    let directory = directory.display();
    // Chains in the machine's packet filter are for kube-proxy, which does not run here; a full
    // disk or a used swap is the developer's business. The node looks at itself every second, so
    // as to be ready a second after its runtime, and reports what did not change as rarely as by
    // default.
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

/// Whether a node says that it is ready and the controllers believe it.
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
    fn a_node_is_ready_when_nothing_keeps_pods_away() {
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
    fn everything_listens_on_the_address_of_the_cluster() {
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
