//! etcd, the API server, the controllers and the scheduler.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::binaries::Binaries;
use super::pki::Pki;
use crate::command::find;
use crate::http::{HttpResponse, TlsClient};
use crate::managed_run::ManagedRun;
use crate::pid_namespace::Component;
use crate::wait;

/// Ten times the start of each component on two busy cores.
const START_TIMEOUT: Duration = Duration::from_mins(2);

const ETCD_CLIENTS: u16 = 2379;
const ETCD_PEERS: u16 = 2380;

/// The first minor version without the insecure port and its flag.
const NO_INSECURE_PORT: u32 = 24;

/// Tests need user, verb and resource; bodies would make the log large.
const AUDIT_POLICY: &str = "apiVersion: audit.k8s.io/v1\n\
                            kind: Policy\n\
                            omitStages: [RequestReceived]\n\
                            rules: [{level: Metadata}]\n";

/// In MB, more than a run writes: readers keep an offset, which a rotation would invalidate.
const MAX_AUDIT_LOG_MB: u32 = 100_000;

/// The shared settings of the components of a control plane.
pub(super) struct ControlPlane<'a> {
    pub(super) binaries: &'a Binaries,
    pub(super) pki: &'a Pki,
    pub(super) client: &'a TlsClient,
    pub(super) address: Ipv4Addr,
}

