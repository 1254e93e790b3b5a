//! What of a release this cluster gets: its features, its capabilities, its overrides.

use std::collections::BTreeSet;

use fairway_api::{ClusterVersionSpec, Version, cluster_version};
use fairway_release::inclusion::{self, Filter, capability_sets};

use super::Capabilities;
use crate::cluster::Features;
use crate::settings::SelectionSettings;

/// What decides when a release is loaded. Capabilities and overrides may change later, and decide
/// when its manifests are applied.
pub(in crate::stage) fn when_loaded(
    settings: &SelectionSettings,
    features: &Features,
    gates: &BTreeSet<String>,
    version: &str,
) -> Filter {
    Filter {
        exclude: settings.exclude.clone(),
        feature_set: Some(features.set.clone()),
        feature_gates: Some(gates.clone()),
        major_version: Version::parse(version).ok().map(|version| version.major()),
        profile: Some(settings.profile.clone()),
        ..Filter::default()
    }
}

/// What decides when manifests are applied.
pub(in crate::stage) fn when_applied(
    spec: &ClusterVersionSpec,
    gates: BTreeSet<String>,
    capabilities: &Capabilities,
) -> Filter {
    Filter {
        feature_gates: Some(gates),
        // A newer release may bring capabilities that this operator does not know.
        capabilities: Some(inclusion::Capabilities {
            known: None,
            enabled: capabilities.enabled.clone(),
        }),
        overrides: spec.overrides.clone(),
        ..Filter::default()
    }
}

/// The capabilities of a cluster: what the spec asks for, and what has to stay on.
pub(in crate::stage) fn capabilities(
    asked: Option<&cluster_version::Capabilities>,
    staying: &BTreeSet<String>,
    gates: &BTreeSet<String>,
) -> Capabilities {
    let known = capability_sets::known(gates);
    let baseline = asked.and_then(|asked| asked.baseline_capability_set.as_deref());
    let baseline = baseline.filter(|set| !set.is_empty()).unwrap_or(capability_sets::CURRENT);
    let additional = asked.map_or(&[][..], |asked| &asked.additional_enabled_capabilities);
    let asked: BTreeSet<String> = capability_sets::members(baseline)
        .into_iter()
        .chain(additional.iter().cloned())
        .filter(|name| known.contains(name))
        .collect();
    let implicit = staying.difference(&asked).cloned().collect();
    Capabilities { enabled: asked.union(staying).cloned().collect(), known, implicit }
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
    fn what_is_asked_for_and_what_stays_is_enabled() {
        let nothing = BTreeSet::new();
        for (baseline, additional, staying, enabled, implicit) in [
            ("None", &[][..], &[][..], &[][..], &[][..]),
            ("None", &["Console"], &[], &["Console"], &[]),
            ("None", &["Console"], &["Build"], &["Build", "Console"], &["Build"]),
            ("None", &["Build"], &["Build"], &["Build"], &[]),
            // Nobody knows what that would be.
            ("None", &["Dance"], &[], &[], &[]),
            // But it was there before.
            ("None", &[], &["Dance"], &["Dance"], &["Dance"]),
            (
                "v4.11",
                &[],
                &[],
                &["MachineAPI", "baremetal", "marketplace", "openshift-samples"],
                &[],
            ),
        ] {
            let asked = asking(baseline, additional);
            let found = capabilities(Some(&asked), &names(staying), &nothing);
            assert_eq!(found.enabled, names(enabled), "{baseline} {additional:?} {staying:?}");
            assert_eq!(found.implicit, names(implicit), "{baseline} {additional:?} {staying:?}");
            assert_eq!(found.known.len(), 17);
        }
    }

    #[test]
    fn who_asks_for_nothing_in_particular_gets_everything() {
        let nothing = BTreeSet::new();
        let everything = capabilities(None, &nothing, &nothing);
        assert_eq!(everything.enabled, everything.known);
        assert_eq!(capabilities(Some(&asking("", &[])), &nothing, &nothing), everything);
        let gated = capabilities(None, &nothing, &names(&["ClusterAPIMachineManagement"]));
        assert_eq!(gated.enabled.len(), everything.enabled.len() + 2);
    }
}
