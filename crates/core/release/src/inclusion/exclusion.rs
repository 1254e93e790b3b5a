//! Reasons why a manifest is excluded from a cluster.

use std::fmt;

use serde::Serialize;

use super::annotation;

/// Reason why a manifest is excluded from a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "reason")]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum Exclusion {
    /// The manifest has no annotations.
    NoAnnotations,
    /// The manifest excludes this operator.
    Excluded { annotation: String },
    /// The manifest has both feature sets and feature gates.
    FeatureSetAndGate,
    /// The feature set does not exist.
    UnknownFeatureSet { name: String },
    /// The manifest is for other feature sets.
    OtherFeatureSet { wanted: Vec<String>, cluster: String },
    /// A required feature gate is not enabled.
    GateDisabled { gate: String },
    /// An excluded feature gate is enabled.
    GateEnabled { gate: String },
    /// The kind does not support major versions.
    MajorVersionMisplaced { kind: String },
    /// The list of major versions is malformed.
    MajorVersionUnreadable { text: String },
    /// A major version is both included and excluded.
    MajorVersionContradiction { major: u64 },
    /// The manifest is for other major versions.
    OtherMajorVersion { wanted: String, release: u64 },
    /// The manifest is not in the profile of the cluster.
    OtherProfile { annotation: String },
    /// The annotation of the profile has an invalid value.
    ProfileUnreadable { annotation: String, value: String },
    /// Capabilities of the manifest are unknown.
    UnknownCapabilities { names: Vec<String> },
    /// Capabilities of the manifest are not enabled.
    DisabledCapabilities { names: Vec<String> },
    /// `spec.overrides` marks the object as unmanaged.
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
