//! PackageManifests of a cluster.

use std::collections::BTreeMap;

use fairway_api::Version;
use serde::Deserialize;
use serde_json::Value;

use super::super::{DeclarationSource, MaximumVersion};
use super::{Bundle, CatalogError, Package};

// Fields that are missing count as empty.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PackageStatus {
    catalog_source: String,
    catalog_source_namespace: String,
    package_name: String,
    default_channel: String,
    channels: Vec<PackageChannel>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PackageChannel {
    name: String,
    #[serde(rename = "currentCSV")]
    current_csv: String,
    #[serde(rename = "currentCSVDesc")]
    current_csv_desc: BundleDescription,
    entries: Option<Vec<ChannelEntry>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BundleDescription {
    annotations: Option<BTreeMap<String, String>>,
    version: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChannelEntry {
    name: String,
    version: String,
}

impl Package {
    /// Reads a PackageManifest. Declarations are known for the newest bundle of each channel.
    pub fn read(manifest: &Value) -> Result<Self, CatalogError> {
        let status = manifest.get("status").ok_or(CatalogError::Incomplete("status"))?;
        let status = PackageStatus::deserialize(status)
            .map_err(|_| CatalogError::Incomplete("valid status"))?;
        if status.package_name.is_empty() {
            return Err(CatalogError::Incomplete("status.packageName"));
        }
        let catalog = format!("{}/{}", status.catalog_source_namespace, status.catalog_source);
        let mut package = Self::new(&catalog, &status.package_name);
        package.is_for_subscribers = true;
        package.default_channel = Some(status.default_channel).filter(|name| !name.is_empty());
        for channel in status.channels {
            package.add_channel(channel);
        }
        package.within_limits()
    }

    fn add_channel(&mut self, channel: PackageChannel) {
        let names = self.channels.entry(channel.name).or_default();
        let version = |text: &str| Version::parse_tolerant(text).ok();
        for ChannelEntry { name, version: text } in channel.entries.unwrap_or_default() {
            names.push(name.clone());
            let unknown = Bundle { version: version(&text), declared: None };
            self.bundles.entry(name).or_insert(unknown);
        }
        if !names.contains(&channel.current_csv) {
            names.push(channel.current_csv.clone());
        }
        let BundleDescription { annotations, version: text } = channel.current_csv_desc;
        let declared = MaximumVersion::read(&annotations.unwrap_or_default());
        let declared = match declared {
            MaximumVersion::Maximum(maximum, _) => {
                MaximumVersion::Maximum(maximum, DeclarationSource::Catalog(self.catalog.clone()))
            }
            other => other,
        };
        let head = Bundle { version: version(&text), declared: Some(declared) };
        self.bundles.insert(channel.current_csv, head);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::super::{MAXIMUM_ANNOTATION, MinorVersion};
    use super::*;

    #[test]
    fn package_manifest_declares_newest_bundles() {
        let manifest = json!({"metadata": {"name": "etcd"}, "status": {
            "catalogSource": "community", "catalogSourceNamespace": "marketplace",
            "packageName": "etcd", "defaultChannel": "stable",
            "channels": [
                {"name": "stable", "currentCSV": "etcd.v0.9.4", "currentCSVDesc": {
                    "version": "0.9.4", "annotations": {MAXIMUM_ANNOTATION: "4.9"}},
                 "entries": [
                    {"name": "etcd.v0.9.4", "version": "0.9.4"},
                    {"name": "etcd.v0.9.2", "version": "0.9.2"}]},
                {"name": "alpha", "currentCSV": "etcd.v0.9.2", "currentCSVDesc": {"version": "0.9.2"}},
            ],
        }});
        let package = Package::read(&manifest).unwrap();
        assert_eq!((&*package.catalog, &*package.name), ("marketplace/community", "etcd"));
        assert_eq!(package.channels["stable"], ["etcd.v0.9.4", "etcd.v0.9.2"]);
        assert_eq!(package.head("stable"), Some("etcd.v0.9.4"));
        let declared = |name: &str| package.bundles[name].declared.clone().unwrap();
        let catalog = DeclarationSource::Catalog("marketplace/community".to_owned());
        assert_eq!(
            declared("etcd.v0.9.4"),
            MaximumVersion::Maximum(MinorVersion::new(4, 9), catalog)
        );
        assert_eq!(declared("etcd.v0.9.2"), MaximumVersion::Missing);
    }

    #[test]
    fn invalid_package_manifest_fails() {
        let error_of = |manifest: Value| Package::read(&manifest).unwrap_err().to_string();
        let channels: Vec<Value> = (0..1001).map(|n| json!({"name": n.to_string()})).collect();
        let all = [
            error_of(json!({})),
            error_of(json!({"status": {"channels": 7}})),
            error_of(json!({"status": {}})),
            error_of(json!({"status": {"packageName": "etcd", "channels": channels}})),
        ];
        insta::assert_snapshot!(all.join("\n"), @"
        the package manifest has no status
        the package manifest has no valid status
        the package manifest has no status.packageName
        the package etcd has 1001 channels; the limit is 1000
        ");
    }

    proptest! {
        #[test]
        fn any_value_does_not_panic(name in "\\PC{0,9}", version in "\\PC{0,9}", value in "\\PC{0,9}") {
            let _ = Package::read(&json!({"status": {"packageName": name, "channels": [
                {"name": name, "currentCSV": name, "currentCSVDesc": {
                    "version": version, "annotations": {MAXIMUM_ANNOTATION: value}}},
            ]}}));
        }
    }
}
