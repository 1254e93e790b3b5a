//! Which manifests of a release a cluster gets.

pub mod annotation;
pub mod capability_sets;
mod exclusion;
mod features;
mod major_version;

use std::collections::{BTreeMap, BTreeSet};

use fairway_api::cluster_version::ComponentOverride;

pub use self::exclusion::Exclusion;
pub use self::features::Features;
use crate::manifest::{Manifest, ObjectId};

/// The profile of clusters that say nothing else.
pub const DEFAULT_PROFILE: &str = "self-managed-high-availability";

/// The feature set of clusters that say nothing else; the API has an empty text for it.
const DEFAULT_FEATURE_SET: &str = "Default";

const FEATURE_SETS: [&str; 5] =
    [DEFAULT_FEATURE_SET, "TechPreviewNoUpgrade", "DevPreviewNoUpgrade", "CustomNoUpgrade", "OKD"];

/// What decides about manifests. Where a field says nothing, its rule excludes nothing.
///
/// When a release is loaded, everything but overrides decides. When a manifest is about to be
/// applied, what can have changed since does: gates, capabilities and overrides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// What operators like this one are called by manifests that are not for them.
    pub exclude: Option<String>,
    /// The cluster's feature set; empty is the default.
    pub feature_set: Option<String>,
    /// The feature gates that are enabled for the release.
    pub feature_gates: Option<BTreeSet<String>>,
    /// The major version of the release.
    pub major_version: Option<u64>,
    /// The cluster's profile.
    pub profile: Option<String>,
    /// The cluster's capabilities.
    pub capabilities: Option<Capabilities>,
    /// What the administrator manages.
    pub overrides: Vec<ComponentOverride>,
}

/// Which capabilities a cluster has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// All that there are; nothing where a newer release may bring others.
    pub known: Option<BTreeSet<String>>,
    /// Those that are enabled.
    pub enabled: BTreeSet<String>,
}

/// The manifests of a release, told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection<'a> {
    /// Those that the cluster gets.
    pub included: Vec<&'a Manifest>,
    /// Those that belong to a preflight of the release, and that no update applies.
    pub preflight_checks: Vec<&'a Manifest>,
    /// Those that it does not get, and why.
    pub excluded: Vec<(&'a Manifest, Exclusion)>,
}

impl Filter {
    /// Tells manifests apart; their order stays.
    pub fn select<'a>(&self, manifests: &'a [Manifest]) -> Selection<'a> {
        let mut selection = Selection::default();
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

    /// Whether the cluster gets a manifest, or the first reason why not.
    pub fn check(&self, manifest: &Manifest) -> Result<(), Exclusion> {
        if manifest.annotations.is_empty() {
            return Err(Exclusion::NoAnnotations);
        }
        self.check_exclude(manifest)?;
        self.check_features(manifest)?;
        if let Some(major) = self.major_version {
            major_version::check(manifest, major)?;
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
        // The first override of an object decides; objects without a namespace have none to compare.
        let is_meant = |entry: &&ComponentOverride| {
            (&entry.group, &entry.kind, &entry.name) == (&id.group, &id.kind, &id.name)
                && (id.namespace.is_empty() || entry.namespace == id.namespace)
        };
        match self.overrides.iter().find(is_meant) {
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

/// Whether no profile gets a manifest: somebody forgot to say which ones do.
pub fn is_for_no_cluster(manifest: &Manifest) -> bool {
    let includes = |(key, value): (&String, &String)| {
        key.starts_with(annotation::INCLUDE_PREFIX) && value == "true"
    };
    !manifest.annotations.iter().any(includes)
}

/// The capabilities that a manifest belongs to; it is there where all of them are enabled.
pub fn capabilities_of(manifest: &Manifest) -> impl Iterator<Item = &str> {
    let names = manifest.annotation(annotation::CAPABILITY).unwrap_or_default();
    names.split('+').filter(|name| !name.is_empty())
}

/// The capabilities that an update enables by itself: what the cluster has must stay managed, even
/// where the target puts it into a capability that is not enabled.
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
