//! Clients for a cluster.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::http::header::USER_AGENT;
use fairway_sandbox::rbac::User;
use fairway_sandbox::sandbox::Sandbox;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// Creates clients with all permissions. A client belongs to the runtime in which it was created, so
/// destructors and threads create their own.
#[derive(Clone)]
pub(crate) enum Access {
    /// Over the network.
    Kubeconfig(PathBuf),
    /// In this process, without a network.
    InProcess(Router),
}

impl Access {
    /// Access to a sandbox of this process.
    pub(crate) fn in_process(sandbox: &Sandbox) -> Self {
        let groups = ["system:masters", "system:authenticated"].map(str::to_owned).into();
        Self::InProcess(sandbox.client_service(User { name: "fairway-admin".to_owned(), groups }))
    }

    /// A client for the current runtime.
    pub(crate) async fn client(&self) -> Result<Client> {
        match self {
            Self::Kubeconfig(path) => Ok(Client::try_from(config(path).await?)?),
            Self::InProcess(service) => Ok(Client::new(service.clone(), "default")),
        }
    }

    /// A client that authenticates with a token.
    pub(crate) async fn with_token(kubeconfig: &Path, token: &str) -> Result<Client> {
        let mut config = config(kubeconfig).await?;
        config.auth_info = AuthInfo { token: Some(token.into()), ..AuthInfo::default() };
        Ok(Client::try_from(config)?)
    }

    /// A client with all permissions, a `User-Agent` and a read timeout.
    pub(crate) async fn with_read_timeout(
        kubeconfig: &Path,
        user_agent: &str,
        timeout: Duration,
    ) -> Result<Client> {
        let mut config = config(kubeconfig).await?;
        config.headers.push((USER_AGENT, user_agent.parse()?));
        Ok(Client::try_from(fairway_watch::with_read_timeout(config, timeout))?)
    }

    /// A client with all permissions and this `User-Agent`.
    pub(crate) async fn with_user_agent(kubeconfig: &Path, user_agent: &str) -> Result<Client> {
        let mut config = config(kubeconfig).await?;
        config.headers.push((USER_AGENT, user_agent.parse()?));
        Ok(Client::try_from(config)?)
    }
}

async fn config(kubeconfig: &Path) -> Result<Config> {
    install_tls_provider();
    let read = Kubeconfig::read_from(kubeconfig)
        .with_context(|| format!("cannot read {}", kubeconfig.display()))?;
    Ok(Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?)
}

/// Installs the TLS provider of this process; a test binary has no `main` to do it in.
pub(crate) fn install_tls_provider() {
    // An error means that another test of this process has installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
