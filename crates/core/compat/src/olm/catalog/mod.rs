//! Catalogs: which operators there are, in which versions, and what they declare by now.
//!
//! A cluster shows them as PackageManifests, which tell about the newest bundle of each channel;
//! maintainers have them as files, which tell about every bundle.

mod file_based;
mod package_manifest;
mod source;
mod subscription;
mod way_out;

use std::collections::BTreeMap;

use fairway_api::Version;

pub use file_based::{File, Unquoted};
pub use source::Source;
pub use subscription::Subscription;
pub use way_out::OperatorUpgrade;

use super::{Declaration, Operator};

/// Packages, channels of one, and bundles of one that are read: ten times what the largest
/// catalogs have.
const MAX_PACKAGES: usize = 10_000;
const MAX_CHANNELS: usize = 1_000;
const MAX_BUNDLES: usize = 10_000;

/// Everything that can be installed.
#[derive(Clone, Debug, Default)]
pub struct Catalogs {
    packages: Vec<Package>,
}

/// An operator in a catalog, in all its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The catalog, as `namespace/name` or by its directory.
    pub catalog: String,
    /// The name of the package.
    pub name: String,
    /// The channel of those who do not choose one.
    pub default_channel: Option<String>,
    /// The names of bundles, by channel.
    pub channels: BTreeMap<String, Vec<String>>,
    /// What is known about bundles, by name.
    pub bundles: BTreeMap<String, Bundle>,
    /// Whether it says something about those only who subscribe to it: anybody can bring a catalog
    /// into a cluster, and what it says about the operators of others is nothing.
    pub is_for_subscribers: bool,
}

/// One version of an operator in a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Its version, where it has one that can be read.
    pub version: Option<Version>,
    /// What it declares; `None` where the catalog does not tell.
    pub declared: Option<Declaration>,
}

