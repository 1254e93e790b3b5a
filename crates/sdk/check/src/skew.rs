//! How far two versions are apart.

use semver::Version;

use crate::CannotTell;

/// How far the release of a check is from the one that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skew {
    source: Version,
    target: Version,
}

impl Skew {
    /// Between the version of the cluster and that of the release.
    pub fn between(source: Version, target: Version) -> Self {
        Self { source, target }
    }

    /// How many minor versions the release is ahead; 0 where it is not. The first minor version of a
    /// major one follows the last of the one before, whichever that is. `None` where a whole major
    /// version lies between: nobody can count those.
    pub fn minors_ahead(&self) -> Option<u64> {
        match self.target.major.checked_sub(self.source.major) {
            None => Some(0),
            Some(0) => Some(self.target.minor.saturating_sub(self.source.minor)),
            Some(1) => Some(self.target.minor.saturating_add(1)),
            Some(_) => None,
        }
    }

    /// Whether the release goes back to an older minor version.
    pub fn is_back(&self) -> bool {
        (self.target.major, self.target.minor) < (self.source.major, self.source.minor)
    }

    /// Ends a check that understands only clusters that are at most so many minor versions behind.
    pub fn at_most(&self, minors: u64) -> Result<(), CannotTell> {
        if self.minors_ahead().is_some_and(|ahead| ahead <= minors) {
            return Ok(());
        }
        let Self { source, target } = self;
        Err(CannotTell::VersionSkew(format!(
            "{target} supports clusters that are at most {minors} minor versions behind, and this \
             cluster runs {source}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skew(source: &str, target: &str) -> Skew {
        Skew::between(source.parse().unwrap(), target.parse().unwrap())
    }

    #[test]
    fn minor_versions_are_counted() {
        for (source, target, ahead) in [
            ("5.0.0", "5.0.9", Some(0)),
            ("5.0.9", "5.2.0", Some(2)),
            ("5.2.0", "5.1.0", Some(0)),
            ("4.9.0", "5.0.0", Some(1)),
            ("4.9.0", "5.2.0", Some(3)),
            ("3.11.0", "5.0.0", None),
            ("6.0.0", "5.9.0", Some(0)),
        ] {
            assert_eq!(skew(source, target).minors_ahead(), ahead, "{source} {target}");
        }
        assert!(skew("5.2.0", "5.1.9").is_back());
        assert!(!skew("5.2.3", "5.2.0").is_back());
    }

    #[test]
    fn what_is_too_far_is_said() {
        assert_eq!(skew("5.0.0", "5.2.0").at_most(2), Ok(()));
        insta::assert_snapshot!(skew("5.0.0", "5.3.0").at_most(2).unwrap_err(), @"5.3.0 supports clusters that are at most 2 minor versions behind, and this cluster runs 5.0.0");
        assert!(skew("3.11.0", "5.0.0").at_most(9).is_err());
    }
}
