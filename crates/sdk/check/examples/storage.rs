//! Check of a storage operator: finds drivers in use that the target release does not contain.

use std::collections::BTreeSet;
use std::process::ExitCode;

use fairway_check::{CannotTell, Check, Context, Finding};
use k8s_openapi::api::storage::v1::StorageClass;

pub(crate) struct Storage;

impl Check for Storage {
    fn name(&self) -> &'static str {
        "storage"
    }

    async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
        let mut brought = BTreeSet::new();
        context.manifests().each(|object| {
            if object["kind"] == "CSIDriver" {
                brought.extend(object["metadata"]["name"].as_str().map(str::to_owned));
            }
        })?;
        let mut used = BTreeSet::new();
        let classes = context.cluster().read::<StorageClass>();
        classes.each(|class| used.extend([class.provisioner])).await?;
        let target = context.target().to_string();
        Ok(missing(&used, &brought).map(|driver| finding(driver, &target)).collect())
    }
}

/// Drivers of this platform that are in use and that the target release does not contain.
fn missing<'a>(
    used: &'a BTreeSet<String>,
    brought: &'a BTreeSet<String>,
) -> impl Iterator<Item = &'a String> {
    used.difference(brought).filter(|driver| driver.ends_with(".platform.example"))
}

fn finding(driver: &str, target: &str) -> Finding {
    let message =
        format!("{target} does not include the storage driver {driver}, which is in use.");
    Finding::critical("StorageDriverRemoved", message)
        .remediation("Move volumes to another class: `kubectl get storageclasses`")
        .url("https://platform.example/storage/drivers")
}

fn main() -> ExitCode {
    fairway_check::main(Storage)
}