/// Why a part of a catalog cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// It says nothing about what it is.
    #[error("the package manifest has no {0}")]
    Incomplete(&'static str),
    /// There is too much of something.
    #[error("the {what} has {count} {of}; the limit is {most}")]
    TooMany {
        /// What has too much.
        what: String,
        /// How much there is.
        count: usize,
        /// Of what.
        of: &'static str,
        /// How much is read.
        most: usize,
    },
    /// A file is not what it should be.
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

    /// What the catalogs say about an operator: what it declares by now, and the ways out.
    pub fn tell_about(&self, operator: Operator, subscriptions: &[Subscription]) -> Operator {
        let subscription = subscriptions.iter().find(|it| it.installed(&operator));
        let Some(package) = self.package_of(&operator, subscription) else { return operator };
        let declared = package.bundles.get(&operator.name).and_then(|it| it.declared.as_ref());
        let operator = match declared {
            Some(declared) => operator.updated_by(declared),
            None => operator,
        };
        let ways_out = way_out::all(package, &operator.name, subscription);
        Operator { ways_out, ..operator }
    }

    /// The package that an operator was installed from. Without a subscription, it is the one of
    /// files that has its bundle, if there is only one.
    fn package_of(
        &self,
        operator: &Operator,
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

    /// The newest bundle of a channel: the one with the highest version.
    pub fn head(&self, channel: &str) -> Option<&str> {
        let bundles = self.channels.get(channel)?.iter();
        let version = |name: &&String| self.bundles.get(*name).and_then(|it| it.version.clone());
        bundles.max_by_key(version).map(String::as_str)
    }

    fn vetted(self) -> Result<Self, CatalogError> {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::super::{MAXIMUM_ANNOTATION, MissingPolicy, Origin, Policy, Stream};
    use super::*;

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
        let file = File::read("catalog.json", CATALOG.as_bytes()).unwrap();
        Catalogs::of_files("market/main", [file]).unwrap()
    }

    fn etcd(maximum: &str) -> Operator {
        let annotations = [(MAXIMUM_ANNOTATION.to_owned(), maximum.to_owned())];
        Operator::read("team", "etcd.v1.0.0", &annotations.into())
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
    fn what_the_catalog_says_by_now_counts() {
        let told = catalogs().tell_about(etcd("4.7"), &[]);
        let catalog = Origin::Catalog("market/main".to_owned());
        assert_eq!(told.declared, Declaration::Maximum(Stream::new(4, 8), catalog));
        assert_eq!(told.superseded, Some(etcd("4.7").declared));
    }

    #[test]
    fn the_nearest_way_out_is_in_the_channel_that_is_followed() {
        let way_out = |subscription: Option<Subscription>, target| {
            let told = catalogs().tell_about(etcd("4.8"), &Vec::from_iter(subscription));
            let found = told.way_out(Policy::default(), Stream::new(4, 8), target);
            found.map_or("none".to_owned(), ToString::to_string)
        };
        let (next, skip, far) = (Stream::new(4, 9), Stream::new(4, 10), Stream::new(5, 0));
        let all = [
            way_out(None, next),
            way_out(Some(subscription("stable", "Automatic")), next),
            way_out(Some(subscription("stable", "Manual")), skip),
            way_out(Some(subscription("fast", "Manual")), next),
            way_out(Some(subscription("fast", "Automatic")), far),
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
    fn a_version_in_many_channels_is_one_way_out() {
        let mut package = catalogs().packages.remove(0);
        let names: Vec<String> = package.bundles.keys().cloned().collect();
        for channel in ["a", "fast", "stable", "z"] {
            package.channels.insert(channel.to_owned(), names.clone());
        }
        let channels = |followed: &str| {
            let ways_out =
                way_out::all(&package, "etcd.v1.0.0", Some(&subscription(followed, "Manual")));
            assert_eq!(ways_out.len(), names.len() - 1);
            ways_out.iter().map(|it| it.channel.clone()).collect::<BTreeSet<_>>()
        };
        assert_eq!(channels("stable"), BTreeSet::from(["stable".to_owned()]));
        assert_eq!(channels("gone"), BTreeSet::from(["a".to_owned()]));
    }

    #[test]
    fn a_version_that_declares_nothing_is_a_way_out_where_no_other_is_known() {
        let silent = r#"
{"schema":"olm.package","name":"etcd","defaultChannel":"stable"}
{"schema":"olm.channel","package":"etcd","name":"stable","entries":[{"name":"etcd.v1.0.0"},{"name":"etcd.v2.0.0"}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v1.0.0","properties":[{"type":"olm.package","value":{"version":"1.0.0"}}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v2.0.0","properties":[{"type":"olm.package","value":{"version":"2.0.0"}}]}
"#;
        let file = File::read("catalog.json", silent.as_bytes()).unwrap();
        let told = Catalogs::of_files("market/main", [file]).unwrap().tell_about(etcd("4.8"), &[]);
        let way_out = |policy| {
            told.way_out(policy, Stream::new(4, 8), Stream::new(4, 9)).map(ToString::to_string)
        };
        insta::assert_snapshot!(way_out(Policy::default()).unwrap(), @"update to etcd.v2.0.0 in channel stable of market/main (it declares no maximum version)");
        let strict = Policy { missing: MissingPolicy::Block, ..Policy::default() };
        assert_eq!(way_out(strict), None);
    }

    #[test]
    fn a_catalog_of_a_cluster_speaks_to_its_subscribers_alone() {
        let manifest = json!({"status": {
            "catalogSource": "main", "catalogSourceNamespace": "market", "packageName": "etcd",
            "channels": [{"name": "stable", "currentCSV": "etcd.v1.0.0", "currentCSVDesc": {
                "version": "1.0.0", "annotations": {MAXIMUM_ANNOTATION: "4.20"},
            }}],
        }});
        let mut catalogs = Catalogs::default();
        catalogs.add(Package::read(&manifest).unwrap()).unwrap();
        assert_eq!(catalogs.tell_about(etcd("4.7"), &[]), etcd("4.7"));
        let told = catalogs.tell_about(etcd("4.7"), &[subscription("stable", "Automatic")]);
        assert_eq!(told.declared.maximum(), Some(Stream::new(4, 20)));
    }

    #[test]
    fn an_operator_of_another_catalog_is_not_ours() {
        let mut other = subscription("stable", "Automatic");
        other.catalog = "market/other".to_owned();
        assert_eq!(catalogs().tell_about(etcd("4.7"), &[other]), etcd("4.7"));
    }
}
