//! Catalogs: available operators, their versions and their current declarations.
//!
//! A cluster provides them as PackageManifests, with declarations of the newest bundle of each
//! channel. Maintainers have them as files, with declarations of all bundles.

mod file_based;
mod package_manifest;
mod subscription;

pub use file_based::{CatalogFile, UnquotedVersion};
pub use subscription::{PackageSource, Subscription, is_object_name};

use std::collections::BTreeMap;
use std::fmt;

use fairway_api::Version;
use schemars::JsonSchema;
use serde::Serialize;

use super::{MaximumVersion, OlmOperator};

/// Limits of packages, channels of a package and bundles of a package: ten times the largest
/// catalogs.
const MAX_PACKAGES: usize = 10_000;
const MAX_CHANNELS: usize = 1_000;
const MAX_BUNDLES: usize = 10_000;

/// Packages of all catalogs.
#[derive(Clone, Debug, Default)]
pub struct Catalogs {
    packages: Vec<Package>,
}

/// A package in a catalog, with all versions of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The catalog: `namespace/name` or a directory.
    pub catalog: String,
    /// Name of the package.
    pub name: String,
    /// Default channel.
    pub default_channel: Option<String>,
    /// Names of bundles, by channel.
    pub channels: BTreeMap<String, Vec<String>>,
    /// Bundles, by name.
    pub bundles: BTreeMap<String, Bundle>,
    /// Whether the package applies to its subscribers only. Users can add catalogs to a cluster, so
    /// a catalog must not affect operators from other catalogs.
    pub is_for_subscribers: bool,
}

/// A version of an operator in a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Version, if it is valid.
    pub version: Option<Version>,
    /// Declared maximum version; `None` if the catalog does not contain it.
    pub declared: Option<MaximumVersion>,
}

/// Reason why a part of a catalog cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// A PackageManifest has no such field.
    #[error("the package manifest has no {0}")]
    Incomplete(&'static str),
    /// The catalog exceeds a limit.
    #[error("the {what} has {count} {of}; the limit is {most}")]
    TooMany {
        /// Object that exceeds the limit.
        what: String,
        /// Number of items.
        count: usize,
        /// Kind of the items.
        of: &'static str,
        /// The limit.
        most: usize,
    },
    /// A file is invalid.
    #[error(transparent)]
    File(#[from] fairway_api::read::ReadError),
}

impl Catalogs {
    /// Adds a package.
    pub fn add(&mut self, package: Package) -> Result<(), CatalogError> {
        let count = self.packages.len() + 1;
        if count > MAX_PACKAGES {
            let (what, of) = ("cluster".to_owned(), "packages");
            return Err(CatalogError::TooMany { what, count, of, most: MAX_PACKAGES });
        }
        self.packages.push(package);
        Ok(())
    }

    /// All packages.
    pub fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// Adds the catalogs' current declaration and newer versions to an operator.
    pub fn apply_to(&self, operator: OlmOperator, subscriptions: &[Subscription]) -> OlmOperator {
        let subscription = subscriptions.iter().find(|it| it.installed(&operator));
        let Some(package) = self.package_of(&operator, subscription) else { return operator };
        let declared = package.bundles.get(&operator.name).and_then(|it| it.declared.as_ref());
        let operator = match declared {
            Some(declared) => operator.updated_by(declared),
            None => operator,
        };
        let ways_out = newer_versions(package, &operator.name, subscription);
        OlmOperator { ways_out, ..operator }
    }

    /// The package of an operator. Without a subscription, it is the only package of a file-based
    /// catalog with the operator's bundle.
    fn package_of(
        &self,
        operator: &OlmOperator,
        subscription: Option<&Subscription>,
    ) -> Option<&Package> {
        let is_it = |package: &&Package| match subscription {
            Some(it) => package.catalog == it.catalog && package.name == it.package,
            None => !package.is_for_subscribers && package.bundles.contains_key(&operator.name),
        };
        let mut found = self.packages.iter().filter(is_it);
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }
}

impl Package {
    fn new(catalog: &str, name: &str) -> Self {
        Self {
            catalog: catalog.to_owned(),
            name: name.to_owned(),
            default_channel: None,
            channels: BTreeMap::new(),
            bundles: BTreeMap::new(),
            is_for_subscribers: false,
        }
    }

    /// The bundle of a channel with the highest version.
    pub fn head(&self, channel: &str) -> Option<&str> {
        let bundles = self.channels.get(channel)?.iter();
        let version = |name: &&String| self.bundles.get(*name).and_then(|it| it.version.clone());
        bundles.max_by_key(version).map(String::as_str)
    }

    fn within_limits(self) -> Result<Self, CatalogError> {
        for (count, of, most) in [
            (self.channels.len(), "channels", MAX_CHANNELS),
            (self.bundles.len(), "bundles", MAX_BUNDLES),
        ] {
            if count > most {
                let what = format!("package {}", self.name);
                return Err(CatalogError::TooMany { what, count, of, most });
            }
        }
        Ok(self)
    }
}

/// Version of an operator that supports a target release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorUpgrade {
    /// Name of the ClusterServiceVersion.
    pub name: String,
    /// Version of the operator.
    pub version: Version,
    /// Channel that contains the version.
    pub channel: String,
    /// Catalog that contains the version.
    pub catalog: String,
    /// Maximum cluster version that it declares.
    #[serde(skip)]
    pub declared: MaximumVersion,
    /// Whether the channel differs from that of the Subscription.
    pub channel_change: bool,
    /// Whether the install plan needs manual approval.
    pub manual_approval: bool,
}

