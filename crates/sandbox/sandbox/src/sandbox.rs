//! A cluster in this process.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::{Api, StatusError};
use crate::bootstrap;
use crate::controllers;
use crate::faults::Faults;
use crate::node::{NodeError, NodeOptions, Nodes};
use crate::pki::{self, CertificateAuthority, ClientCertificate, PkiError, SERVICE_ADDRESS};
use crate::rbac::User;
use crate::registry;
use crate::server::{self, AuditLog, Caller, Server, ServerLimits};
use crate::token::{TokenError, Tokens};

/// Maximum duration of a shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Options of a sandbox.
#[derive(Clone, Debug)]
pub struct SandboxOptions {
    /// Directory of the kubeconfig, the audit log and the files of pods. It is created if missing.
    pub directory: PathBuf,
    /// Port on loopback; `None` for a free one.
    pub port: Option<u16>,
    /// Limits of the API server.
    pub limits: ServerLimits,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// OCI layout directories, or directories of them, with the images that pods can use.
    pub images: Vec<PathBuf>,
    /// The binary that runs pods: this one, with a `main` that calls the entry point of the node.
    /// Without it there are no nodes.
    pub program: Option<PathBuf>,
}

impl SandboxOptions {
    /// Default options for a directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            port: None,
            limits: ServerLimits::default(),
            nodes: vec!["node-1".to_owned()],
            images: Vec::new(),
            program: None,
        }
    }

    /// Sets the port.
    #[must_use]
    pub fn port(self, port: u16) -> Self {
        Self { port: Some(port), ..self }
    }

    /// Sets the nodes, the binary that runs their pods, and the images.
    #[must_use]
    pub fn nodes(self, names: Vec<String>, program: PathBuf, images: Vec<PathBuf>) -> Self {
        Self { nodes: names, program: Some(program), images, ..self }
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(self, limits: ServerLimits) -> Self {
        Self { limits, ..self }
    }
}

