//! The checks of the platform's operators: what a release asks about a cluster before the cluster
//! gets it.
//!
//! The program is the same in all releases. What a release wants is in its manifests, so each finds
//! something else: a check compares them with what the cluster has, and decides in a function of the
//! two.

mod certificate;
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

/// How a check reaches the cluster; it is told a kubeconfig if there is one.
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

/// A text in a ConfigMap of the cluster.
async fn present(
    context: &Context,
    namespace: &str,
    map: &str,
    key: &str,
) -> Result<Option<String>, CannotTell> {
    let maps = context.cluster().read::<ConfigMap>().in_namespace(namespace);
    let data = maps.get(map).await?.and_then(|map| map.data);
    Ok(data.and_then(|mut data| data.remove(key)))
}

/// A text in a ConfigMap of the release.
fn wanted(
    context: &Context,
    namespace: &str,
    map: &str,
    key: &str,
) -> Result<Option<String>, CannotTell> {
    let found = context.manifests().find("ConfigMap", namespace, map)?;
    Ok(found.and_then(|map| map["data"][key].as_str().map(str::to_owned)))
}
