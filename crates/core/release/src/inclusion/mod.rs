//! Selects the manifests of a release for a cluster.

pub mod capability_sets;
mod exclusion;
mod features;

use std::collections::{BTreeMap, BTreeSet};

use fairway_api::cluster_version::ComponentOverride;

pub use self::exclusion::Exclusion;
pub use self::features::Features;
use crate::manifest::{Manifest, ObjectId};

/// Annotations that select the clusters of a manifest.
pub mod annotation {
    /// Prefix of annotations that exclude a manifest for an operator ID.
    pub const EXCLUDE_PREFIX: &str = "exclude.release.openshift.io/";

    /// Prefix of annotations that include a manifest in a cluster profile.
    pub const INCLUDE_PREFIX: &str = "include.release.openshift.io/";

    /// Feature sets of the manifest.
    pub const FEATURE_SET: &str = "release.openshift.io/feature-set";

    /// Feature gates that must be enabled or, with a dash, disabled.
    pub const FEATURE_GATE: &str = "release.openshift.io/feature-gate";

    /// Major versions of the manifest; with a dash, excluded ones.
    pub const MAJOR_VERSION: &str = "release.openshift.io/major-version";

    /// Capabilities of the manifest.
    pub const CAPABILITY: &str = "capability.openshift.io/name";
}

/// Default cluster profile.
pub const DEFAULT_PROFILE: &str = "self-managed-high-availability";

/// Default feature set; an empty string in the API.
const DEFAULT_FEATURE_SET: &str = "Default";

const FEATURE_SETS: [&str; 5] =
    [DEFAULT_FEATURE_SET, "TechPreviewNoUpgrade", "DevPreviewNoUpgrade", "CustomNoUpgrade", "OKD"];

/// Rules that select manifests. An unset field excludes nothing.
///
/// When a release is loaded, all rules but overrides apply. Before a manifest is applied, the rules
/// apply whose input can change: gates, capabilities and overrides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManifestFilter {
    /// ID of this operator in `exclude.release.openshift.io/` annotations.
    pub exclude: Option<String>,
    /// Feature set of the cluster; empty is the default.
    pub feature_set: Option<String>,
    /// Feature gates that are enabled for the release.
    pub feature_gates: Option<BTreeSet<String>>,
    /// Major version of the release.
    pub major_version: Option<u64>,
    /// Profile of the cluster.
    pub profile: Option<String>,
    /// Capabilities of the cluster.
    pub capabilities: Option<Capabilities>,
    /// `spec.overrides` of ClusterVersion.
    pub overrides: Vec<ComponentOverride>,
}

/// Capabilities of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// All known capabilities; `None` if a newer release may add others.
    pub known: Option<BTreeSet<String>>,
    /// Enabled capabilities.
    pub enabled: BTreeSet<String>,
}

/// Manifests of a release, by selection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestSelection<'a> {
    /// Manifests for the cluster.
    pub included: Vec<&'a Manifest>,
    /// Manifests of preflight checks, which updates do not apply.
    pub preflight_checks: Vec<&'a Manifest>,
    /// Excluded manifests with the reason.
    pub excluded: Vec<(&'a Manifest, Exclusion)>,
}

