//! APIs that operators use and that a target does not serve.
//!
//! Permissions contain groups and resources, but no API versions. Other fields of a
//! ClusterServiceVersion and `APIRequestCount` objects contain versions. So the result can be
//! unknown, and `AllPresent` covers only the APIs that the operator names.

mod availability;
mod usage;

pub(super) use availability::first_loss_after;
pub use availability::{ApiAvailability, ApiForecast, MissingApi};
pub use usage::{ApiRequests, ApiUsage, UsageEvidence};

use std::fmt;

use super::MinorVersion;
use crate::KubernetesMinor;
use crate::removed_apis::{self, KNOWN_UP_TO};

/// An API that is removed between the running version and a target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LostApi {
    /// Group of the API.
    pub group: String,
    /// Version of the API.
    pub version: String,
    /// Resource name.
    pub resource: String,
    /// Kind of the objects.
    pub kind: String,
    /// Group and version of the replacement.
    pub instead: Option<String>,
}

impl LostApi {
    /// The APIs that Kubernetes removes between two versions.
    pub fn between(running: KubernetesMinor, target: KubernetesMinor) -> Vec<Self> {
        let gone = removed_apis::gone_in(target).filter(|api| api.removed_in > running);
        let lost = gone.map(|api| Self {
            group: api.group.to_owned(),
            version: api.version.to_owned(),
            resource: api.resource.to_owned(),
            kind: api.kind.to_owned(),
            instead: api.replacement_in(target).map(str::to_owned),
        });
        lost.collect()
    }

    /// The APIs that known Kubernetes versions remove after a version.
    pub fn after(running: KubernetesMinor) -> Vec<Self> {
        Self::between(running, KNOWN_UP_TO)
    }

    /// All known removed APIs.
    pub fn ever() -> Vec<Self> {
        Self::after(KubernetesMinor::one(0))
    }

    /// Whether no version of the API remains in its group, so that any use is a use of the removed
    /// API.
    pub fn is_whole(&self) -> bool {
        let group_of = |instead: &str| instead.split_once('/').map(|(group, _)| group.to_owned());
        self.instead.as_deref().and_then(group_of).as_deref() != Some(&self.group)
    }
}

impl fmt::Display for LostApi {
    /// Name of an `APIRequestCount`: `cronjobs.v1beta1.batch`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.resource, self.version, self.group)
    }
}

/// Difference of the minor versions of Kubernetes and OpenShift, since 4.3 with 1.16.
const KUBERNETES_OFFSET: u64 = 13;

/// Minor versions of OpenShift 4 with this difference; later releases contain their Kubernetes
/// version in metadata.
const KNOWN: std::ops::RangeInclusive<u64> = 3..=22;

/// The Kubernetes version of a cluster version, if known.
pub fn kubernetes_of(platform: MinorVersion) -> Option<KubernetesMinor> {
    let minor = KNOWN.clone().find(|minor| MinorVersion::new(4, *minor) == platform)?;
    u32::try_from(minor + KUBERNETES_OFFSET).ok().map(KubernetesMinor::one)
}

/// The cluster version with a Kubernetes version, if known.
fn platform_with(kubernetes: KubernetesMinor) -> Option<MinorVersion> {
    let minor = u64::from(kubernetes.minor).checked_sub(KUBERNETES_OFFSET)?;
    (kubernetes.major == 1 && KNOWN.contains(&minor)).then(|| MinorVersion::new(4, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_lists_apis_removed_after_running() {
        let names = |from, to| -> Vec<String> {
            let lost = LostApi::between(KubernetesMinor::one(from), KubernetesMinor::one(to));
            lost.iter().map(|it| format!("{it} {}", it.is_whole())).collect()
        };
        assert!(names(25, 25).is_empty());
        let expected = [
            "horizontalpodautoscalers.v2beta1.autoscaling false",
            "cronjobs.v1beta1.batch false",
            "endpointslices.v1beta1.discovery.k8s.io false",
            "events.v1beta1.events.k8s.io false",
            "runtimeclasses.v1beta1.node.k8s.io false",
            "poddisruptionbudgets.v1beta1.policy false",
            "podsecuritypolicies.v1beta1.policy true",
        ];
        assert_eq!(names(24, 25), expected);
        assert!(names(21, 22).contains(&"ingresses.v1beta1.extensions true".to_owned()));
    }

    #[test]
    fn kubernetes_of_known_cluster_versions() {
        for (platform, kubernetes) in [("4.12", 25), ("4.13", 26), ("4.14", 27), ("4.22", 35)] {
            let platform = MinorVersion::parse(platform).unwrap();
            assert_eq!(kubernetes_of(platform), Some(KubernetesMinor::one(kubernetes)));
            assert_eq!(platform_with(KubernetesMinor::one(kubernetes)), Some(platform));
        }
        assert_eq!(kubernetes_of(MinorVersion::new(5, 0)), None, "release metadata contains it");
        assert_eq!(platform_with(KubernetesMinor::one(36)), None);
    }
}
