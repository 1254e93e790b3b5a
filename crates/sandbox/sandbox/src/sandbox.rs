//! A cluster in this process: begun, used, and ended.

mod bootstrap;

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

use crate::api::{Api, Refusal};
use crate::controllers;
use crate::faults::Faults;
use crate::node::{NodeError, NodeOptions, Nodes};
use crate::pki::{self, Authority, Identity, PkiError, SERVICE_ADDRESS};
use crate::rbac::User;
use crate::registry;
use crate::server::{self, AuditLog, Caller, Limits, Server};
use crate::token::{TokenError, Tokens};

/// Whatever has not ended by itself after this time is given up when the sandbox stops.
const FAREWELL: Duration = Duration::from_secs(5);

/// How a sandbox is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the kubeconfig, the audit log and the files of pods are; it is made if it is missing.
    pub directory: PathBuf,
    /// The port on loopback; `None` for one that is free.
    pub port: Option<u16>,
    /// What requests get.
    pub limits: Limits,
    /// The names of the nodes.
    pub nodes: Vec<String>,
    /// OCI layout directories, or directories of them, with the images that pods can use.
    pub images: Vec<PathBuf>,
    /// The program that runs pods, which is this one with a `main` that begins as the node wants
    /// it; without it there are no nodes.
    pub program: Option<PathBuf>,
}

impl Options {
    /// With everything in this directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            port: None,
            limits: Limits::default(),
            nodes: vec!["node-1".to_owned()],
            images: Vec::new(),
            program: None,
        }
    }

    /// On this port.
    #[must_use]
    pub fn port(self, port: u16) -> Self {
        Self { port: Some(port), ..self }
    }

    /// With these nodes, whose pods this program runs with these images.
    #[must_use]
    pub fn nodes(self, names: Vec<String>, program: PathBuf, images: Vec<PathBuf>) -> Self {
        Self { nodes: names, program: Some(program), images, ..self }
    }

    /// With these limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }
}

/// Why a sandbox does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its directory cannot be used.
    #[error("cannot write {}", path.display())]
    Directory {
        /// What was to be written.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The port cannot be had.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// There are no certificates.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// There are no tokens.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// There are no nodes.
    #[error(transparent)]
    Nodes(#[from] NodeError),
    /// What every cluster has could not be made.
    #[error("cannot create the default objects of the cluster")]
    Bootstrap(#[from] Refusal),
}

/// A cluster in this process. It ends with this value, and in good order by [`stop`](Self::stop).
pub struct Sandbox {
    api: Api,
    server: Arc<Server>,
    router: Router,
    authority: Authority,
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
    /// Starts a cluster; it serves when this returns.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let directory = options.directory.clone();
        create_directory(&directory)?;
        let (listener, address) = listen(options.port.unwrap_or_default()).await?;
        let authority = Authority::create()?;
        let tokens = Arc::new(Tokens::create(&format!("https://{address}"))?);
        let audit_path = directory.join("audit.log");
        let audit = AuditLog::create(&audit_path)
            .map_err(|source| StartError::Directory { path: audit_path, source })?;

        let (api, faults, stopping) = (Api::default(), Faults::default(), CancellationToken::new());
        let server = Arc::new(Server::new(server::Parts {
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
        // Not every system has more than one address on loopback; pods there have to do without
        // the Service.
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
        sandbox.components(options).await?;
        sandbox.write_kubeconfig()?;
        Ok(sandbox)
    }

    /// Whatever acts on the cluster by itself begins here: it is spawned on the tracker, ends with
    /// the token, and reaches objects through the API.
    async fn components(&mut self, options: Options) -> Result<(), StartError> {
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

    /// What runs pods, if there is something.
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

    /// The objects and what happens to them.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// The API as a service: requests say who asks by a [`Caller`] or by a token.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// The API as a service for one user; `kube::Client::new` takes it.
    pub fn client_service(&self, user: User) -> Router {
        self.router().layer(Extension(Caller(user)))
    }

    /// A certificate by which the API knows a user.
    pub fn client_certificate(&self, user: &User) -> Result<Identity, PkiError> {
        self.authority.client(user)
    }

    /// The certificate of the authority, as a PEM text.
    pub fn authority(&self) -> String {
        self.authority.certificate()
    }

    /// What issues and verifies the tokens of service accounts.
    pub fn tokens(&self) -> &Arc<Tokens> {
        &self.tokens
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the images of its nodes can be read, as from any registry.
    pub fn registry(&self) -> SocketAddr {
        self.registry
    }

    /// Where clients reach it.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The file with which clients may do everything.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }

    /// Where its files are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Who asked for what.
    pub fn audit_log(&self) -> &Path {
        self.audit.path()
    }

    /// What goes wrong on purpose.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// What clients see when the API server starts anew: all connections are cut, and how things
    /// were before is forgotten.
    pub fn restart(&self) {
        self.api.store().compact_all();
        self.server.cut_connections();
    }

    /// Ends everything, in good order and in bounded time.
    pub async fn stop(self) {
        self.stopping.cancel();
        self.server.cut_connections();
        self.tasks.close();
        let ended = async {
            self.tasks.wait().await;
            if let Some(nodes) = &self.nodes {
                nodes.ended().await;
            }
        };
        if timeout(FAREWELL, ended).await.is_err() {
            tracing::warn!("shutdown timed out");
        }
        self.audit.flush().await;
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.stopping.cancel();
        self.server.cut_connections();
    }
}

fn create_directory(directory: &Path) -> Result<(), StartError> {
    std::fs::create_dir_all(directory)
        .map_err(|source| StartError::Directory { path: directory.to_owned(), source })
}

async fn listen(port: u16) -> Result<(TcpListener, SocketAddr), StartError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let failed = |source| StartError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Nobody else may read what lets one do everything.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    // Without the old file: its permissions would stay.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}
