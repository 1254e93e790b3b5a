//! A real Kubernetes on loopback.
//!
//! Services have addresses in 127.N.0.0/24 and the API server listens on 127.N.0.1:443, the address of
//! the Service `kubernetes`. Pods find it as on a platform, and no packet leaves the host. A pod with
//! `hostNetwork: true` has the network of the host. Any other pod has its own network namespace, in
//! which it reaches the API server and nothing else: no other pod, and no port of the host. There are
//! no network policies, which a network plugin would enforce. Every address of 127.0.0.0/8 is this host, so a Service reaches a pod that
//! listens on all addresses at the port of the Service, without kube-proxy.

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

use crate::cache::Cache;
use crate::http::TlsClient;
use crate::managed_run::ManagedRun;
use crate::packages::{self, Purpose};
use crate::process::{Process, resident_bytes};
use crate::run_dir::RunDirs;
use crate::{Lifetime, Progress};

/// The name of the directory and the state of a detached cluster.
pub const KIND: &str = "kube";

/// The port at which pods expect the API server.
const API_PORT: u16 = 443;

/// The candidates for N in 127.N.0.0/24, more than a host can run clusters.
const NETS: RangeInclusive<u8> = 96..=126;

/// Options of a cluster.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whether it has a node that runs pods.
    pub node: bool,
    /// The lifetime of the cluster.
    pub lifetime: Lifetime,
    /// The cache with its directory; by default that of the environment.
    pub cache: Option<Cache>,
    /// The binaries; by default [`Binaries::find`].
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

/// A running cluster. Dropping it stops it, unless it is detached:
/// [`state::stop`](crate::state::stop) stops that.
#[derive(Debug)]
pub struct Cluster {
    run: ManagedRun,
    address: Ipv4Addr,
    kubeconfig: PathBuf,
    audit_log: PathBuf,
    /// Once its components have started.
    parts: Option<(Binaries, Pki)>,
}

impl Cluster {
    /// Starts a cluster and waits until it is ready.
    pub fn start(options: Options) -> Result<Self> {
        Self::start_with(options, &|_| {})
    }

    /// [`Cluster::start`] with progress.
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
        let (run, net) = reserve(&cache, options.lifetime)?;
        let mut cluster = Self::new(run, net);
        cluster.start_components(&binaries, options.node, progress)?;
        if options.lifetime == Lifetime::Detached {
            let address = format!("{}:{API_PORT}", cluster.address);
            cluster.run.detach(&address, Some(&cluster.kubeconfig))?;
        }
        Ok(cluster)
    }

    fn new(run: ManagedRun, net: u8) -> Self {
        Self {
            address: address_in(net),
            kubeconfig: kubeconfig_in(run.path()),
            audit_log: audit_log_in(run.path()),
            parts: None,
            run,
        }
    }

    fn start_components(
        &mut self,
        binaries: &Binaries,
        with_node: bool,
        progress: Progress<'_>,
    ) -> Result<()> {
        let run = &mut self.run;
        let pki = Pki::create(&run.join("pki"), self.address)?;
        let client = TlsClient::new(&pki.ca, &pki.admin.certificate, &pki.admin.key)?;
        let plane = ControlPlane { binaries, pki: &pki, client: &client, address: self.address };
        fs::write(&self.kubeconfig, pki.kubeconfig(&plane.server(), &pki.admin))?;
        progress(&format!("starting the control plane on {} (about 5 seconds)", self.address));
        let node = if with_node { Some(Node::start_runtime(run, self.address)?) } else { None };
        plane.start_etcd(run)?;
        let api_server = plane.start_api_server(run, &self.audit_log)?;
        if let Some(node) = &node {
            node.import_pause_image(run)?;
        }
        plane.until_api_server_is_ready(&api_server)?;
        let controllers = plane.start_controllers(run)?;
        if let Some(node) = &node {
            progress("starting the node (about 8 seconds)");
            node.join(run, &plane)?;
        }
        controllers.map_or(Ok(()), |controllers| plane.until_pods_can_be_created(&controllers))?;
        self.parts = Some((binaries.clone(), pki));
        Ok(())
    }

    /// Saves a snapshot of etcd; returns its file.
    pub fn save_etcd(&self) -> Result<PathBuf> {
        packages::ensure(&[Purpose::EtcdClient], &|_| {})?;
        let (binaries, pki) = self.parts.as_ref().context("the cluster has not started")?;
        let client = TlsClient::new(&pki.ca, &pki.admin.certificate, &pki.admin.key)?;
        let plane = ControlPlane { binaries, pki, client: &client, address: self.address };
        let file = self.run.join("etcd-snapshot");
        plane.save_etcd(&self.run, &file)?;
        Ok(file)
    }

    /// Restores a snapshot of etcd under the running cluster, and starts the API server again, as an
    /// administrator does. All `resourceVersions` are lower after that.
    pub fn restore_etcd(&mut self, snapshot: &Path) -> Result<()> {
        let (binaries, pki) = self.parts.as_ref().context("the cluster has not started")?;
        let client = TlsClient::new(&pki.ca, &pki.admin.certificate, &pki.admin.key)?;
        let plane = ControlPlane { binaries, pki, client: &client, address: self.address };
        for name in ["kube-apiserver", "etcd"] {
            self.run.end(name)?;
        }
        plane.restore_etcd(&mut self.run, snapshot)?;
        let api_server = plane.start_api_server(&mut self.run, &self.audit_log)?;
        plane.until_api_server_is_ready(&api_server)
    }

    /// The kubeconfig with all permissions.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The audit log: one JSON event for each line.
    pub fn audit_log(&self) -> &Path {
        &self.audit_log
    }

    /// The address of the API server and of the node.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The directory of all its files, which is removed with the cluster.
    pub fn run_dir(&self) -> &Path {
        self.run.path()
    }

    /// The resident memory of the API server and etcd.
    pub fn resident_bytes(&self) -> Result<u64> {
        let components = ["kube-apiserver", "etcd"].map(|name| self.run.process(name));
        let resident = |process: Result<Process>| resident_bytes(process?.pid);
        components.into_iter().map(resident).sum()
    }

    /// Loads an image archive into the node, for pods with `imagePullPolicy: Never`.
    pub fn import_image(&self, archive: &Path) -> Result<()> {
        import_image(self.run_dir(), archive)
    }

    /// Stops the cluster and removes its directory.
    pub fn stop(mut self) -> Result<()> {
        self.run.stop()
    }
}

fn purposes(binaries: &Binaries, node: bool) -> Vec<Purpose> {
    let mut purposes = vec![Purpose::Namespace, Purpose::Kubectl];
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

fn reserve(cache: &Cache, lifetime: Lifetime) -> Result<(ManagedRun, u8)> {
    let run_dirs = RunDirs::take_turn(cache)?;
    let directory = run_dirs.create(KIND, lifetime)?;
    let taken = run_dirs.nets()?;
    let net = NETS
        .into_iter()
        .find(|net| !taken.contains(net) && can_bind(*net).is_ok())
        .with_context(|| no_net(taken.len()))?;
    directory.reserve_net(net)?;
    Ok((ManagedRun::new(cache, directory)?, net))
}

/// The message for a missing network, with a remedy.
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

/// Fails if the user may not bind the port.
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
    fn no_net_without_clusters_names_the_port() {
        assert!(
            no_net(0).contains("another process listens on port 443 of all loopback addresses")
        );
        assert!(no_net(31).contains("stop one: cargo xtask kube down"));
    }
}