/// The newer versions of an operator in a package, nearest first. Versions in the subscribed
/// channel come first.
fn newer_versions(
    package: &Package,
    installed: &str,
    subscription: Option<&Subscription>,
) -> Vec<OperatorUpgrade> {
    let Some(current) = package.bundles.get(installed).and_then(|it| it.version.as_ref()) else {
        return Vec::new();
    };
    let followed = subscription.and_then(|it| it.channel.as_ref());
    let followed = followed.or(package.default_channel.as_ref());
    // A bundle in several channels is listed once: in the subscribed channel, otherwise in the
    // first one.
    let mut channel_of: BTreeMap<&String, &String> = BTreeMap::new();
    for (channel, names) in &package.channels {
        for name in names {
            let known = channel_of.entry(name).or_insert(channel);
            if followed == Some(channel) {
                *known = channel;
            }
        }
    }
    let ways_out = channel_of.into_iter().filter_map(|(name, channel)| {
        let bundle = package.bundles.get(name)?;
        let version = bundle.version.clone().filter(|version| version > current)?;
        Some(OperatorUpgrade {
            name: name.clone(),
            version,
            channel: channel.clone(),
            catalog: package.catalog.clone(),
            declared: bundle.declared.clone()?,
            channel_change: followed != Some(channel),
            manual_approval: subscription.is_some_and(|it| it.is_manual),
        })
    });
    let mut all: Vec<OperatorUpgrade> = ways_out.collect();
    all.sort_by(|one, other| {
        (one.channel_change, &one.version).cmp(&(other.channel_change, &other.version))
    });
    all
}

impl fmt::Display for OperatorUpgrade {
    /// Instruction to update the operator.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, version: _, channel, catalog, declared, channel_change, manual_approval } =
            self;
        if *channel_change {
            write!(f, "switch to channel {channel} of {catalog} and update to {name}")?;
        } else {
            write!(f, "update to {name} in channel {channel} of {catalog}")?;
        }
        if *manual_approval {
            f.write_str(", which requires manual approval")?;
        }
        if declared.maximum().is_none() {
            f.write_str(" (it declares no maximum version)")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        DeclarationSource, MAXIMUM_ANNOTATION, MinorVersion, MissingPolicy, OlmPolicy,
    };
    use super::*;
    use serde_json::json;
    use std::collections::BTreeSet;

