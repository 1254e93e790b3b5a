//! What an operator before this one has kept of preflights.

use fairway_findings::record::LABEL;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::time::timeout;

use crate::records::{PATIENCE, too_slow};
use crate::text;

/// Records that are listed at most: several times as many as are written.
const MAX_RECORDS: u32 = 100;

/// What is in the cluster.
pub(crate) async fn load(client: &Client, namespace: &str) -> Result<Vec<ConfigMap>, String> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let parameters = ListParams::default().labels(&format!("{LABEL}=true")).limit(MAX_RECORDS);
    match timeout(PATIENCE, api.list(&parameters)).await {
        Ok(Ok(found)) => Ok(found.items),
        Ok(Err(error)) => Err(text::chain(&error)),
        Err(_) => Err(too_slow()),
    }
}
