//! Cluster configuration: kubeconfig, contexts, impersonation, and ServiceAccounts in pods.

use std::error::Error as _;
use std::path::Path;

use kube::Config;
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster,
    NamedContext,
};

use super::api_error::no_access;
use crate::args::cluster::ClusterArgs;
use crate::errors::HintExt as _;

/// Variable with the ServiceAccount directory of a sandbox pod on a host that does not allow mounts
/// at the usual path.
const SERVICE_ACCOUNT_DIRECTORY: &str =
    "FAIRWAY_MOUNT_VAR_RUN_SECRETS_KUBERNETES_IO_SERVICEACCOUNT";

/// Configuration from the kubeconfig, or in a pod from its ServiceAccount.
pub(crate) async fn infer() -> anyhow::Result<Config> {
    let Some(account) = std::env::var_os(SERVICE_ACCOUNT_DIRECTORY) else {
        return Ok(Config::infer().await?);
    };
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let server = format!(
        "https://{}:{}",
        variable("KUBERNETES_SERVICE_HOST"),
        variable("KUBERNETES_SERVICE_PORT")
    );
    let config = kubeconfig(&server, Path::new(&account));
    Ok(Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?)
}

fn kubeconfig(server: &str, account: &Path) -> Kubeconfig {
    let file = |name: &str| Some(account.join(name).display().to_string());
    let name = || "pod".to_owned();
    let cluster = Cluster {
        server: Some(server.to_owned()),
        certificate_authority: file("ca.crt"),
        ..Cluster::default()
    };
    let user = AuthInfo { token_file: file("token"), ..AuthInfo::default() };
    let context = Context { cluster: name(), user: Some(name()), ..Context::default() };
    Kubeconfig {
        clusters: vec![NamedCluster { name: name(), cluster: Some(cluster), ..Default::default() }],
        auth_infos: vec![NamedAuthInfo {
            name: name(),
            auth_info: Some(user),
            ..Default::default()
        }],
        contexts: vec![NamedContext { name: name(), context: Some(context), ..Default::default() }],
        current_context: Some(name()),
        ..Kubeconfig::default()
    }
}

/// Sets the impersonated user and groups. The groups of the kubeconfig belong to its user and are
/// replaced.
pub(super) fn impersonate(session: &mut AuthInfo, args: &ClusterArgs) {
    if let Some(user) = &args.act_as {
        session.impersonate = Some(user.clone());
        session.impersonate_groups = Some(args.act_as_groups.clone());
    }
}

/// Configuration from the arguments: a kubeconfig, or in a pod the ServiceAccount.
pub(super) async fn load(args: &ClusterArgs) -> anyhow::Result<Config> {
    let options = KubeConfigOptions { context: args.context.clone(), ..Default::default() };
    let configured = match &args.kubeconfig {
        Some(path) => match Kubeconfig::read_from(path) {
            Ok(read) => Config::from_custom_kubeconfig(read, &options).await,
            Err(error) => Err(error),
        },
        None if args.context.is_some() => Config::from_kubeconfig(&options).await,
        None => {
            // Outside of pods, the kubeconfig error is the relevant one.
            let inferred = Config::infer().await;
            return inferred.map_err(|error| no_access(error.source().unwrap_or(&error)));
        }
    };
    configured.map_err(|error| no_access(&error))
}

/// Names of all contexts, in the order of the kubeconfig.
pub(crate) fn names(args: &ClusterArgs) -> anyhow::Result<Vec<String>> {
    let read = match &args.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let kubeconfig = read.map_err(|error| no_access(&error))?;
    let names: Vec<String> = kubeconfig.contexts.into_iter().map(|context| context.name).collect();
    Some(names).filter(|names| !names.is_empty()).with_hint(
        "the kubeconfig has no contexts",
        "set another kubeconfig with --kubeconfig or KUBECONFIG",
    )
}
