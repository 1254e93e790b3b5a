//! Reaching the cluster from a pod.

use std::path::Path;

use kube::Config;
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster,
    NamedContext,
};

/// Where a pod of the sandbox finds the files of its ServiceAccount, if it runs on a machine that
/// lets nobody mount them where they belong.
const MOUNTED_ELSEWHERE: &str = "FAIRWAY_MOUNT_VAR_RUN_SECRETS_KUBERNETES_IO_SERVICEACCOUNT";

/// How the cluster is reached if nobody says so: as the kubeconfig has it, or in a pod by its
/// ServiceAccount.
pub(crate) async fn infer() -> anyhow::Result<Config> {
    let Some(account) = std::env::var_os(MOUNTED_ELSEWHERE) else {
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
