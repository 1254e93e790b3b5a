//! How a cluster is reached.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use axum::Router;
use axum::http::header::USER_AGENT;
use fairway_sandbox::rbac::User;
use fairway_sandbox::sandbox::Sandbox;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// How a cluster is reached, with all permissions. A client belongs to the runtime in which it was
/// made; this makes another wherever one is needed.
#[derive(Clone)]
pub(crate) enum Access {
    /// As this file says.
    Kubeconfig(PathBuf),
    /// Without a network.
    InProcess(Router),
}

impl Access {
    /// A sandbox of this process.
    pub(crate) fn in_process(sandbox: &Sandbox) -> Self {
        let groups = ["system:masters", "system:authenticated"].map(str::to_owned).into();
        Self::InProcess(sandbox.client_service(User { name: "fairway-admin".to_owned(), groups }))
    }

    /// A client for the present runtime.
    pub(crate) async fn client(&self) -> Result<Client> {
        match self {
            Self::Kubeconfig(path) => Ok(Client::try_from(config(path).await?)?),
            Self::InProcess(service) => Ok(Client::new(service.clone(), "default")),
        }
    }

    /// A client of whoever bears that token.
    pub(crate) async fn bearing(kubeconfig: &Path, token: &str) -> Result<Client> {
        let mut config = config(kubeconfig).await?;
        config.auth_info = AuthInfo { token: Some(token.into()), ..AuthInfo::default() };
        Ok(Client::try_from(config)?)
    }

    /// An administrator's client with that `User-Agent`.
    pub(crate) async fn named(kubeconfig: &Path, user_agent: &str) -> Result<Client> {
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

/// Every process needs one TLS provider; a test program has no `main` to install it in.
pub(crate) fn install_tls_provider() {
    // An error means that another test of this process has done it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