impl ControlPlane<'_> {
    /// Starts etcd on a tmpfs: its data is not kept, and fsync would be slow.
    pub(super) fn start_etcd(&self, run: &mut ManagedRun) -> Result<()> {
        let data = run.join("etcd");
        fs::create_dir_all(&data)?;
        let data = data.display().to_string();
        run.run("mount", ["-t", "tmpfs", "-o", "mode=0700", "tmpfs", &data], START_TIMEOUT)?;
        self.start_etcd_with(run, &data)
    }

    fn start_etcd_with(&self, run: &mut ManagedRun, data: &str) -> Result<()> {
        let arguments = self.etcd_arguments(data);
        let program = self.binaries.etcd.clone().or_else(|| find("etcd"));
        let program = program.context("etcd is missing: apt-get install etcd-server")?;
        let etcd = run.spawn("etcd", &program, arguments)?;
        self.until_ok(&etcd, ETCD_CLIENTS, "/health", |response| response.status == 200)
    }

    /// Saves a snapshot of etcd to a file.
    pub(super) fn save_etcd(&self, run: &ManagedRun, file: &Path) -> Result<()> {
        let arguments = [
            format!("--endpoints=https://{}:{ETCD_CLIENTS}", self.address),
            format!("--cacert={}", self.pki.path("ca.crt")),
            format!("--cert={}", self.pki.path("etcd.crt")),
            format!("--key={}", self.pki.path("etcd.key")),
            "snapshot".to_owned(),
            "save".to_owned(),
            file.display().to_string(),
        ];
        run.run("etcdctl", arguments, START_TIMEOUT).map(drop)
    }

    /// Starts etcd with a snapshot, in a new data directory. It must not run.
    pub(super) fn restore_etcd(&self, run: &mut ManagedRun, file: &Path) -> Result<()> {
        let data = file.with_extension("restored").display().to_string();
        let peers = format!("http://{}:{ETCD_PEERS}", self.address);
        let arguments = [
            "snapshot".to_owned(),
            "restore".to_owned(),
            file.display().to_string(),
            format!("--data-dir={data}"),
            format!("--initial-cluster=default={peers}"),
            format!("--initial-advertise-peer-urls={peers}"),
        ];
        run.run("etcdctl", arguments, START_TIMEOUT)?;
        self.start_etcd_with(run, &data)
    }

    fn etcd_arguments(&self, data: &str) -> Vec<String> {
        let clients = format!("https://{}:{ETCD_CLIENTS}", self.address);
        // A single member has no peers, but etcd requires the address.
        let peers = format!("http://{}:{ETCD_PEERS}", self.address);
        vec![
            format!("--data-dir={data}"),
            format!("--listen-client-urls={clients}"),
            format!("--advertise-client-urls={clients}"),
            format!("--listen-peer-urls={peers}"),
            format!("--initial-advertise-peer-urls={peers}"),
            format!("--initial-cluster=default={peers}"),
            format!("--cert-file={}", self.pki.path("etcd.crt")),
            format!("--key-file={}", self.pki.path("etcd.key")),
            format!("--trusted-ca-file={}", self.pki.path("ca.crt")),
            "--client-cert-auth".to_owned(),
        ]
    }

    /// Starts the API server. [`Self::until_api_server_is_ready`] waits for it.
    pub(super) fn start_api_server(
        &self,
        run: &mut ManagedRun,
        audit_log: &Path,
    ) -> Result<Component> {
        let policy = run.join("audit-policy.yaml");
        fs::write(&policy, AUDIT_POLICY)?;
        let mut arguments = self.api_server_arguments();
        arguments.push(format!("--audit-policy-file={}", policy.display()));
        arguments.push(format!("--audit-log-path={}", audit_log.display()));
        arguments.push(format!("--audit-log-maxsize={MAX_AUDIT_LOG_MB}"));
        run.spawn("kube-apiserver", &self.binaries.api_server, arguments)
    }

    fn api_server_arguments(&self) -> Vec<String> {
        let Self { address, pki, .. } = self;
        let [first, second, third, _] = address.octets();
        let port = super::API_PORT;
        vec![
            format!("--bind-address={address}"),
            format!("--advertise-address={address}"),
            format!("--secure-port={port}"),
            // Endpoints must not be loopback addresses, and no component reads them.
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--service-cluster-ip-range={first}.{second}.{third}.0/24"),
            format!("--etcd-servers=https://{address}:{ETCD_CLIENTS}"),
            format!("--etcd-cafile={}", pki.path("ca.crt")),
            format!("--etcd-certfile={}", pki.path("etcd.crt")),
            format!("--etcd-keyfile={}", pki.path("etcd.key")),
            format!("--tls-cert-file={}", pki.path("apiserver.crt")),
            format!("--tls-private-key-file={}", pki.path("apiserver.key")),
            format!("--client-ca-file={}", pki.path("ca.crt")),
            format!("--service-account-key-file={}", pki.path("sa.pub")),
            format!("--service-account-signing-key-file={}", pki.path("sa.key")),
            format!("--service-account-issuer=https://{address}:{port}"),
            "--authorization-mode=Node,RBAC".to_owned(),
            "--allow-privileged=true".to_owned(),
            "--kubelet-preferred-address-types=InternalIP".to_owned(),
            format!("--kubelet-certificate-authority={}", pki.path("ca.crt")),
            format!("--kubelet-client-certificate={}", pki.path("admin.crt")),
            format!("--kubelet-client-key={}", pki.path("admin.key")),
        ]
    }

    pub(super) fn until_api_server_is_ready(&self, api_server: &Component) -> Result<()> {
        self.until_ok(api_server, super::API_PORT, "/readyz", |response| response.body == "ok")
    }

    /// Starts the controller manager and the scheduler, if they exist.
    pub(super) fn start_controllers(&self, run: &mut ManagedRun) -> Result<Option<Component>> {
        if let Some(program) = &self.binaries.scheduler {
            let kubeconfig = self.pki.kubeconfig(&self.server(), &self.pki.scheduler);
            let arguments = self.common_arguments(run, "scheduler", &kubeconfig)?;
            run.spawn("kube-scheduler", program, arguments)?;
        }
        let Some(program) = &self.binaries.controller_manager else { return Ok(None) };
        let kubeconfig = self.pki.kubeconfig(&self.server(), &self.pki.controller_manager);
        let mut arguments = self.common_arguments(run, "controller-manager", &kubeconfig)?;
        arguments.extend([
            format!("--service-account-private-key-file={}", self.pki.path("sa.key")),
            format!("--root-ca-file={}", self.pki.path("ca.crt")),
            format!("--cluster-signing-cert-file={}", self.pki.path("ca.crt")),
            format!("--cluster-signing-key-file={}", self.pki.path("ca.key")),
            // Each controller has its own ServiceAccount, as on a real platform.
            "--use-service-account-credentials=true".to_owned(),
            // Thirty controllers request their credentials at once, and an installation of a thousand objects
            // would measure the rate limit.
            "--kube-api-qps=500".to_owned(),
            "--kube-api-burst=1000".to_owned(),
        ]);
        run.spawn("kube-controller-manager", program, arguments).map(Some)
    }

    fn common_arguments(
        &self,
        run: &ManagedRun,
        name: &str,
        kubeconfig: &str,
    ) -> Result<Vec<String>> {
        let file = run.join(&format!("{name}.kubeconfig"));
        fs::write(&file, kubeconfig)?;
        let file = file.display();
        let mut arguments = vec![
            format!("--kubeconfig={file}"),
            format!("--authentication-kubeconfig={file}"),
            format!("--authorization-kubeconfig={file}"),
            format!("--bind-address={}", self.address),
            "--leader-elect=false".to_owned(),
        ];
        if self.binaries.minor_version < NO_INSECURE_PORT {
            arguments.push("--port=0".to_owned());
        }
        Ok(arguments)
    }

    /// Waits for the default ServiceAccount, which pods need.
    pub(super) fn until_pods_can_be_created(&self, controllers: &Component) -> Result<()> {
        let path = "/api/v1/namespaces/default/serviceaccounts/default";
        self.until_ok(controllers, super::API_PORT, path, |response| response.status == 200)
    }

    pub(super) fn server(&self) -> String {
        format!("https://{}:{}", self.address, super::API_PORT)
    }

    /// Polls a path until the response meets a condition. Fails if the component exits.
    pub(super) fn until_ok(
        &self,
        component: &Component,
        port: u16,
        path: &str,
        is_ready: impl Fn(&HttpResponse) -> bool,
    ) -> Result<()> {
        let address = SocketAddr::from((self.address, port));
        let what = format!("{} to be ready (https://{address}{path})", component.name);
        wait::until_logged(&what, START_TIMEOUT, &component.log, || {
            component.ensure_alive()?;
            // An error means that the component does not listen yet.
            let response = self.client.get(address, path).ok();
            Ok(response.filter(|response| is_ready(response)).map(drop))
        })
        .with_context(|| format!("{} did not start", component.name))
    }
}