    const CATALOG: &str = r#"
{"schema":"olm.package","name":"etcd","defaultChannel":"stable"}
{"schema":"olm.channel","package":"etcd","name":"stable","entries":[{"name":"etcd.v1.0.0"},{"name":"etcd.v1.1.0"},{"name":"etcd.v1.2.0"}]}
{"schema":"olm.channel","package":"etcd","name":"fast","entries":[{"name":"etcd.v1.1.5"},{"name":"etcd.v2.0.0"}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v1.0.0","properties":[{"type":"olm.package","value":{"version":"1.0.0"}},{"type":"olm.maxOpenShiftVersion","value":"4.8"}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v1.1.0","properties":[{"type":"olm.package","value":{"version":"1.1.0"}},{"type":"olm.maxOpenShiftVersion","value":"4.8"}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v1.1.5","properties":[{"type":"olm.package","value":{"version":"1.1.5"}},{"type":"olm.maxOpenShiftVersion","value":"4.9"}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v1.2.0","properties":[{"type":"olm.package","value":{"version":"1.2.0"}},{"type":"olm.maxOpenShiftVersion","value":"4.9"}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v2.0.0","properties":[{"type":"olm.package","value":{"version":"2.0.0"}},{"type":"olm.maxOpenShiftVersion","value":"4.11"}]}
"#;

    fn catalogs() -> Catalogs {
        let file = CatalogFile::read("catalog.json", CATALOG.as_bytes()).unwrap();
        Catalogs::from_files("market/main", [file]).unwrap()
    }

    fn etcd(maximum: &str) -> OlmOperator {
        let annotations = [(MAXIMUM_ANNOTATION.to_owned(), maximum.to_owned())];
        OlmOperator::read("team", "etcd.v1.0.0", &annotations.into())
    }

    fn subscription(channel: &str, approval: &str) -> Subscription {
        let subscription = json!({
            "metadata": {"namespace": "team", "name": "etcd"},
            "spec": {"name": "etcd", "source": "main", "sourceNamespace": "market",
                     "channel": channel, "installPlanApproval": approval},
            "status": {"installedCSV": "etcd.v1.0.0"},
        });
        Subscription::read(&subscription).unwrap()
    }

    #[test]
    fn apply_to_replaces_declaration() {
        let operator = catalogs().apply_to(etcd("4.7"), &[]);
        let catalog = DeclarationSource::Catalog("market/main".to_owned());
        assert_eq!(operator.declared, MaximumVersion::Maximum(MinorVersion::new(4, 8), catalog));
        assert_eq!(operator.superseded, Some(etcd("4.7").declared));
    }

    #[test]
    fn nearest_upgrade_prefers_subscribed_channel() {
        let nearest_upgrade = |subscription: Option<Subscription>, target| {
            let operator = catalogs().apply_to(etcd("4.8"), &Vec::from_iter(subscription));
            let found =
                operator.nearest_upgrade(OlmPolicy::default(), MinorVersion::new(4, 8), target);
            found.map_or("none".to_owned(), ToString::to_string)
        };
        let (next, skip, far) =
            (MinorVersion::new(4, 9), MinorVersion::new(4, 10), MinorVersion::new(5, 0));
        let all = [
            nearest_upgrade(None, next),
            nearest_upgrade(Some(subscription("stable", "Automatic")), next),
            nearest_upgrade(Some(subscription("stable", "Manual")), skip),
            nearest_upgrade(Some(subscription("fast", "Manual")), next),
            nearest_upgrade(Some(subscription("fast", "Automatic")), far),
        ];
        insta::assert_snapshot!(all.join("\n"), @"
        update to etcd.v1.2.0 in channel stable of market/main
        update to etcd.v1.2.0 in channel stable of market/main
        switch to channel fast of market/main and update to etcd.v2.0.0, which requires manual approval
        update to etcd.v1.1.5 in channel fast of market/main, which requires manual approval
        none
        ");
    }

    #[test]
    fn bundle_in_several_channels_is_listed_once() {
        let mut package = catalogs().packages.remove(0);
        let names: Vec<String> = package.bundles.keys().cloned().collect();
        for channel in ["a", "fast", "stable", "z"] {
            package.channels.insert(channel.to_owned(), names.clone());
        }
        let channels = |followed: &str| {
            let ways_out =
                newer_versions(&package, "etcd.v1.0.0", Some(&subscription(followed, "Manual")));
            assert_eq!(ways_out.len(), names.len() - 1);
            ways_out.iter().map(|it| it.channel.clone()).collect::<BTreeSet<_>>()
        };
        assert_eq!(channels("stable"), BTreeSet::from(["stable".to_owned()]));
        assert_eq!(channels("gone"), BTreeSet::from(["a".to_owned()]));
    }

    #[test]
    fn bundle_without_declaration_is_last_choice() {
        let silent = r#"
{"schema":"olm.package","name":"etcd","defaultChannel":"stable"}
{"schema":"olm.channel","package":"etcd","name":"stable","entries":[{"name":"etcd.v1.0.0"},{"name":"etcd.v2.0.0"}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v1.0.0","properties":[{"type":"olm.package","value":{"version":"1.0.0"}}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v2.0.0","properties":[{"type":"olm.package","value":{"version":"2.0.0"}}]}
"#;
        let file = CatalogFile::read("catalog.json", silent.as_bytes()).unwrap();
        let operator =
            Catalogs::from_files("market/main", [file]).unwrap().apply_to(etcd("4.8"), &[]);
        let nearest_upgrade = |policy| {
            operator
                .nearest_upgrade(policy, MinorVersion::new(4, 8), MinorVersion::new(4, 9))
                .map(ToString::to_string)
        };
        insta::assert_snapshot!(nearest_upgrade(OlmPolicy::default()).unwrap(), @"update to etcd.v2.0.0 in channel stable of market/main (it declares no maximum version)");
        let strict = OlmPolicy { missing: MissingPolicy::Block, ..OlmPolicy::default() };
        assert_eq!(nearest_upgrade(strict), None);
    }

    #[test]
    fn package_manifest_applies_to_subscribers_only() {
        let manifest = json!({"status": {
            "catalogSource": "main", "catalogSourceNamespace": "market", "packageName": "etcd",
            "channels": [{"name": "stable", "currentCSV": "etcd.v1.0.0", "currentCSVDesc": {
                "version": "1.0.0", "annotations": {MAXIMUM_ANNOTATION: "4.20"},
            }}],
        }});
        let mut catalogs = Catalogs::default();
        catalogs.add(Package::read(&manifest).unwrap()).unwrap();
        assert_eq!(catalogs.apply_to(etcd("4.7"), &[]), etcd("4.7"));
        let operator = catalogs.apply_to(etcd("4.7"), &[subscription("stable", "Automatic")]);
        assert_eq!(operator.declared.maximum(), Some(MinorVersion::new(4, 20)));
    }

    #[test]
    fn operator_of_other_catalog_is_unchanged() {
        let mut other = subscription("stable", "Automatic");
        other.catalog = "market/other".to_owned();
        assert_eq!(catalogs().apply_to(etcd("4.7"), &[other]), etcd("4.7"));
    }
}
