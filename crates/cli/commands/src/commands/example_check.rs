//! `fairway example-check`: the check of an operator of the example platform.

use std::error::Error;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use fairway_check::Ending;
use fairway_example::check;
use fairway_findings::environment;
use fairway_sandbox::init::plain;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::HeaderValue;
use http::header::USER_AGENT;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::args::example::ExampleCheckArgs;
use crate::cluster::{PROGRAM, account};
use crate::exit::ExitStatus;

pub(crate) fn run(args: ExampleCheckArgs) -> anyhow::Result<ExitStatus> {
    let ExampleCheckArgs { name, mut arguments } = args;
    if let Some(manifests) = manifests_directory() {
        arguments.push(format!("--manifests={}", manifests.display()));
    }
    match check::main(&name, arguments, connect) {
        Some(Ending::Answered) => Ok(ExitStatus::Success),
        Some(Ending::NotWritten) => Ok(ExitStatus::Error),
        Some(Ending::NotTold) => Ok(ExitStatus::Usage),
        None => bail!("the example platform has no component {name}"),
    }
}

/// Directory of the manifests, on a host that cannot mount them at their path.
fn manifests_directory() -> Option<PathBuf> {
    let wanted = std::env::var_os(environment::MANIFESTS)?;
    let variable = plain::mount_variable(Path::new(&wanted));
    std::env::var_os(variable).map(PathBuf::from)
}

fn connect(
    kubeconfig: Option<PathBuf>,
) -> BoxFuture<'static, Result<Client, Box<dyn Error + Send + Sync>>> {
    async { create_client(kubeconfig).await.map_err(Into::into) }.boxed()
}

async fn create_client(kubeconfig: Option<PathBuf>) -> anyhow::Result<Client> {
    let mut config = match kubeconfig {
        Some(path) => {
            let read = Kubeconfig::read_from(path)?;
            Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?
        }
        None => account::infer().await?,
    };
    config.headers.push((USER_AGENT, HeaderValue::from_static(PROGRAM)));
    // The check has its own retries and timeouts.
    config.default_retry = false;
    Client::try_from(config).context("cannot reach the cluster")
}
