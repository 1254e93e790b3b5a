//! A real Kubernetes on loopback.
//!
//! Services live in 127.N.0.0/24 and the API server listens on 127.N.0.1:443, the address of the
//! Service `kubernetes`. So what runs in the cluster finds it as it would on a platform, and no
//! packet can leave the machine. Pods are to have `hostNetwork: true`. As every address of
//! 127.0.0.0/8 is this machine, a Service reaches a pod that listens on all addresses at the port
//! of the Service, without kube-proxy.

mod binaries;
pub mod build;
mod control_plane;
mod node;
mod pki;
mod source;

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub use binaries::Binaries;
use control_plane::ControlPlane;
use node::Node;
use pki::Pki;

use crate::berth::Berth;
use crate::cache::Cache;
use crate::http::TlsClient;
use crate::packages::{self, Purpose};
use crate::process::{Process, resident_bytes};
use crate::run_dir::Runs;
use crate::{Lifetime, Progress};

/// The name of the detached cluster's directory and state.
pub const KIND: &str = "kube";

/// The port at which pods expect the API server.
const API_PORT: u16 = 443;

/// The candidates for N in 127.N.0.0/24. Nothing else is known to use them, and thirty-one
/// clusters are more than a machine can run.
const NETS: RangeInclusive<u8> = 96..=126;

/// What cluster to start.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whether it has a node that runs pods.
    pub node: bool,
    /// How long it lives.
    pub lifetime: Lifetime,
    /// Where its directory is; the cache of the environment if not given.
    pub cache: Option<Cache>,
    /// What it consists of; see [`Binaries::find`] if not given.
    pub binaries: Option<Binaries>,
}

impl Options {
    /// A control plane without a node: starts in seconds.
    pub fn control_plane() -> Self {
        Self::default()
    }

    /// A cluster whose node runs pods.
    pub fn with_node() -> Self {
        Self { node: true, ..Self::default() }
    }
}

/// A running cluster. It ends with this value, unless it is detached: then
/// [`state::stop`](crate::state::stop) ends it.
#[derive(Debug)]
pub struct Cluster {
    berth: Berth,
    address: Ipv4Addr,
    kubeconfig: PathBuf,
    audit_log: PathBuf,
}

impl Cluster {
    /// Starts a cluster and waits until it is ready.
    pub fn start(options: Options) -> Result<Self> {
        Self::start_with(options, &|_| {})
    }

    /// Like [`Cluster::start`], telling what it is doing.
    pub fn start_with(options: Options, progress: Progress<'_>) -> Result<Self> {
        check_port()?;
        if options.node {
            node::check_user()?;
        }
        let cache = options.cache.map_or_else(Cache::from_env, Ok)?;
        let binaries = options.binaries.map_or_else(|| Binaries::find(&cache, progress), Ok)?;
        if options.node {
            binaries.kubelet()?;
        }
        packages::ensure(&purposes(&binaries, options.node), progress)?;
        for name in binaries.missing() {
            progress(&format!("without {name}, which this Kubernetes does not include"));
        }
        let (berth, net) = reserve(&cache, options.lifetime)?;
        let mut cluster = Self::new(berth, net);
        cluster.assemble(&binaries, options.node, progress)?;
        if options.lifetime == Lifetime::Detached {
            let address = format!("{}:{API_PORT}", cluster.address);
            cluster.berth.detach(&address, Some(&cluster.kubeconfig))?;
        }
        Ok(cluster)
    }

    fn new(berth: Berth, net: u8) -> Self {
        Self {
            address: address_in(net),
            kubeconfig: kubeconfig_in(berth.path()),
            audit_log: audit_log_in(berth.path()),
            berth,
        }
    }

