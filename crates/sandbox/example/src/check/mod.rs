//! Preflight checks of the platform's operators.
//!
//! The binary is the same in all releases; the requirements of a release are in its manifests. Each
//! check compares them with the state of the cluster in a pure function.

mod cloud_credential;
mod fragile;
mod ingress;
mod machine_config;
mod network;
mod storage;

use std::error::Error;
use std::path::PathBuf;

use fairway_check::{CannotTell, Context, Ending, main_with};
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;

pub use cloud_credential::CloudCredential;
pub use ingress::Ingress;
pub use machine_config::MachineConfig;
pub use network::Network;
pub use storage::Storage;

/// Connects a check to the cluster, with a kubeconfig if given.
pub type Connect =
    fn(Option<PathBuf>) -> BoxFuture<'static, Result<Client, Box<dyn Error + Send + Sync>>>;

/// Runs the check of a component; `None` if it has none.
pub fn main(component: &str, arguments: Vec<String>, connect: Connect) -> Option<Ending> {
    Some(match component {
        "cloud-credential" => main_with(CloudCredential, arguments, connect),
        "fragile" => fragile::main(arguments, connect),
        "ingress" => main_with(Ingress, arguments, connect),
        "machine-config" => main_with(MachineConfig, arguments, connect),
        "network" => main_with(Network, arguments, connect),
        "storage" => main_with(Storage, arguments, connect),
        _ => return None,
    })
}

/// A value in a ConfigMap of the cluster.
async fn cluster_value(
    context: &Context,
    namespace: &str,
    map: &str,
    key: &str,
) -> Result<Option<String>, CannotTell> {
    let maps = context.cluster().read::<ConfigMap>().in_namespace(namespace);
    let data = maps.get(map).await?.and_then(|map| map.data);
    Ok(data.and_then(|mut data| data.remove(key)))
}

/// A value in a ConfigMap of the target release.
fn release_value(
    context: &Context,
    namespace: &str,
    map: &str,
    key: &str,
) -> Result<Option<String>, CannotTell> {
    let finding = context.manifests().find("ConfigMap", namespace, map)?;
    Ok(finding.and_then(|map| map["data"][key].as_str().map(str::to_owned)))
}
