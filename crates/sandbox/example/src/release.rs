//! Which releases there are, and what is in them.
//!
//! A release has what the one before it has, with the files of its own directory in place of those
//! of the same name: the directory shows what a release changes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::{Date, date};
use jiff::tz::Offset;

use crate::files;

/// A component of the platform, with an operator of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name, which is that of its ClusterOperator.
    pub name: &'static str,
    /// When an update comes to it: those of one level go side by side.
    pub level: &'static str,
}

/// The components, in the order of an update.
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
    /// Its version.
    pub version: &'static str,
    /// The versions from which clusters may update to it.
    pub previous: &'static [&'static str],
    /// Whether its operator knows preflights, and its components have checks.
    pub preflights: bool,
    /// The day on which it was made: fixed, so that making it again gives the same image.
    day: Date,
}

/// The releases, the oldest first.
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
    // From 5.0.1 it skips a minor version.
    Release {
        version: "5.2.0",
        previous: &["5.0.1", "5.1.0"],
        preflights: true,
        day: date(2026, 8, 11),
    },
    Release { version: "5.3.0", previous: &["5.2.0"], preflights: true, day: date(2026, 11, 10) },
];

/// The file of an operator with its check.
const PREFLIGHT: &str = "40-preflight.yaml";

impl Release {
    /// When it was made.
    pub fn created(&self) -> Timestamp {
        Offset::UTC.to_timestamp(self.day.at(9, 0, 0, 0)).expect("a day of our time")
    }

    /// The release of that version.
    pub fn find(version: &str) -> Option<Self> {
        RELEASES.into_iter().find(|release| release.version == version)
    }

    /// Its manifests by file name; `image` is what its operators run.
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

    /// The directories that lie on each other, the lowest first.
    fn layers(&self) -> Vec<String> {
        let own = RELEASES.iter().position(|release| release == self);
        let until = RELEASES.iter().take(own.map_or(0, |own| own + 1));
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
    fn a_release_replaces_files_and_keeps_the_rest() {
        let (before, after) = (manifests("5.0.1"), manifests("5.1.0"));
        let changed = |name: &str| before.get(name) != after.get(name);
        assert!(changed("0000_50_ingress_50-defaults.yaml"));
        assert!(!changed("0000_50_storage_60-snapshots.yaml"));
        let mtu = "0000_07_network_50-defaults.yaml";
        assert_ne!(manifests("5.0.0")[mtu], before[mtu]);
        assert_eq!(before[mtu], after[mtu], "what 5.0.1 changed stays in 5.1.0");
    }

    #[test]
    fn nothing_is_left_to_be_filled_in() {
        for release in RELEASES {
            for (name, text) in release.manifests("image") {
                assert!(!text.contains("${"), "{} {name}:\n{text}", release.version);
            }
        }
    }

    #[test]
    fn every_release_that_comes_before_another_is_older_and_exists() {
        for (index, release) in RELEASES.iter().enumerate() {
            for previous in release.previous {
                let position = RELEASES.iter().position(|other| other.version == *previous);
                assert!(position.is_some_and(|position| position < index), "{previous}");
            }
        }
    }
}
