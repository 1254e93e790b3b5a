//! Selection of the manifests of a release: features, capabilities and overrides.

use std::collections::BTreeSet;

use fairway_api::{ClusterVersionSpec, Version, cluster_version};
use fairway_release::inclusion::{self, ManifestFilter, capability_sets};

use super::Capabilities;
use crate::cluster::Features;
use crate::settings::SelectionSettings;

/// Filter at load time. Capabilities and overrides may change later and are part of the filter at
/// apply time.
pub(in crate::stage) fn when_loaded(
    settings: &SelectionSettings,
    features: &Features,
    gates: &BTreeSet<String>,
    version: &str,
) -> ManifestFilter {
    ManifestFilter {
        exclude: settings.exclude.clone(),
        feature_set: Some(features.set.clone()),
        feature_gates: Some(gates.clone()),
        major_version: Version::parse(version).ok().map(|version| version.major()),
        profile: Some(settings.profile.clone()),
        ..ManifestFilter::default()
    }
}

/// Filter at apply time.
pub(in crate::stage) fn when_applied(
    spec: &ClusterVersionSpec,
    gates: BTreeSet<String>,
    capabilities: &Capabilities,
) -> ManifestFilter {
    ManifestFilter {
        feature_gates: Some(gates),
        // A newer release may have capabilities that this operator does not know.
        capabilities: Some(inclusion::Capabilities {
            known: None,
            enabled: capabilities.enabled.clone(),
        }),
        overrides: spec.overrides.clone(),
        ..ManifestFilter::default()
    }
}

/// Capabilities of a cluster: those of the spec, and those that are enabled already.
pub(in crate::stage) fn capabilities(
    requested: Option<&cluster_version::Capabilities>,
    enabled: &BTreeSet<String>,
    gates: &BTreeSet<String>,
) -> Capabilities {
    let known = capability_sets::known(gates);
    let baseline = requested.and_then(|requested| requested.baseline_capability_set.as_deref());
    let baseline = baseline.filter(|set| !set.is_empty()).unwrap_or(capability_sets::CURRENT);
    let additional =
        requested.map_or(&[][..], |requested| &requested.additional_enabled_capabilities);
    let requested: BTreeSet<String> = capability_sets::members(baseline)
        .into_iter()
        .chain(additional.iter().cloned())
        .filter(|name| known.contains(name))
        .collect();
    let implicit = enabled.difference(&requested).cloned().collect();
    Capabilities { enabled: requested.union(enabled).cloned().collect(), known, implicit }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn asking(baseline: &str, additional: &[&str]) -> cluster_version::Capabilities {
        cluster_version::Capabilities {
            baseline_capability_set: Some(baseline.to_owned()),
            additional_enabled_capabilities: additional.iter().map(|&name| name.into()).collect(),
            ..cluster_version::Capabilities::default()
        }
    }

    #[test]
    fn capabilities_are_requested_or_enabled_before() {
        let nothing = BTreeSet::new();
        for (baseline, additional, staying, enabled, implicit) in [
            ("None", &[][..], &[][..], &[][..], &[][..]),
            ("None", &["Console"], &[], &["Console"], &[]),
            ("None", &["Console"], &["Build"], &["Build", "Console"], &["Build"]),
            ("None", &["Build"], &["Build"], &["Build"], &[]),
            // Unknown capabilities are ignored.
            ("None", &["Dance"], &[], &[], &[]),
            // Unless they are enabled already.
            ("None", &[], &["Dance"], &["Dance"], &["Dance"]),
            (
                "v4.11",
                &[],
                &[],
                &["MachineAPI", "baremetal", "marketplace", "openshift-samples"],
                &[],
            ),
        ] {
            let requested = asking(baseline, additional);
            let found = capabilities(Some(&requested), &names(staying), &nothing);
            assert_eq!(found.enabled, names(enabled), "{baseline} {additional:?} {staying:?}");
            assert_eq!(found.implicit, names(implicit), "{baseline} {additional:?} {staying:?}");
            assert_eq!(found.known.len(), 17);
        }
    }

    #[test]
    fn capabilities_without_request_are_all() {
        let nothing = BTreeSet::new();
        let everything = capabilities(None, &nothing, &nothing);
        assert_eq!(everything.enabled, everything.known);
        assert_eq!(capabilities(Some(&asking("", &[])), &nothing, &nothing), everything);
        let gated = capabilities(None, &nothing, &names(&["ClusterAPIMachineManagement"]));
        assert_eq!(gated.enabled.len(), everything.enabled.len() + 2);
    }
}
