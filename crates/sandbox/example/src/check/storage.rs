//! Check: the storage driver is new enough.

use fairway_check::{CannotTell, Check, Context, Finding, Version};

use super::{cluster_value, release_value};

const NAMESPACE: &str = "openshift-storage";

/// The check of the storage operator.
#[derive(Clone, Copy, Debug)]
pub struct Storage;

impl Check for Storage {
    fn name(&self) -> &'static str {
        "storage"
    }

    async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
        let minimum =
            release_value(context, NAMESPACE, "storage-requirements", "minimum-csi-driver")?;
        let driver = cluster_value(context, NAMESPACE, "csi-driver", "version").await?;
        let (Some(minimum), Some(driver)) = (minimum, driver) else { return Ok(Vec::new()) };
        let finding = finding(&version(&driver)?, &version(&minimum)?, context.target());
        Ok(finding.into_iter().collect())
    }
}

fn finding(driver: &Version, minimum: &Version, target: &Version) -> Option<Finding> {
    if driver >= minimum {
        return None;
    }
    let message = format!(
        "Current CSI driver version {driver} incompatible with {target}. Minimum version {minimum} \
         required."
    );
    let remediation = format!(
        "Update the driver: `kubectl -n {NAMESPACE} patch configmap csi-driver --type=merge -p \
         '{{\"data\":{{\"version\":\"{minimum}\"}}}}'`"
    );
    let finding = Finding::critical("StorageCSIDriverIncompatible", message);
    Some(finding.remediation(remediation).url("https://platform.example/storage/csi-driver"))
}

fn version(text: &str) -> Result<Version, CannotTell> {
    let text = text.trim().trim_start_matches('v');
    Version::parse(text).map_err(|_| {
        CannotTell::because(format!("the version of the CSI driver is invalid: {text:?}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_depends_on_driver_version() {
        let minimum = Version::new(2, 4, 0);
        for (driver, enough) in
            [("2.3.1", false), ("2.4.0-rc.1", false), ("v2.4.0", true), ("2.10.0", true)]
        {
            let driver = version(driver).unwrap();
            let finding = finding(&driver, &minimum, &Version::new(5, 2, 0));
            assert_eq!(finding.is_none(), enough, "{driver}");
        }
        insta::assert_snapshot!(version("new").unwrap_err(), @r#"the version of the CSI driver is invalid: "new""#);
    }
}