/// Why a sandbox cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A file or directory cannot be written.
    #[error("cannot write {}", path.display())]
    Directory {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The port is not available.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// There are no certificates.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// There is no token key.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The nodes cannot start.
    #[error(transparent)]
    Nodes(#[from] NodeError),
    /// The default objects cannot be created.
    #[error("cannot create the default objects of the cluster")]
    Bootstrap(#[from] StatusError),
}

/// A running cluster. Dropping it stops it; [`stop`](Self::stop) also waits for its tasks.
pub struct Sandbox {
    api: Api,
    server: Arc<Server>,
    router: Router,
    authority: CertificateAuthority,
    tokens: Arc<Tokens>,
    faults: Faults,
    address: SocketAddr,
    registry: SocketAddr,
    directory: PathBuf,
    audit: AuditLog,
    nodes: Option<Nodes>,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

impl Sandbox {
    /// Starts a cluster. It serves requests when this returns.
    pub async fn start(options: SandboxOptions) -> Result<Self, StartError> {
        let directory = options.directory.clone();
        create_directory(&directory)?;
        let (listener, address) = listen(options.port.unwrap_or_default()).await?;
        let authority = CertificateAuthority::create()?;
        let tokens = Arc::new(Tokens::create(&format!("https://{address}"))?);
        let audit_path = directory.join("audit.log");
        let audit = AuditLog::create(&audit_path)
            .map_err(|source| StartError::Directory { path: audit_path, source })?;

        let (api, faults, stopping) = (Api::default(), Faults::default(), CancellationToken::new());
        let server = Arc::new(Server::new(server::ServerParts {
            api: api.clone(),
            tokens: Arc::clone(&tokens),
            audit: audit.clone(),
            faults: faults.clone(),
            limits: options.limits,
            address: address.to_string(),
            stopping: stopping.clone(),
        }));
        let router = server::router(Arc::clone(&server));
        let (images, registry) = listen(0).await?;
        let tasks = TaskTracker::new();
        tasks.spawn(registry::serve(images, options.images.clone(), stopping.clone()));
        let tls = Arc::new(authority.server()?);
        // Some systems have only one loopback address. There, pods cannot use the Service.
        let service = TcpListener::bind((SERVICE_ADDRESS, address.port())).await.ok();
        for listener in [Some(listener), service].into_iter().flatten() {
            let (tls, router, server) = (Arc::clone(&tls), router.clone(), Arc::clone(&server));
            tasks.spawn(server::serve(listener, tls, router, server, tasks.clone()));
        }

        let mut sandbox = Self {
            nodes: None,
            api,
            server,
            router,
            authority,
            tokens,
            faults,
            address,
            registry,
            directory,
            audit,
            tasks,
            stopping,
        };
        bootstrap::bootstrap(&sandbox.api, address.port())?;
        sandbox.start_components(options).await?;
        sandbox.write_kubeconfig()?;
        Ok(sandbox)
    }

    /// Starts controllers and nodes. They end with the token, and access objects through the API.
    async fn start_components(&mut self, options: SandboxOptions) -> Result<(), StartError> {
        controllers::run(&self.api, &self.authority(), &self.stopping, &self.tasks);
        let Some(program) = options.program else { return Ok(()) };
        let options = NodeOptions {
            directory: self.directory.clone(),
            names: options.nodes,
            images: options.images,
            program,
            api_server: self.address,
            ca: self.authority(),
            tokens: Arc::clone(&self.tokens),
        };
        let nodes =
            Nodes::start(self.api.client("kubelet"), options, self.stopping.clone()).await?;
        self.server.serve_logs(nodes.logs());
        self.nodes = Some(nodes);
        Ok(())
    }

    /// The nodes, if there are any.
    pub fn nodes(&self) -> Option<&Nodes> {
        self.nodes.as_ref()
    }

    fn write_kubeconfig(&self) -> Result<(), StartError> {
        let admin =
            User { name: "fairway-admin".to_owned(), groups: vec!["system:masters".to_owned()] };
        let admin = self.authority.client(&admin)?;
        let text = pki::kubeconfig(&self.url(), &self.authority.certificate(), &admin);
        let path = self.kubeconfig();
        write_private(&path, &text).map_err(|source| StartError::Directory { path, source })
    }

    /// The API.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// The API as an HTTP service. Clients authenticate by a [`Caller`] or a token.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// The API as an HTTP service for one user, for `kube::Client::new`.
    pub fn client_service(&self, user: User) -> Router {
        self.router().layer(Extension(Caller(user)))
    }

    /// Issues a client certificate for a user.
    pub fn client_certificate(&self, user: &User) -> Result<ClientCertificate, PkiError> {
        self.authority.client(user)
    }

    /// The CA certificate in PEM.
    pub fn authority(&self) -> String {
        self.authority.certificate()
    }

    /// Issuer and verifier of ServiceAccount tokens.
    pub fn tokens(&self) -> &Arc<Tokens> {
        &self.tokens
    }

    /// Address of the API server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Address of the registry with the images of its nodes.
    pub fn registry(&self) -> SocketAddr {
        self.registry
    }

    /// URL of the API server.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Path of the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }

    /// Directory of its files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Path of the audit log.
    pub fn audit_log(&self) -> &Path {
        self.audit.path()
    }

    /// The injected faults.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Simulates a restart of the API server: closes all connections and compacts the history.
    pub fn restart(&self) {
        self.api.store().compact_all();
        self.server.close_connections();
    }

    /// Stops the cluster within bounded time.
    pub async fn stop(self) {
        self.stopping.cancel();
        self.server.close_connections();
        self.tasks.close();
        let ended = async {
            self.tasks.wait().await;
            if let Some(nodes) = &self.nodes {
                nodes.ended().await;
            }
        };
        if timeout(SHUTDOWN_TIMEOUT, ended).await.is_err() {
            tracing::warn!("shutdown timed out");
        }
        self.audit.flush().await;
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.stopping.cancel();
        self.server.close_connections();
    }
}

/// Creates the directory for the current user only: it has credentials, the audit log and the files
/// of pods. A directory with other files keeps its permissions, because others may use it.
fn create_directory(directory: &Path) -> Result<(), StartError> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};

    let create = || {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        if std::fs::read_dir(directory)?.next().is_none() {
            std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    };
    create().map_err(|source| StartError::Directory { path: directory.to_owned(), source })
}

async fn listen(port: u16) -> Result<(TcpListener, SocketAddr), StartError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let failed = |source| StartError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Writes a file that only the current user can read, because its credentials allow everything.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    // Remove the old file, whose permissions would be kept.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn directory_and_audit_log_are_private() {
        let parent = tempfile::tempdir().unwrap();
        let [new, empty, used] = ["a/new", "empty", "used"].map(|name| parent.path().join(name));
        for existing in [&empty, &used] {
            std::fs::create_dir(existing).unwrap();
            std::fs::set_permissions(existing, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        // An audit log of an earlier version.
        std::fs::write(used.join("audit.log"), "").unwrap();
        let log = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(used.join("audit.log"), log).unwrap();
        for (directory, expected) in [(&new, 0o700), (&empty, 0o700), (&used, 0o755)] {
            create_directory(directory).unwrap();
            AuditLog::create(&directory.join("audit.log")).unwrap();
            assert_eq!(mode(directory), expected, "{}", directory.display());
            assert_eq!(mode(&directory.join("audit.log")), 0o600, "{}", directory.display());
        }
    }
}