impl ManifestFilter {
    /// Selects manifests and keeps their order.
    pub fn select<'a>(&self, manifests: &'a [Manifest]) -> ManifestSelection<'a> {
        let mut selection = ManifestSelection::default();
        for manifest in manifests {
            match self.check(manifest) {
                Err(exclusion) => selection.excluded.push((manifest, exclusion)),
                Ok(()) if manifest.is_preflight_check() => {
                    selection.preflight_checks.push(manifest);
                }
                Ok(()) => selection.included.push(manifest),
            }
        }
        selection
    }

    /// Checks a manifest; the error is the first rule that excludes it.
    pub fn check(&self, manifest: &Manifest) -> Result<(), Exclusion> {
        if manifest.annotations.is_empty() {
            return Err(Exclusion::NoAnnotations);
        }
        self.check_exclude(manifest)?;
        self.check_features(manifest)?;
        if let Some(major) = self.major_version {
            check_major_version(manifest, major)?;
        }
        self.check_profile(manifest)?;
        if let Some(capabilities) = &self.capabilities {
            capabilities.check(manifest)?;
        }
        self.check_overrides(&manifest.id)
    }

    fn check_exclude(&self, manifest: &Manifest) -> Result<(), Exclusion> {
        let Some(id) = &self.exclude else { return Ok(()) };
        let annotation = format!("{}{id}", annotation::EXCLUDE_PREFIX);
        match manifest.annotation(&annotation) {
            Some("true") => Err(Exclusion::Excluded { annotation }),
            _ => Ok(()),
        }
    }

    fn check_features(&self, manifest: &Manifest) -> Result<(), Exclusion> {
        let sets = manifest.annotation(annotation::FEATURE_SET);
        let gates = manifest.annotation(annotation::FEATURE_GATE);
        match (sets, gates) {
            (Some(_), Some(_)) => Err(Exclusion::FeatureSetAndGate),
            (Some(sets), None) => self.check_feature_sets(sets),
            (None, Some(gates)) => self.check_feature_gates(gates),
            (None, None) => Ok(()),
        }
    }

    fn check_feature_sets(&self, sets: &str) -> Result<(), Exclusion> {
        let Some(cluster) = &self.feature_set else { return Ok(()) };
        let cluster = if cluster.is_empty() { DEFAULT_FEATURE_SET } else { cluster };
        let wanted: Vec<&str> = sets.split(',').collect();
        if let Some(name) = wanted.iter().find(|name| !FEATURE_SETS.contains(name)) {
            return Err(Exclusion::UnknownFeatureSet { name: (*name).to_owned() });
        }
        if wanted.contains(&cluster) {
            return Ok(());
        }
        let wanted = wanted.into_iter().map(str::to_owned).collect();
        Err(Exclusion::OtherFeatureSet { wanted, cluster: cluster.to_owned() })
    }

    fn check_feature_gates(&self, gates: &str) -> Result<(), Exclusion> {
        let Some(enabled) = &self.feature_gates else { return Ok(()) };
        for gate in gates.split(',').map(str::trim).filter(|gate| !gate.is_empty()) {
            match gate.strip_prefix('-') {
                Some(gate) if enabled.contains(gate) => {
                    return Err(Exclusion::GateEnabled { gate: gate.to_owned() });
                }
                None if !enabled.contains(gate) => {
                    return Err(Exclusion::GateDisabled { gate: gate.to_owned() });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_profile(&self, manifest: &Manifest) -> Result<(), Exclusion> {
        let Some(profile) = &self.profile else { return Ok(()) };
        let annotation = format!("{}{profile}", annotation::INCLUDE_PREFIX);
        match manifest.annotation(&annotation) {
            Some("true") => Ok(()),
            Some(value) => {
                Err(Exclusion::ProfileUnreadable { value: value.to_owned(), annotation })
            }
            None => Err(Exclusion::OtherProfile { annotation }),
        }
    }

    fn check_overrides(&self, id: &ObjectId) -> Result<(), Exclusion> {
        // The first matching override wins. Cluster-scoped objects match any namespace.
        let matches = |entry: &&ComponentOverride| {
            (&entry.group, &entry.kind, &entry.name) == (&id.group, &id.kind, &id.name)
                && (id.namespace.is_empty() || entry.namespace == id.namespace)
        };
        match self.overrides.iter().find(matches) {
            Some(entry) if entry.unmanaged => Err(Exclusion::Unmanaged),
            _ => Ok(()),
        }
    }
}

impl Capabilities {
    fn check(&self, manifest: &Manifest) -> Result<(), Exclusion> {
        let names_without = |set: &BTreeSet<String>| -> Vec<String> {
            let missing = capabilities_of(manifest).filter(|name| !set.contains(*name));
            missing.map(str::to_owned).collect()
        };
        let unknown = self.known.as_ref().map(names_without).unwrap_or_default();
        if !unknown.is_empty() {
            return Err(Exclusion::UnknownCapabilities { names: unknown });
        }
        let disabled = names_without(&self.enabled);
        if !disabled.is_empty() {
            return Err(Exclusion::DisabledCapabilities { names: disabled });
        }
        Ok(())
    }
}

/// Checks the major versions of a manifest. One payload serves two of them while a platform moves
/// to the next.
fn check_major_version(manifest: &Manifest, release: u64) -> Result<(), Exclusion> {
    let Some(text) = manifest.annotation(annotation::MAJOR_VERSION) else { return Ok(()) };
    if !supports_major_versions(&manifest.id) {
        return Err(Exclusion::MajorVersionMisplaced { kind: manifest.id.kind.clone() });
    }
    let (wanted, unwanted) = read_major_versions(text)
        .ok_or_else(|| Exclusion::MajorVersionUnreadable { text: text.to_owned() })?;
    if let Some(major) = wanted.intersection(&unwanted).next() {
        return Err(Exclusion::MajorVersionContradiction { major: *major });
    }
    if wanted.contains(&release) || (wanted.is_empty() && !unwanted.contains(&release)) {
        return Ok(());
    }
    Err(Exclusion::OtherMajorVersion { wanted: text.to_owned(), release })
}

fn supports_major_versions(id: &ObjectId) -> bool {
    matches!(
        (id.group.as_str(), id.kind.as_str()),
        ("config.openshift.io", "FeatureGate")
            | ("apiextensions.k8s.io", "CustomResourceDefinition")
    )
}

fn read_major_versions(text: &str) -> Option<(BTreeSet<u64>, BTreeSet<u64>)> {
    let number = |text: &str| {
        // Rust would also parse `+5`.
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u64>().ok()).flatten()
    };
    let (mut wanted, mut unwanted) = (BTreeSet::new(), BTreeSet::new());
    for entry in text.split(',').map(str::trim) {
        match entry.strip_prefix('-') {
            Some(entry) => unwanted.insert(number(entry)?),
            None => wanted.insert(number(entry)?),
        };
    }
    Some((wanted, unwanted))
}

/// Whether a manifest is in no profile, which is probably a mistake.
pub fn is_for_no_cluster(manifest: &Manifest) -> bool {
    let includes = |(key, value): (&String, &String)| {
        key.starts_with(annotation::INCLUDE_PREFIX) && value == "true"
    };
    !manifest.annotations.iter().any(includes)
}

/// The capabilities of a manifest; all of them must be enabled.
pub fn capabilities_of(manifest: &Manifest) -> impl Iterator<Item = &str> {
    let names = manifest.annotation(annotation::CAPABILITY).unwrap_or_default();
    names.split('+').filter(|name| !name.is_empty())
}

/// Capabilities that an update enables implicitly: objects of the cluster stay managed, even if the
/// target release moves them into a capability that is not enabled.
pub fn implicitly_enabled(
    current: &[Manifest],
    target: &[Manifest],
    enabled: &BTreeSet<String>,
) -> BTreeSet<String> {
    let is_there =
        |manifest: &&Manifest| capabilities_of(manifest).all(|name| enabled.contains(name));
    let mut had: BTreeMap<&ObjectId, BTreeSet<&str>> = BTreeMap::new();
    for manifest in current.iter().filter(is_there) {
        had.entry(&manifest.id).or_default().extend(capabilities_of(manifest));
    }
    let new = target.iter().filter_map(|manifest| Some((manifest, had.get(&manifest.id)?)));
    new.flat_map(|(manifest, had)| capabilities_of(manifest).filter(|name| !had.contains(name)))
        .filter(|name| !enabled.contains(*name))
        .map(str::to_owned)
        .collect()
}
