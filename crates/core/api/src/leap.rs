//! How far one update may go. Only `force` goes further.

use crate::Version;

/// Minor versions that one update may cross, where it was looked at what may go wrong.
pub const MOST_MINORS: u64 = 2;

/// How far an update goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leap {
    /// As far as any update: within a minor version, to the next one, or to 5.0.
    Usual,
    /// Past a minor version: the update service has to offer it, and a preflight has to have found
    /// nothing against it.
    SkipLevel,
    /// Past too many minor versions.
    TooFar {
        /// How many minor versions after this one.
        minors: u64,
    },
    /// To a major version to which no update leads.
    Major,
    /// To an earlier version.
    Back,
}

impl Leap {
    /// How far it is from one version to another.
    pub fn between(from: &Version, to: &Version) -> Self {
        if to < from {
            return Self::Back;
        }
        if to.major() > from.major() {
            // The one way between major versions that platforms have.
            let is_the_way = from.major() == 4 && (to.major(), to.minor()) == (5, 0);
            return if is_the_way { Self::Usual } else { Self::Major };
        }
        match to.minor().saturating_sub(from.minor()) {
            0 | 1 => Self::Usual,
            minors if minors > MOST_MINORS => Self::TooFar { minors },
            _ => Self::SkipLevel,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_an_update_goes() {
        for (from, to, leap) in [
            ("5.1.0", "5.1.0", Leap::Usual),
            ("5.1.0", "5.1.9", Leap::Usual),
            ("5.1.9", "5.2.0-rc.1", Leap::Usual),
            ("4.3.0", "5.0.7", Leap::Usual),
            ("5.0.0", "5.2.0", Leap::SkipLevel),
            ("5.0.0", "5.3.0", Leap::TooFar { minors: 3 }),
            ("4.21.0", "5.1.0", Leap::Major),
            ("3.11.0", "5.0.0", Leap::Major),
            ("5.1.0", "5.1.0-rc.1", Leap::Back),
            ("5.0.0", "4.21.0", Leap::Back),
        ] {
            let [from, to] = [from, to].map(|version| Version::parse(version).unwrap());
            assert_eq!(Leap::between(&from, &to), leap, "{from} {to}");
        }
    }
}
