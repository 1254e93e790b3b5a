//! Why a cluster does not get a manifest.

use std::fmt;

use serde::Serialize;

use super::annotation;

/// Why a cluster does not get a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "reason")]
pub enum Exclusion {
    /// Nothing says that anybody gets it.
    NoAnnotations,
    /// It asks to be left out where this operator runs.
    Excluded {
        /// The annotation that says so.
        annotation: String,
    },
    /// It is bound to feature sets and to feature gates, which cannot both decide.
    FeatureSetAndGate,
    /// It names a feature set that does not exist.
    UnknownFeatureSet {
        /// The name.
        name: String,
    },
    /// It is for clusters with other feature sets.
    OtherFeatureSet {
        /// The feature sets that it is for.
        wanted: Vec<String>,
        /// The one of the cluster.
        cluster: String,
    },
    /// A feature gate that it needs is not enabled.
    GateDisabled {
        /// The gate.
        gate: String,
    },
    /// A feature gate that it does not get on with is enabled.
    GateEnabled {
        /// The gate.
        gate: String,
    },
    /// It is bound to a major version, and is of a kind that cannot be.
    MajorVersionMisplaced {
        /// The kind.
        kind: String,
    },
    /// What it says about major versions is no list of numbers.
    MajorVersionUnreadable {
        /// What it says.
        text: String,
    },
    /// It wants a major version and does not.
    MajorVersionContradiction {
        /// The major version.
        major: u64,
    },
    /// It is for releases of other major versions.
    OtherMajorVersion {
        /// What it says.
        wanted: String,
        /// The major version of the release.
        release: u64,
    },
    /// It is not for clusters of this profile.
    OtherProfile {
        /// The annotation that is missing.
        annotation: String,
    },
    /// It is unclear whether it is for clusters of this profile.
    ProfileUnreadable {
        /// The annotation.
        annotation: String,
        /// Its value.
        value: String,
    },
    /// It belongs to capabilities that nobody knows.
    UnknownCapabilities {
        /// Their names.
        names: Vec<String>,
    },
    /// It belongs to capabilities that are not enabled.
    DisabledCapabilities {
        /// Their names.
        names: Vec<String>,
    },
    /// The administrator manages it.
    Unmanaged,
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnnotations => f.write_str("it has no annotations"),
            Self::Excluded { annotation } => write!(f, "{annotation} is \"true\""),
            Self::FeatureSetAndGate => write!(
                f,
                "it has both {} and {}; only one is allowed",
                annotation::FEATURE_SET,
                annotation::FEATURE_GATE
            ),
            Self::UnknownFeatureSet { name } => write!(f, "{name:?} is not a feature set"),
            Self::OtherFeatureSet { wanted, cluster } => {
                write!(f, "it is for feature set {}, not {cluster}", wanted.join(" or "))
            }
            Self::GateDisabled { gate } => write!(f, "feature gate {gate} is not enabled"),
            Self::GateEnabled { gate } => write!(f, "feature gate {gate} is enabled"),
            Self::MajorVersionMisplaced { kind } => {
                write!(f, "{} does not apply to kind {kind}", annotation::MAJOR_VERSION)
            }
            Self::MajorVersionUnreadable { text } => write!(
                f,
                "{} is {text:?}; expected a list such as 4,5 or -4",
                annotation::MAJOR_VERSION
            ),
            Self::MajorVersionContradiction { major } => {
                write!(f, "{} contains both {major} and -{major}", annotation::MAJOR_VERSION)
            }
            Self::OtherMajorVersion { wanted, release } => {
                write!(f, "it is for major versions {wanted}, not {release}")
            }
            Self::OtherProfile { annotation } => write!(f, "{annotation} is not set"),
            Self::ProfileUnreadable { annotation, value } => {
                write!(f, "{annotation} is {value:?}; only \"true\" is valid")
            }
            Self::UnknownCapabilities { names } => {
                write!(f, "unknown capabilities: {}", names.join(", "))
            }
            Self::DisabledCapabilities { names } => {
                write!(f, "capabilities not enabled: {}", names.join(", "))
            }
            Self::Unmanaged => f.write_str("spec.overrides marks it as unmanaged"),
        }
    }
}
