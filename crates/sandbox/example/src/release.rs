//! The releases of the platform and their manifests.
//!
//! A release contains the files of the previous release, with the files of its own directory
//! replacing those of the same name. The directory shows what a release changes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::{Date, date};
use jiff::tz::Offset;

use crate::files;

/// A component of the platform with its operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// Name of the component and its ClusterOperator.
    pub name: &'static str,
    /// Level in a rollout; components of one level are updated in parallel.
    pub level: &'static str,
}

/// The components, in rollout order.
pub const COMPONENTS: [Component; 6] = [
    Component { name: "network", level: "07" },
    Component { name: "cloud-credential", level: "50" },
    Component { name: "ingress", level: "50" },
    Component { name: "storage", level: "50" },
    Component { name: "fragile", level: "60" },
    Component { name: "machine-config", level: "80" },
];

/// A release of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Version.
    pub version: &'static str,
    /// Versions from which clusters can update to this release.
    pub previous: &'static [&'static str],
    /// Whether its operator supports preflights and its components have checks.
    pub preflights: bool,
    /// Build date; fixed for reproducible images.
    day: Date,
}

/// The releases, oldest first.
pub const RELEASES: [Release; 6] = [
    Release { version: "4.9.0", previous: &[], preflights: false, day: date(2025, 6, 3) },
    Release { version: "5.0.0", previous: &["4.9.0"], preflights: true, day: date(2026, 1, 13) },
    Release { version: "5.0.1", previous: &["5.0.0"], preflights: true, day: date(2026, 2, 10) },
    Release {
        version: "5.1.0",
        previous: &["5.0.0", "5.0.1"],
        preflights: true,
        day: date(2026, 5, 12),
    },
    // The update from 5.0.1 skips a minor version.
    Release {
        version: "5.2.0",
        previous: &["5.0.1", "5.1.0"],
        preflights: true,
        day: date(2026, 8, 11),
    },
    Release { version: "5.3.0", previous: &["5.2.0"], preflights: true, day: date(2026, 11, 10) },
];

/// Manifest with the preflight check of a component.
const PREFLIGHT: &str = "40-preflight.yaml";

impl Release {
    /// Build time.
    pub fn created(&self) -> Timestamp {
        Offset::UTC
            .to_timestamp(self.day.at(9, 0, 0, 0))
            .expect("the date is in the range of timestamps")
    }

    /// The release with this version.
    pub fn find(version: &str) -> Option<Self> {
        RELEASES.into_iter().find(|release| release.version == version)
    }

    /// Manifests by file name; `image` is the operators image.
    pub fn manifests(&self, image: &str) -> BTreeMap<String, String> {
        let mut manifests = BTreeMap::new();
        for Component { name, level } in COMPONENTS {
            let files = files::below("operators");
            for (file, text) in files.filter(|(file, _)| self.preflights || *file != PREFLIGHT) {
                let file = format!("0000_{level}_{name}_{file}");
                manifests.insert(file, text.replace("${OPERATOR}", name));
            }
        }
        for layer in self.layers() {
            let files = files::below(&layer).map(|(name, text)| (name.to_owned(), text.to_owned()));
            manifests.extend(files);
        }
        for text in manifests.values_mut() {
            *text = text.replace("${VERSION}", self.version).replace("${IMAGE}", image);
        }
        manifests
    }

    /// The overlaid directories, lowest first.
    fn layers(&self) -> Vec<String> {
        let index = RELEASES.iter().position(|release| release == self);
        let until = RELEASES.iter().take(index.map_or(0, |index| index + 1));
        let releases = until.map(|release| format!("releases/{}", release.version));
        std::iter::once("manifests".to_owned()).chain(releases).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifests(version: &str) -> BTreeMap<String, String> {
        Release::find(version).unwrap().manifests("registry.example/operators@sha256:1")
    }

    #[test]
    fn release_replaces_files_of_previous_release() {
        let (before, after) = (manifests("5.0.1"), manifests("5.1.0"));
        let changed = |name: &str| before.get(name) != after.get(name);
        assert!(changed("0000_50_ingress_50-defaults.yaml"));
        assert!(!changed("0000_50_storage_60-snapshots.yaml"));
        let mtu = "0000_07_network_50-defaults.yaml";
        assert_ne!(manifests("5.0.0")[mtu], before[mtu]);
        assert_eq!(before[mtu], after[mtu], "what 5.0.1 changed stays in 5.1.0");
    }

    #[test]
    fn manifests_have_no_placeholders() {
        for release in RELEASES {
            for (name, text) in release.manifests("image") {
                assert!(!text.contains("${"), "{} {name}:\n{text}", release.version);
            }
        }
    }

    #[test]
    fn previous_releases_exist_and_are_older() {
        for (index, release) in RELEASES.iter().enumerate() {
            for previous in release.previous {
                let position = RELEASES.iter().position(|other| other.version == *previous);
                assert!(position.is_some_and(|position| position < index), "{previous}");
            }
        }
    }
}