    fn assemble(
        &mut self,
        binaries: &Binaries,
        with_node: bool,
        progress: Progress<'_>,
    ) -> Result<()> {
        let berth = &mut self.berth;
        let pki = Pki::create(&berth.join("pki"), self.address)?;
        let client = TlsClient::new(&pki.authority, &pki.admin.certificate, &pki.admin.key)?;
        let plane = ControlPlane { binaries, pki: &pki, client: &client, address: self.address };
        fs::write(&self.kubeconfig, pki.kubeconfig(&plane.server(), &pki.admin))?;
        progress(&format!("starting the control plane on {} (about 5 seconds)", self.address));
        let node = if with_node { Some(Node::start_runtime(berth, self.address)?) } else { None };
        plane.start_etcd(berth)?;
        let api_server = plane.start_api_server(berth, &self.audit_log)?;
        if let Some(node) = &node {
            node.import_pause_image(berth)?;
        }
        plane.until_api_server_is_ready(&api_server)?;
        let controllers = plane.start_controllers(berth)?;
        if let Some(node) = &node {
            progress("starting the node (about 8 seconds)");
            node.join(berth, &plane)?;
        }
        controllers.map_or(Ok(()), |controllers| plane.until_pods_can_be_created(&controllers))
    }

    /// How clients reach it, with all permissions.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Every request the API server answered: one JSON event a line.
    pub fn audit_log(&self) -> &Path {
        &self.audit_log
    }

    /// The address of the API server and of the node.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The directory of everything it writes; it goes with the cluster.
    pub fn run_dir(&self) -> &Path {
        self.berth.path()
    }

    /// How much memory the API server and its store hold at the moment.
    pub fn resident_bytes(&self) -> Result<u64> {
        let components = ["kube-apiserver", "etcd"].map(|name| self.berth.process(name));
        let resident = |process: Result<Process>| resident_bytes(process?.pid);
        components.into_iter().map(resident).sum()
    }

    /// Loads an image archive into the node, for pods with `imagePullPolicy: Never`.
    pub fn import_image(&self, archive: &Path) -> Result<()> {
        import_image(self.run_dir(), archive)
    }

    /// Ends it and removes its directory.
    pub fn stop(mut self) -> Result<()> {
        self.berth.stop()
    }
}

fn purposes(binaries: &Binaries, node: bool) -> Vec<Purpose> {
    let mut purposes = vec![Purpose::Cell, Purpose::Kubectl];
    purposes.extend(binaries.etcd.is_none().then_some(Purpose::Etcd));
    purposes.extend(node.then_some(Purpose::Node));
    purposes
}

/// The kubeconfig of the cluster that runs in a directory, with all permissions.
pub fn kubeconfig_in(run_dir: &Path) -> PathBuf {
    run_dir.join("kubeconfig")
}

/// The audit log of the cluster that runs in a directory.
pub fn audit_log_in(run_dir: &Path) -> PathBuf {
    run_dir.join("audit.log")
}

/// Loads an image archive into the node of the cluster that runs in a directory.
pub fn import_image(run_dir: &Path, archive: &Path) -> Result<()> {
    node::import_image(run_dir, archive)
}

fn reserve(cache: &Cache, lifetime: Lifetime) -> Result<(Berth, u8)> {
    let runs = Runs::take_turn(cache)?;
    let directory = runs.create(KIND, lifetime)?;
    let taken = runs.nets()?;
    let net = NETS
        .into_iter()
        .find(|net| !taken.contains(net) && can_bind(*net).is_ok())
        .with_context(|| no_net(taken.len()))?;
    directory.reserve_net(net)?;
    Ok((Berth::new(cache, directory)?, net))
}

/// Why there is no network for another cluster, and what to do.
fn no_net(clusters: usize) -> String {
    if clusters == 0 {
        return format!(
            "no free network for a cluster: another process listens on port {API_PORT} of all \
            loopback addresses; find it with `ss -ltnp` and stop it"
        );
    }
    "all networks for clusters are in use; stop one: cargo xtask kube down".to_owned()
}

fn address_in(net: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, net, 0, 1)
}

fn can_bind(net: u8) -> std::io::Result<TcpListener> {
    TcpListener::bind((address_in(net), API_PORT))
}

/// Tells a port that this user may not open from one that is taken.
fn check_port() -> Result<()> {
    match can_bind(*NETS.end()) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            bail!(
                "port {API_PORT} requires root, or: sysctl \
                net.ipv4.ip_unprivileged_port_start=443"
            )
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_clusters_it_is_somebody_else_who_has_the_port() {
        assert!(
            no_net(0).contains("another process listens on port 443 of all loopback addresses")
        );
        assert!(no_net(31).contains("stop one: cargo xtask kube down"));
    }
}
